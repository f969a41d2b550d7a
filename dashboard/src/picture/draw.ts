/** Draws nodes: as full as they are from afar, with pods as tiles from near, with names from nearer. */

import { countOf, has, podOf, workloadName, type ClusterState, type Node, type Pods } from "../state/cluster";
import type { Camera, Size } from "./camera";
import { BOX, bandOf, isOverloaded, loadOf, TITLE, type Layout, type Resource } from "./layout";
import { colourOf, levelOf, type Colouring, type Palette } from "./palette";
import type { Tiles } from "./tiles";

export type Context = CanvasRenderingContext2D;

/** Of the pods of one node, by row: they are known of the one that somebody has opened. */
export interface Names {
  readonly node: string;
  readonly pods: readonly string[];
}

export interface Scene {
  readonly state: ClusterState;
  readonly layout: Layout;
  readonly camera: Camera;
  readonly view: Size;
  readonly palette: Palette;
  readonly resource: Resource;
  readonly planned: boolean;
  readonly colouring: Colouring;
  readonly thresholds: Readonly<Record<string, number>>;
  /** Of those that the filter means; null: all. */
  readonly workloads: ReadonlySet<number> | null;
  readonly names: Names | null;
  titleOf(key: string): string;
  podsOf(index: number): Pods;
  tilesOf(index: number): Tiles;
}

/** The widths in pixels from which more of a node is shown. */
const TILES_FROM = 38;
const HEAD_FROM = 84;
const WORDS_FROM = 240;

/** The parts of a box, in units of the picture. */
export const BODY = { x: 4, y: 22, width: 92, height: 58 } as const;
const BARS = { x: 4, y: 15, width: 92, height: 2, gap: 1.2 } as const;

export function boxOf(scene: Scene, index: number): { x: number; y: number; w: number; h: number } {
  const { camera, layout } = scene;
  return {
    x: (layout.corners[index * 2] ?? NaN) * camera.scale + camera.x,
    y: (layout.corners[index * 2 + 1] ?? NaN) * camera.scale + camera.y,
    w: BOX.width * camera.scale,
    h: BOX.height * camera.scale,
  };
}

/** Where pods are, inside that box. */
export function bodyOf(scene: Scene, index: number): { x: number; y: number; w: number; h: number } {
  const box = boxOf(scene, index);
  const { scale } = scene.camera;
  if (box.w < HEAD_FROM) {
    const edge = Math.min(2, box.w * 0.04);
    return { x: box.x + edge, y: box.y + edge, w: box.w - 2 * edge, h: box.h - 2 * edge };
  }
  return {
    x: box.x + BODY.x * scale,
    y: box.y + BODY.y * scale,
    w: BODY.width * scale,
    h: BODY.height * scale,
  };
}

/** All of it, or only these nodes, on what is there. */
export function draw(context: Context, scene: Scene, only: ReadonlySet<number> | null): void {
  const { view, palette, layout } = scene;
  if (!only) {
    context.fillStyle = palette.surface;
    context.fillRect(0, 0, view.width, view.height);
    for (const group of layout.groups) title(context, scene, group.key, group.rect.x, group.rect.y, group.rect.width, group.nodes.length);
  }
  const fills = new Fills();
  const seen: number[] = [];
  for (const index of only ?? layout.order) {
    const box = boxOf(scene, index);
    if (!(box.x < view.width && box.y < view.height && box.x + box.w > 0 && box.y + box.h > 0)) continue;
    seen.push(index);
    if (only) {
      context.fillStyle = palette.surface;
      context.fillRect(box.x - 1.5, box.y - 1.5, box.w + 3, box.h + 3);
    }
    node(context, scene, index, fills);
  }
  fills.flush(context);
  const [first] = seen;
  if (first === undefined) return;
  const wide = boxOf(scene, first).w;
  if (wide >= TILES_FROM) for (const index of seen) marksOfPods(context, scene, index);
  for (const index of seen) {
    const found = scene.state.nodes[index];
    if (!found) continue;
    if (wide >= HEAD_FROM) head(context, scene, found);
    else if (wide >= 9) badge(context, scene, found);
  }
}

/** One colour after the other: to change it for each tile would cost more than to draw them. */
class Fills {
  private readonly byColour = new Map<string, number[]>();

