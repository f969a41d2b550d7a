/** Light, dark, or as the system is; `data-theme` of the page says which (styles/tokens.css). */

import { remember, remembered } from "./remember";
import { store } from "./store";

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const chosen = remembered("theme");
export const theme = store<Theme>(THEMES.find((each) => each === chosen) ?? "system");
const systemDark = matchMedia("(prefers-color-scheme: dark)");

/** Counts up when colours are others. */
export const colours = store(0);

export function beginTheme(): void {
  apply();
  systemDark.addEventListener("change", apply);
}

export function chooseTheme(to: Theme): void {
  remember("theme", to);
  theme.set(to);
  apply();
}

function apply(): void {
  const wish = theme.get();
  const dark = wish === "dark" || (wish === "system" && systemDark.matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  colours.update((count) => count + 1);
}

const lessMotion = matchMedia("(prefers-reduced-motion: reduce)");

export function isStill(): boolean {
  return lessMotion.matches;
}
