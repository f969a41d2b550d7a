/** Where each node stands in the picture: boxes of one size, in groups, which flow like words. Pure. */

import { has, type ClusterState, type Node } from "../state/cluster";

export const GROUPINGS = ["none", "zone", "pool", "load"] as const;
export type Grouping = (typeof GROUPINGS)[number];
export const ORDERS = ["name", "load"] as const;
export type Order = (typeof ORDERS)[number];
export const RESOURCES = ["cpu", "memory"] as const;
export type Resource = (typeof RESOURCES)[number];

export interface Rect {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface Group {
  readonly key: string;
  readonly rect: Rect;
  readonly nodes: readonly number[];
}

export interface Layout {
  readonly width: number;
  readonly height: number;
  readonly groups: readonly Group[];
  /** In the order in which they are drawn and walked through. */
  readonly order: readonly number[];
  /** Corners by index of the node: x at twice the index, y behind it; NaN: it is not shown. */
  readonly corners: Float64Array;
}

/** In units of the picture, which the camera makes pixels of. */
export const BOX = { width: 100, height: 84, gap: 10 } as const;
const GROUP_GAP = 36;
/** Above each group, for its name. */
export const TITLE = 30;

/** Lower bounds of the bands that nodes are grouped into by load, in per cent. */
export const BANDS = [90, 80, 60, 40, 20, 0] as const;

export interface Wish {
  readonly grouping: Grouping;
  readonly order: Order;
  readonly resource: Resource;
  readonly planned: boolean;
  /** Width by height of the place it is shown in. */
  readonly aspect: number;
  shown(node: Node): boolean;
}

export function layout(state: ClusterState, wish: Wish): Layout {
  const shown = state.nodes.filter((node) => !has(node, "gone") && wish.shown(node));
  const groups = grouped(shown, wish);
  const titled = wish.grouping !== "none";
  const { blocks, width, height } = arranged(
    groups.map(([, nodes]) => nodes.length),
    wish.aspect,
    titled,
  );
  const corners = new Float64Array(state.nodes.length * 2).fill(NaN);
  const order: number[] = [];
  const placed: Group[] = [];
  for (const [at, [key, nodes]] of groups.entries()) {
    const block = blocks[at];
    if (!block) continue;
    const top = block.y + (titled ? TITLE : 0);
    for (const [place, node] of nodes.entries()) {
      const row = Math.floor(place / block.columns);
      corners[node.index * 2] = block.x + (place % block.columns) * (BOX.width + BOX.gap);
      corners[node.index * 2 + 1] = top + row * (BOX.height + BOX.gap);
      order.push(node.index);
    }
    placed.push({ key, rect: block, nodes: nodes.map((node) => node.index) });
  }
  return { width, height, groups: placed, order, corners };
}

/** The node whose box is there; -1: none. */
export function nodeAt(of: Layout, x: number, y: number): number {
  const group = of.groups.find(
    ({ rect }) => x >= rect.x && x <= rect.x + rect.width && y >= rect.y && y <= rect.y + rect.height,
  );
  if (!group) return -1;
  return (
    group.nodes.find((index) => {
      const dx = x - (of.corners[index * 2] ?? NaN);
      const dy = y - (of.corners[index * 2 + 1] ?? NaN);
      return dx >= 0 && dx <= BOX.width && dy >= 0 && dy <= BOX.height;
    }) ?? -1
  );
}

/** The next node in that direction, as somebody with arrow keys means it; itself where there is none. */
export function neighbour(of: Layout, index: number, dx: -1 | 0 | 1, dy: -1 | 0 | 1): number {
  const at = of.order.indexOf(index);
  if (at < 0) return of.order[0] ?? -1;
  if (dx) return of.order[at + dx] ?? index;
  const x = of.corners[index * 2] ?? 0;
  const y = of.corners[index * 2 + 1] ?? 0;
  let best = index;
  let nearest = Infinity;
  for (const each of of.order) {
    const down = ((of.corners[each * 2 + 1] ?? 0) - y) * dy;
    if (down <= 1) continue;
    // The next row first, and in it the nearest box.
    const distance = down * 1000 + Math.abs((of.corners[each * 2] ?? 0) - x);
    if (distance < nearest) {
      nearest = distance;
      best = each;
    }
  }
  return best;
}

export function loadOf(node: Node, resource: Resource, planned: boolean): number {
  return (planned ? node.planned : node.load)[resource];
}

/** Above a threshold: as the server says of now, as the plan foresees of then. */
export function isOverloaded(node: Node, planned: boolean, thresholds: Readonly<Record<string, number>>): boolean {
  if (!planned) return has(node, "overloaded");
  return RESOURCES.some((resource) => node.planned[resource] > (thresholds[resource] ?? 80));
}

export function bandOf(load: number): string {
  if (load < 0) return "unknown";
  return String(BANDS.find((bound) => load >= bound) ?? 0);
}

function grouped(nodes: readonly Node[], wish: Wish): [string, Node[]][] {
  const found = new Map<string, Node[]>();
  for (const node of nodes) {
    const key = keyOf(node, wish);
    const group = found.get(key);
    if (group) group.push(node);
    else found.set(key, [node]);
  }
  const names = new Intl.Collator("en", { numeric: true });
  const byName = (a: Node, b: Node): number => names.compare(a.name, b.name);
  const load = (node: Node): number => loadOf(node, wish.resource, wish.planned);
  const compare =
    wish.order === "name" ? byName : (a: Node, b: Node) => load(b) - load(a) || byName(a, b);
  for (const group of found.values()) group.sort(compare);
  const byLoad = wish.grouping === "load";
  return [...found].sort(([a], [b]) => {
    if (byLoad) return (b === "unknown" ? -1 : Number(b)) - (a === "unknown" ? -1 : Number(a));
    return names.compare(a, b);
  });
}

function keyOf(node: Node, wish: Wish): string {
  switch (wish.grouping) {
    case "zone":
      return node.zone;
    case "pool":
      return node.pool;
    case "load":
      return bandOf(loadOf(node, wish.resource, wish.planned));
    case "none":
      return "";
  }
}

// ---------------------------------------------------------------------- groups, as words in lines

interface Block extends Rect {
  readonly columns: number;
}

interface Arrangement {
  readonly blocks: readonly Block[];
  readonly width: number;
  readonly height: number;
}

/** Width by height of a group's block; several are tried. */
const SHAPES = [0.25, 0.4, 0.6, 0.8, 1, 1.3, 1.7, 2.3, 3, 4.5, 7];

/** Of many arrangements the one in which everything is seen the largest. */
function arranged(counts: readonly number[], aspect: number, titled: boolean): Arrangement {
  let best: Arrangement = { blocks: [], width: 0, height: 0 };
  let smallest = Infinity;
  for (const shape of SHAPES) {
    const columns = counts.map((count) => columnsOf(count, counts.length > 1 ? shape : aspect));
    const widest = Math.max(0, ...columns.map(widthOf));
    const line = columns.reduce((sum, each) => sum + widthOf(each) + GROUP_GAP, 0);
    for (let lines = 1; lines <= Math.min(12, counts.length); lines++) {
      const found = inLines(counts, columns, Math.max(widest, line / lines + widest / 4), titled);
      const needed = Math.max(found.width / aspect, found.height);
      if (needed < smallest) {
        smallest = needed;
        best = found;
      }
    }
    if (counts.length <= 1) break;
  }
  return best;
}

function inLines(
  counts: readonly number[],
  columns: readonly number[],
  most: number,
  titled: boolean,
): Arrangement {
  const blocks: Block[] = [];
  let [x, y, line, right] = [0, 0, 0, 0];
  for (const [at, count] of counts.entries()) {
    const wide = columns[at] ?? 1;
    const rows = Math.ceil(count / wide);
    const width = widthOf(wide);
    const height = (titled ? TITLE : 0) + rows * (BOX.height + BOX.gap) - BOX.gap;
    if (x > 0 && x + width > most) {
      x = 0;
      y += line + GROUP_GAP;
      line = 0;
    }
    blocks.push({ columns: wide, x, y, width, height });
    right = Math.max(right, x + width);
    x += width + GROUP_GAP;
    line = Math.max(line, height);
  }
  return { blocks, width: right, height: y + line };
}

function columnsOf(count: number, shape: number): number {
  const columns = Math.sqrt((count * shape * (BOX.height + BOX.gap)) / (BOX.width + BOX.gap));
  return Math.max(1, Math.min(count, Math.round(columns)));
}

function widthOf(columns: number): number {
  return columns * (BOX.width + BOX.gap) - BOX.gap;
}