  add(colour: string, x: number, y: number, w: number, h: number): void {
    let list = this.byColour.get(colour);
    if (!list) this.byColour.set(colour, (list = []));
    list.push(x, y, w, h);
  }

  flush(context: Context): void {
    for (const [colour, list] of this.byColour) {
      context.fillStyle = colour;
      for (let at = 0; at < list.length; at += 4)
        context.fillRect(list[at] ?? 0, list[at + 1] ?? 0, list[at + 2] ?? 0, list[at + 3] ?? 0);
    }
  }
}

export function levelColour(palette: Palette, level: ReturnType<typeof levelOf>): string {
  switch (level) {
    case "hot":
      return palette.hot;
    case "warm":
      return palette.warm;
    case "calm":
      return palette.calm;
    case "low":
      return palette.low;
    case "unknown":
      return palette.other;
  }
}

function node(context: Context, scene: Scene, index: number, fills: Fills): void {
  const { palette, state, resource, planned, thresholds } = scene;
  const found = state.nodes[index];
  if (!found) return;
  const box = boxOf(scene, index);
  const load = loadOf(found, resource, planned);
  const level = levelOf(load, thresholds[resource] ?? 80);
  if (box.w >= HEAD_FROM) {
    context.fillStyle = palette.box;
    context.strokeStyle = level === "hot" ? palette.hot : palette.boxEdge;
    context.lineWidth = level === "hot" ? 1.5 : 1;
    context.beginPath();
    context.roundRect(box.x, box.y, box.w, box.h, Math.min(6, box.w * 0.03));
    context.fill();
    context.stroke();
  } else fills.add(palette.box, box.x, box.y, box.w, box.h);
  const body = bodyOf(scene, index);
  if (box.w < TILES_FROM) {
    const fill = load < 0 ? 0.5 : Math.min(1, load / 100);
    fills.add(levelColour(palette, level), body.x, body.y + body.h * (1 - fill), body.w, body.h * fill);
    return;
  }
  tiles(scene, index, body, fills);
}

function tiles(
  scene: Scene,
  index: number,
  body: { x: number; y: number; w: number; h: number },
  fills: Fills,
): void {
  const { state, palette, colouring, workloads } = scene;
  const pods = scene.podsOf(index);
  const found = state.nodes[index];
  const places = scene.tilesOf(index);
  const level = found
    ? levelColour(palette, levelOf(loadOf(found, scene.resource, scene.planned), scene.thresholds[scene.resource] ?? 80))
    : palette.calm;
  const gap = body.w > 150 ? 1.5 : body.w > 70 ? 1 : 0.5;
  for (let at = 0; at < countOf(pods); at++) {
    const workload = (pods[at * 2] ?? 0) % (1 << 24);
    const meant = !workloads || workloads.has(workload);
    let colour = palette.boxEdge;
    if (meant) colour = colouring === "load" ? level : colourFor(scene, workload);
    fills.add(
      colour,
      body.x + (places[at * 4] ?? 0) * body.w,
      body.y + (places[at * 4 + 1] ?? 0) * body.h,
      Math.max(0.5, (places[at * 4 + 2] ?? 0) * body.w - gap),
      Math.max(0.5, (places[at * 4 + 3] ?? 0) * body.h - gap),
    );
  }
  if (found?.otherPods) {
    // Of namespaces that the viewer may not see: one share, on top of the others.
    const own = Math.max(0, loadOf(found, scene.resource, scene.planned) - found.otherShare[scene.resource]);
    const other = Math.min(1, found.otherShare[scene.resource] / 100);
    const top = Math.max(0, 1 - own / 100 - other);
    fills.add(palette.other, body.x, body.y + top * body.h, body.w - gap, other * body.h - gap);
  }
}

const colours = new Map<string, Map<number, string>>();

function colourFor(scene: Scene, workload: number): string {
  const key = `${scene.colouring}${scene.palette.dark}`;
  let known = colours.get(key);
  if (!known) colours.set(key, (known = new Map<number, string>()));
  let colour = known.get(workload);
  if (!colour) {
    colour = colourOf(scene.state.workloads[workload], scene.colouring, scene.palette.dark);
    known.set(workload, colour);
  }
  return colour;
}

/** Numbers of workloads mean others after everything was loaded anew. */
export function forgetColours(): void {
  colours.clear();
}

export { colourFor };

// ---------------------------------------------------------------------- shapes that tell states

