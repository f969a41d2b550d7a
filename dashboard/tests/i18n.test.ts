import { expect, test } from "vitest";
import { LANGUAGES, filled, preferred, words } from "../src/i18n";
import { en, type Key } from "../src/i18n/en";
import { zh } from "../src/i18n/zh";

const keys = Object.keys(en) as Key[];

function gaps(text: string): string[] {
  return [...text.matchAll(/\{(\w+)\}/g)].map((found) => found[1] ?? "").sort();
}

test("every language says everything, with the same figures in it", () => {
  expect(Object.keys(zh).sort()).toEqual([...keys].sort());
  for (const key of keys) {
    expect(zh[key].trim(), key).not.toBe("");
    expect(gaps(zh[key]), key).toEqual(gaps(en[key]));
  }
});

test("what is said is said by a view, by its name or by a part of it", () => {
  const files = import.meta.glob<string>("../src/**/*.{ts,tsx}", { query: "?raw", import: "default", eager: true });
  const sources = Object.entries(files)
    .filter(([name]) => !/i18n\/(en|zh)/.test(name))
    .map(([, text]) => text)
    .join("\n");
  const groups = new Set([...sources.matchAll(/named\(\s*"(\w+)"/g)].map((found) => found[1]));
  const made = [...sources.matchAll(/t\(`([\w.]+)\$\{/g)].map((found) => found[1] ?? "");
  const unused = keys.filter((key) => {
    const name = key.replace(/\.(one|other)$/, "");
    const isNamed = groups.has(key.split(".")[0]) || made.some((prefix) => key.startsWith(prefix));
    return !isNamed && !sources.includes(`"${name}"`);
  });
  expect(unused).toEqual([]);
});

test("a browser's languages are asked in their order", () => {
  expect(preferred(["fr", "zh-TW", "en"])).toBe("zh");
  expect(preferred(["en-GB", "zh"])).toBe("en");
  expect(preferred(["fr"])).toBe("en");
  expect(preferred([])).toBe("en");
});

test("one and many differ where the language has it", () => {
  expect(words("en").n("stat.decided", 1)).toBe("1 move decided");
  expect(words("en").n("stat.decided", 2000)).toBe("2,000 moves decided");
  expect(words("zh").n("stat.decided", 1)).toBe("决定了 1 次迁移");
});

test("what the server names without our words stays as it is, even when it is called like a part of us", () => {
  expect(words("zh").named("phase", "Failed")).toBe("失败");
  expect(words("zh").named("phase", "constructor")).toBe("constructor");
  expect(filled("{a} {toString} {a}", { a: "{b}" })).toBe("{b} {toString} {b}");
});

test.each(LANGUAGES)("%s fills every gap that it is given", (language) => {
  const { t } = words(language);
  expect(t("plan.progress", { moved: 1, failed: 2, skipped: 3, total: 6 })).not.toMatch(/[{}]/);
});
