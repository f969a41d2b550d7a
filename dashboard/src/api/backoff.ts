/** How long to wait before asking again: doubling, up to half a minute, never the same. Pure. */

const FIRST = 500;
const LONGEST = 30_000;

export function pause(failures: number, luck: number): number {
  const whole = Math.min(LONGEST, FIRST * 2 ** Math.min(failures, 10));
  return Math.round(whole * (0.5 + luck / 2));
}