function marksOfPods(context: Context, scene: Scene, index: number): void {
  const pods = scene.podsOf(index);
  const places = scene.tilesOf(index);
  const body = bodyOf(scene, index);
  const worded = body.w >= WORDS_FROM;
  const { names } = scene;
  const named = names && names.node === scene.state.nodes[index]?.name ? names.pods : [];
  for (let at = 0; at < countOf(pods); at++) {
    const x = body.x + (places[at * 4] ?? 0) * body.w;
    const y = body.y + (places[at * 4 + 1] ?? 0) * body.h;
    const w = (places[at * 4 + 2] ?? 0) * body.w - 1.5;
    const h = (places[at * 4 + 3] ?? 0) * body.h - 1.5;
    const state = (pods[at * 2] ?? 0) >>> 24;
    if (state && w > 3 && h > 3) stateMark(context, scene, state, x, y, w, h);
    if (worded && w > 42 && h > 13) words(context, scene, pods, at, named[at] ?? "", x, y, w, h);
  }
}

function stateMark(context: Context, scene: Scene, state: number, x: number, y: number, w: number, h: number): void {
  const { palette } = scene;
  context.save();
  context.beginPath();
  context.rect(x, y, w, h);
  context.clip();
  if (state === 1) {
    // Not Ready: stripes.
    context.strokeStyle = palette.box;
    context.lineWidth = 1.2;
    context.beginPath();
    for (let at = -h; at < w; at += 5) {
      context.moveTo(x + at, y + h);
      context.lineTo(x + at + h, y);
    }
    context.stroke();
  } else if (state === 2) {
    // Ending: crossed out.
    context.strokeStyle = palette.text;
    context.lineWidth = 1.2;
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(x + w, y + h);
    context.moveTo(x + w, y);
    context.lineTo(x, y + h);
    context.stroke();
  } else if (state === 3 || state === 4) {
    // A copy comes: a broken edge. Its original goes: a whole one, and hollow.
    context.strokeStyle = palette.accent;
    context.lineWidth = 2.4;
    if (state === 3) context.setLineDash([4, 3]);
    else {
      context.fillStyle = palette.box;
      context.globalAlpha = 0.55;
      context.fillRect(x, y, w, h);
      context.globalAlpha = 1;
    }
    context.strokeRect(x + 1.2, y + 1.2, w - 2.4, h - 2.4);
  }
  context.restore();
}

function words(
  context: Context,
  scene: Scene,
  pods: Pods,
  at: number,
  known: string,
  x: number,
  y: number,
  w: number,
  h: number,
): void {
  const pod = podOf(pods, at);
  const workload = scene.state.workloads[pod.workload];
  const large = h > 40 && w > 120;
  const size = large ? 12 : 10;
  context.font = `${size}px ${scene.palette.font}`;
  context.textBaseline = "top";
  context.fillStyle = scene.palette.dark ? "rgba(255,255,255,.95)" : "rgba(0,0,0,.82)";
  const name = large && known ? known : (workload?.name ?? "");
  context.fillText(cut(name || workloadName(workload), w - 8, size), x + 4, y + 3);
  if (!large) return;
  context.font = `10px ${scene.palette.font}`;
  context.globalAlpha = 0.78;
  context.fillText(cut(workload?.namespace ?? "", w - 8, 10), x + 4, y + 18);
  if (h > 58) {
    const share = `cpu ${pod.cpu.toFixed(1)} %  mem ${pod.memory.toFixed(1)} %`;
    context.fillText(cut(share, w - 8, 10), x + 4, y + 32);
  }
  context.globalAlpha = 1;
}

/** By the mean width of a letter: to measure each name would cost more than the picture. */
export function cut(text: string, width: number, size: number): string {
  const most = Math.floor(width / (size * 0.56));
  if (text.length <= most) return text;
  return most < 2 ? "" : `${text.slice(0, most - 1)}…`;
}

// ---------------------------------------------------------------------- heads and titles

