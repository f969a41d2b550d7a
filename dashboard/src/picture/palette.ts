/** The colours of the picture: tokens of the theme, and one for each workload, by its names. Pure but for `paletteOf`. */

import type { Workload } from "../state/cluster";

export interface Palette {
  readonly dark: boolean;
  readonly surface: string;
  readonly box: string;
  readonly boxEdge: string;
  readonly text: string;
  readonly muted: string;
  readonly accent: string;
  readonly calm: string;
  readonly low: string;
  readonly warm: string;
  readonly hot: string;
  readonly good: string;
  readonly planned: string;
  readonly other: string;
  readonly font: string;
}

export const COLOURINGS = ["workload", "namespace", "load"] as const;
export type Colouring = (typeof COLOURINGS)[number];

export function paletteOf(element: Element): Palette {
  const style = getComputedStyle(element);
  const token = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  return {
    dark: token("is-dark") === "1",
    surface: token("picture"),
    box: token("box"),
    boxEdge: token("box-edge"),
    text: token("text"),
    muted: token("muted"),
    accent: token("accent"),
    calm: token("load-calm"),
    low: token("load-low"),
    warm: token("load-warm"),
    hot: token("load-hot"),
    good: token("good"),
    planned: token("planned"),
    other: token("load-other"),
    font: style.fontFamily,
  };
}

/** Workloads of a namespace are of one hue, so that neighbours in name are neighbours in colour. */
export function colourOf(workload: Workload | undefined, colouring: Colouring, dark: boolean): string {
  if (!workload) return dark ? "oklch(0.5 0.02 260)" : "oklch(0.75 0.02 260)";
  const hue = (hash(workload.namespace) * 137.508) % 360;
  if (colouring === "namespace") return oklch(dark ? 0.62 : 0.74, 0.1, hue);
  const own = hash(`${workload.namespace}/${workload.name}`);
  const lightness = (dark ? 0.54 : 0.67) + (own % 5) * 0.04;
  return oklch(lightness, 0.085 + (own % 3) * 0.02, hue + ((own >>> 3) % 5) * 9 - 18);
}

function oklch(lightness: number, chroma: number, hue: number): string {
  return `oklch(${lightness.toFixed(3)} ${chroma.toFixed(3)} ${((hue + 360) % 360).toFixed(1)})`;
}

/** FNV-1a. */
export function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) {
    value ^= text.charCodeAt(at);
    value = Math.imul(value, 0x01000193);
  }
  return (value ^ (value >>> 15)) >>> 0;
}

/** Of a node, by how near it is to its threshold. */
export function levelOf(load: number, threshold: number): "unknown" | "low" | "calm" | "warm" | "hot" {
  if (load < 0) return "unknown";
  if (load > threshold) return "hot";
  if (load > threshold - 10) return "warm";
  return load < threshold / 3 ? "low" : "calm";
}
