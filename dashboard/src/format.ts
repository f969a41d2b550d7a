/** Numbers and times as people read them, in the language of the page. Pure. */

export interface Formats {
  readonly number: (value: number) => string;
  /** Points, one digit after the point. */
  readonly points: (value: number | null | undefined) => string;
  readonly percent: (value: number | null | undefined) => string;
  /** With its sign. */
  readonly difference: (value: number | null | undefined) => string;
  /** Cores, from thousandths. */
  readonly cores: (millicores: number) => string;
  readonly bytes: (value: number) => string;
  readonly duration: (seconds: number | null | undefined) => string;
  readonly moment: (at: string | null | undefined) => string;
  readonly time: (at: string | number | null | undefined) => string;
  /** Hours and minutes. */
  readonly clock: (at: number) => string;
}

export const UNKNOWN = "–";
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

export function formats(tag: string): Formats {
  const whole = new Intl.NumberFormat(tag, { maximumFractionDigits: 0 });
  const tenth = new Intl.NumberFormat(tag, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
  const signed = new Intl.NumberFormat(tag, {
    minimumFractionDigits: 1,
    maximumFractionDigits: 1,
    signDisplay: "exceptZero",
  });
  const few = new Intl.NumberFormat(tag, { maximumFractionDigits: 2 });
  const day = new Intl.DateTimeFormat(tag, { dateStyle: "medium", timeStyle: "medium" });
  const clock = new Intl.DateTimeFormat(tag, { timeStyle: "medium" });
  const short = new Intl.DateTimeFormat(tag, { timeStyle: "short" });
  const points = (value: number | null | undefined): string => known(value, (it) => tenth.format(it));
  return {
    number: (value) => whole.format(value),
    points,
    percent: (value) => known(value, (it) => `${tenth.format(it)} %`),
    difference: (value) => known(value, (it) => signed.format(it)),
    cores: (millicores) => few.format(millicores / 1000),
    bytes: (value) => bytes(value, (it) => (it < 10 ? few : whole).format(it)),
    duration: (seconds) => known(seconds, duration),
    moment: (at) => dated(at, day),
    time: (at) => dated(at, clock),
    clock: (at) => dated(at, short),
  };
}

/** The two largest units: 1d4h, 3m20s, 12s. Written alike in all languages, as Kubernetes does. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const parts: [number, string][] = [
    [Math.floor(whole / 86_400), "d"],
    [Math.floor(whole / 3600) % 24, "h"],
    [Math.floor(whole / 60) % 60, "m"],
    [whole % 60, "s"],
  ];
  const first = parts.findIndex(([value]) => value > 0);
  if (first < 0) return seconds > 0 && seconds < 0.5 ? `${seconds.toFixed(1)}s` : "0s";
  return parts
    .slice(first, first + 2)
    .filter(([value], at) => at === 0 || value > 0)
    .map(([value, unit]) => `${value}${unit}`)
    .join("");
}

export function secondsBetween(
  from: string | null | undefined,
  to: string | number | null | undefined,
): number | null {
  if (!from || !to) return null;
  const [begin, end] = [Date.parse(from), typeof to === "number" ? to : Date.parse(to)];
  return Number.isNaN(begin) || Number.isNaN(end) ? null : Math.max(0, (end - begin) / 1000);
}

function bytes(value: number, told: (value: number) => string): string {
  let unit = 0;
  let rest = value;
  while (rest >= 1024 && unit < UNITS.length - 1) {
    rest /= 1024;
    unit++;
  }
  return `${told(rest)} ${UNITS[unit] ?? "B"}`;
}

function known(value: number | null | undefined, told: (value: number) => string): string {
  return value === null || value === undefined || !Number.isFinite(value) ? UNKNOWN : told(value);
}

function dated(at: string | number | null | undefined, format: Intl.DateTimeFormat): string {
  if (!at) return UNKNOWN;
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? UNKNOWN : format.format(date);
}