function head(context: Context, scene: Scene, found: Node): void {
  const { palette, camera, planned, thresholds } = scene;
  const box = boxOf(scene, found.index);
  const { scale } = camera;
  const size = Math.min(13, Math.max(8.5, 8 * scale));
  context.font = `600 ${size}px ${palette.font}`;
  context.textBaseline = "alphabetic";
  context.fillStyle = palette.text;
  const load = loadOf(found, scene.resource, planned);
  const told = load < 0 ? "?" : `${Math.round(load)}%`;
  const room = box.w - 2 * BARS.x * scale;
  const baseline = box.y + 11.5 * scale;
  const toldWide = told.length * size * 0.6;
  const badges = badgesOf(found, isOverloaded(found, planned, thresholds));
  const mark = badges.join("");
  const markWide = badges.length * size * 1.1;
  context.fillText(cut(found.name, room - toldWide - markWide - 6, size), box.x + BARS.x * scale, baseline);
  if (mark) {
    context.fillStyle = badges[0] === "▲" ? palette.hot : palette.muted;
    context.textAlign = "right";
    context.fillText(mark, box.x + box.w - BARS.x * scale - toldWide - 4, baseline);
  }
  const level = levelOf(load, thresholds[scene.resource] ?? 80);
  context.fillStyle = level === "hot" ? palette.hot : palette.muted;
  context.textAlign = "right";
  context.fillText(told, box.x + box.w - BARS.x * scale, baseline);
  context.textAlign = "left";
  bar(context, scene, found, "cpu", 0);
  bar(context, scene, found, "memory", 1);
}

function bar(context: Context, scene: Scene, found: Node, resource: Resource, row: number): void {
  const { palette, camera, thresholds } = scene;
  const box = boxOf(scene, found.index);
  const { scale } = camera;
  const x = box.x + BARS.x * scale;
  const y = box.y + (BARS.y + row * (BARS.height + BARS.gap)) * scale;
  const wide = BARS.width * scale;
  const high = Math.max(1.5, BARS.height * scale);
  context.fillStyle = palette.boxEdge;
  context.fillRect(x, y, wide, high);
  const load = loadOf(found, resource, scene.planned);
  if (load >= 0) {
    context.fillStyle = levelColour(palette, levelOf(load, thresholds[resource] ?? 80));
    context.fillRect(x, y, wide * Math.min(1, load / 100), high);
  }
  const other = loadOf(found, resource, !scene.planned);
  if (other >= 0 && Math.abs(other - load) >= 1) {
    // Where it was, or will be.
    context.fillStyle = palette.planned;
    context.fillRect(x + wide * Math.min(1, other / 100) - 1, y - 1, 2, high + 2);
  }
}

/** Each state has a shape of its own; the legend names them. */
export function badgesOf(found: Node, overloaded: boolean): string[] {
  const badges: string[] = [];
  if (overloaded) badges.push("▲");
  if (has(found, "notReady")) badges.push("✕");
  if (has(found, "maintenance")) badges.push("◆");
  else if (has(found, "cordoned")) badges.push("⊘");
  if (has(found, "leaving")) badges.push("↓");
  return badges;
}

function badge(context: Context, scene: Scene, found: Node): void {
  const badges = badgesOf(found, isOverloaded(found, scene.planned, scene.thresholds));
  if (!badges.length) return;
  const box = boxOf(scene, found.index);
  const size = Math.min(12, box.w * 0.6);
  context.font = `700 ${size}px ${scene.palette.font}`;
  context.textBaseline = "top";
  context.textAlign = "center";
  context.fillStyle = scene.palette.text;
  context.fillText(badges[0] ?? "", box.x + box.w / 2, box.y + 1);
  context.textAlign = "left";
}

function title(context: Context, scene: Scene, key: string, x: number, y: number, wide: number, count: number): void {
  const text = scene.titleOf(key);
  if (!text) return;
  const { camera, palette } = scene;
  const size = Math.min(15, Math.max(9, 15 * camera.scale));
  const room = wide * camera.scale;
  context.font = `600 ${size}px ${palette.font}`;
  context.textBaseline = "alphabetic";
  context.fillStyle = palette.text;
  const shown = cut(text, room, size);
  const left = x * camera.scale + camera.x;
  const baseline = (y + TITLE - 9) * camera.scale + camera.y;
  context.fillText(shown, left, baseline);
  const told = `  ${count}`;
  const used = context.measureText(shown).width;
  if (used + told.length * size * 0.6 < room) {
    context.fillStyle = palette.muted;
    context.font = `${size}px ${palette.font}`;
    context.fillText(told, left + used, baseline);
  }
}

export function bandTitle(key: string, unknown: string): string {
  return key === bandOf(-1) ? unknown : `≥ ${key} %`;
}
