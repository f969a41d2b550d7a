import { expect, test } from "vitest";
import { duration, formats, secondsBetween } from "../src/format";

const { number, points, percent, difference, cores, bytes, moment } = formats("en");

test("what is not known is not zero", () => {
  expect([percent(null), points(undefined), difference(NaN), moment("nonsense")]).toEqual(["–", "–", "–", "–"]);
  expect(percent(0)).toBe("0.0 %");
});

test("numbers are grouped as the language does, and differences have their sign", () => {
  expect(number(150_000)).toBe("150,000");
  expect([difference(3.14), difference(-2), difference(0)]).toEqual(["+3.1", "-2.0", "0.0"]);
  expect([cores(250), cores(8000)]).toEqual(["0.25", "8"]);
});

test.each([
  [0, "0 B"],
  [512, "512 B"],
  [1536, "1.5 KiB"],
  [34_359_738_368, "32 GiB"],
])("%i bytes are %s", (value, text) => {
  expect(bytes(value)).toBe(text);
});

test.each([
  [0, "0s"],
  [0.3, "0.3s"],
  [12, "12s"],
  [60, "1m"],
  [200, "3m20s"],
  [3600, "1h"],
  [100_000, "1d3h"],
  [-5, "0s"],
])("%f seconds are %s", (seconds, text) => {
  expect(duration(seconds)).toBe(text);
});

test("what lies between two times is never less than nothing, and unknown when one of them is", () => {
  expect(secondsBetween("2026-11-19T04:00:00Z", "2026-11-19T04:00:41Z")).toBe(41);
  expect(secondsBetween("2026-11-19T04:00:41Z", "2026-11-19T04:00:00Z")).toBe(0);
  expect(secondsBetween(null, "2026-11-19T04:00:00Z")).toBeNull();
  expect(secondsBetween("nonsense", "2026-11-19T04:00:00Z")).toBeNull();
});
