import { expect, test } from "vitest";
import { pause } from "../src/api/backoff";

test("pauses double up to half a minute, and luck spreads them over their upper half", () => {
  expect([0, 1, 2, 3].map((failures) => pause(failures, 1))).toEqual([500, 1000, 2000, 4000]);
  expect(pause(1000, 1)).toBe(30_000);
  expect(pause(1000, 0)).toBe(15_000);
});
