/** The language of the page: that of the browser, or the one that somebody has chosen. */

import { store, useStore } from "../store";
import { formats, type Formats } from "../format";
import { remembered, remember } from "../remember";
import { en, type Key } from "./en";
import { zh } from "./zh";

export const LANGUAGES = ["en", "zh"] as const;
export type Language = (typeof LANGUAGES)[number];

const DICTIONARIES: Readonly<Record<Language, Readonly<Record<Key, string>>>> = { en, zh };
const TAGS: Readonly<Record<Language, string>> = { en: "en", zh: "zh-CN" };

export type Values = Readonly<Record<string, string | number>>;

export interface Words extends Formats {
  readonly language: Language;
  readonly t: (key: Key, values?: Values) => string;
  /** By number: `name.one` or `name.other`. */
  readonly n: (name: Plural, count: number) => string;
  /** What the server names: in our words where we have some, else as it says it. */
  readonly named: (group: string, name: string, otherwise?: string) => string;
}

export type Plural = { [K in Key]: K extends `${infer Name}.other` ? Name : never }[Key];

export function words(language: Language): Words {
  const dictionary = DICTIONARIES[language];
  const rules = new Intl.PluralRules(TAGS[language]);
  const told = formats(TAGS[language]);
  const t = (key: Key, values?: Values): string => filled(dictionary[key], values);
  return {
    ...told,
    language,
    t,
    n: (name, count) => {
      const one = `${name}.one` as Key;
      const key = rules.select(count) === "one" && one in dictionary ? one : (`${name}.other` as Key);
      return t(key, { count: told.number(count) });
    },
    named: (group, name, otherwise = name) => {
      const key = `${group}.${name}`;
      return Object.hasOwn(dictionary, key) ? dictionary[key as Key] : otherwise;
    },
  };
}

export function filled(text: string, values: Values = {}): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) =>
    Object.hasOwn(values, name) ? String(values[name]) : whole,
  );
}

export function preferred(tags: readonly string[]): Language {
  for (const tag of tags) {
    const base = tag.toLowerCase().split("-")[0];
    const found = LANGUAGES.find((each) => each === base);
    if (found) return found;
  }
  return "en";
}

function first(): Language {
  const chosen = remembered("language");
  return LANGUAGES.find((each) => each === chosen) ?? preferred(navigator.languages);
}

const current = store<Words | null>(null);

export function beginLanguage(): void {
  speak(first());
}

export function speak(language: Language): void {
  current.set(words(language));
  document.documentElement.lang = TAGS[language];
}

export function chooseLanguage(language: Language): void {
  remember("language", language);
  speak(language);
}

export function useWords(): Words {
  const known = useStore(current);
  if (!known) throw new Error("no language yet");
  return known;
}
