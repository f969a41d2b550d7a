/** How the pods of a node fill its box: a treemap from the bottom up, as high as the node is full. Pure. */

import { countOf, type Pods } from "../state/cluster";
import type { Resource } from "./layout";

/** Four numbers a pod, in the order of its row: x, y, width and height, each from 0 to 1 of the box. */
export type Tiles = Float32Array;

/** Even a pod that asks for nothing is seen. */
const SMALLEST = 4;

export function tilesOf(pods: Pods, resource: Resource, fill: number): Tiles {
  const count = countOf(pods);
  const tiles = new Float32Array(count * 4);
  if (!count) return tiles;
  const sizes = new Float64Array(count);
  let whole = 0;
  for (let at = 0; at < count; at++) {
    const shares = pods[at * 2 + 1] ?? 0;
    const size = Math.max(SMALLEST, resource === "cpu" ? shares >>> 16 : shares & 0xffff);
    sizes[at] = size;
    whole += size;
  }
  const height = Math.min(1, Math.max(fill, 0.06));
  const order = orderOf(sizes);
  squarify(sizes, order, whole, height, tiles);
  return tiles;
}

/** The pod whose tile is there, by its row; -1: none. */
export function tileAt(tiles: Tiles, x: number, y: number): number {
  for (let at = 0; at < tiles.length; at += 4) {
    const dx = x - (tiles[at] ?? 0);
    const dy = y - (tiles[at + 1] ?? 0);
    if (dx >= 0 && dx < (tiles[at + 2] ?? 0) && dy >= 0 && dy < (tiles[at + 3] ?? 0)) return at / 4;
  }
  return -1;
}

function orderOf(sizes: Float64Array): Uint16Array {
  const order = Uint16Array.from(sizes, (_, at) => at);
  return order.sort((a, b) => (sizes[b] ?? 0) - (sizes[a] ?? 0) || a - b);
}

/** After Bruls, Huizing and van Wijk; the box's shape is about that of a node. */
function squarify(
  sizes: Float64Array,
  order: Uint16Array,
  whole: number,
  height: number,
  tiles: Tiles,
): void {
  // Worked out in a box of 1 by `high`, which looks as wide as high as the node does.
  const looks = 0.66;
  const high = height * looks;
  const scale = high / whole;
  let x = 0;
  let y = 0;
  let width = 1;
  let left = high;
  let at = 0;
  while (at < order.length) {
    const side = Math.min(width, left);
    let row = 0;
    let end = at;
    let worst = Infinity;
    while (end < order.length) {
      const more = row + (sizes[order[end] ?? 0] ?? 0) * scale;
      const largest = (sizes[order[at] ?? 0] ?? 0) * scale;
      const smallest = (sizes[order[end] ?? 0] ?? 0) * scale;
      const ratio = Math.max((side * side * largest) / (more * more), (more * more) / (side * side * smallest));
      if (ratio > worst) break;
      worst = ratio;
      row = more;
      end++;
    }
    const thick = row / side;
    let along = 0;
    for (let each = at; each < end; each++) {
      const pod = order[each] ?? 0;
      const long = ((sizes[pod] ?? 0) * scale) / thick;
      const [px, py, w, h] =
        width >= left ? [x, y + along, thick, long] : [x + along, y, long, thick];
      // From the bottom up.
      tiles[pod * 4] = px;
      tiles[pod * 4 + 1] = 1 - (py + h) / looks;
      tiles[pod * 4 + 2] = w;
      tiles[pod * 4 + 3] = h / looks;
      along += long;
    }
    if (width >= left) {
      x += thick;
      width -= thick;
    } else {
      y += thick;
      left -= thick;
    }
    at = end;
  }
}
