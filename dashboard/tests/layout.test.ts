import { expect, test } from "vitest";
import { fitted, kept, onto, toPicture, zoomed } from "../src/picture/camera";
import { BOX, layout, isOverloaded, neighbour, nodeAt, type Wish } from "../src/picture/layout";
import { tileAt, tilesOf } from "../src/picture/tiles";
import { decode } from "../src/state/cluster";
import { cluster, type MadeNode } from "./clusters";

const WISH: Wish = { grouping: "none", order: "name", resource: "cpu", planned: false, aspect: 1.6, shown: () => true };

function made(count: number, of: (at: number) => Partial<MadeNode> = () => ({})): ReturnType<typeof decode> {
  return decode(cluster(Array.from({ length: count }, (_, at) => ({ name: `n${at}`, ...of(at) })), []));
}

test.each([1, 2, 3, 24, 100, 5000])("%i nodes stand apart from each other, inside the picture", (count) => {
  const placed = layout(made(count), WISH);
  expect(placed.order.length).toBe(count);
  const seen = new Set<string>();
  for (const index of placed.order) {
    const x = placed.corners[index * 2] ?? NaN;
    const y = placed.corners[index * 2 + 1] ?? NaN;
    expect(x >= 0 && x + BOX.width <= placed.width && y >= 0 && y + BOX.height <= placed.height).toBe(true);
    seen.add(`${x} ${y}`);
  }
  expect(seen.size).toBe(count);
});

test("many nodes fill the shape of the place they are shown in", () => {
  for (const aspect of [0.5, 1, 1.6, 2.5]) {
    const { width, height } = layout(made(5000), { ...WISH, aspect });
    expect(width / height / aspect).toBeGreaterThan(0.85);
    expect(width / height / aspect).toBeLessThan(1.18);
  }
});

test("groups do not overlap, and what is gone or not meant is nowhere", () => {
  const state = made(30, (at) => ({ zone: at % 2, flags: at === 4 ? 16 : 0 }));
  const placed = layout(state, { ...WISH, grouping: "zone", shown: (node) => node.name !== "n7" });
  expect(placed.groups.map((group) => group.key)).toEqual(["a", "b"]);
  const [a, b] = placed.groups.map((group) => group.rect);
  if (!a || !b) throw new Error("two groups");
  expect(a.x + a.width <= b.x || a.y + a.height <= b.y).toBe(true);
  expect(placed.corners[4 * 2]).toBeNaN();
  expect(placed.corners[7 * 2]).toBeNaN();
  expect(placed.order).not.toContain(7);
});

test("names are ordered as people count, loads from the highest", () => {
  const state = made(12, (at) => ({ load: at * 50 }));
  expect(layout(state, WISH).order.slice(0, 4)).toEqual([0, 1, 2, 3]);
  expect(layout(state, { ...WISH, order: "load" }).order.slice(0, 3)).toEqual([11, 10, 9]);
  const bands = layout(state, { ...WISH, grouping: "load" }).groups.map((group) => group.key);
  expect(bands).toEqual(["40", "20", "0"]);
});

test("a node is found where it stands, and nothing between two of them", () => {
  const placed = layout(made(30), WISH);
  for (const index of placed.order) {
    const x = (placed.corners[index * 2] ?? 0) + 5;
    const y = (placed.corners[index * 2 + 1] ?? 0) + 5;
    expect(nodeAt(placed, x, y)).toBe(index);
    expect(nodeAt(placed, x - 10, y)).toBe(-1);
  }
});

test("arrow keys go along rows and to the row below, and stay at the edge", () => {
  const placed = layout(made(24), WISH);
  const [first, second] = placed.order;
  expect(neighbour(placed, first ?? -1, 1, 0)).toBe(second);
  expect(neighbour(placed, first ?? -1, -1, 0)).toBe(first);
  const below = neighbour(placed, first ?? -1, 0, 1);
  expect(placed.corners[below * 2]).toBe(placed.corners[(first ?? 0) * 2]);
  expect(neighbour(placed, below, 0, -1)).toBe(first);
  expect(neighbour(placed, first ?? -1, 0, -1)).toBe(first);
  expect(neighbour(placed, -1, 1, 0)).toBe(first);
});

test("zooming keeps what is under the finger, within bounds", () => {
  const view = { width: 800, height: 500 };
  const camera = fitted({ width: 2000, height: 1000 }, view);
  const at = { x: 300, y: 200 };
  const before = toPicture(camera, at.x, at.y);
  const near = zoomed(camera, 3, at);
  expect(toPicture(near, at.x, at.y).x).toBeCloseTo(before.x);
  expect(toPicture(near, at.x, at.y).y).toBeCloseTo(before.y);
  expect(zoomed(near, 1e9, at).scale).toBeCloseTo(14);
  expect(zoomed(near, 1e-9, at).scale).toBeCloseTo(0.02);
  expect(kept({ scale: 1, x: 9e9, y: -9e9 }, { width: 2000, height: 1000 }, view)).toEqual({ scale: 1, x: 600, y: -875 });
  const close = onto(camera, { x: 100, y: 100 }, 400, view);
  expect(close.scale).toBe(4);
  expect(toPicture(close, 400, 250)).toEqual({ x: 100 + BOX.width / 2, y: 100 + BOX.height / 2 });
});

test("tiles fill the box up to its load without overlapping, and are found again", () => {
  const pods = Uint32Array.from([200, 100, 60, 60, 30, 10, 10, 5].flatMap((share, at) => [at, share << 16]));
  const tiles = tilesOf(pods, "cpu", 0.6);
  let area = 0;
  for (let at = 0; at < tiles.length; at += 4) {
    const [x = 0, y = 0, w = 0, h = 0] = tiles.slice(at, at + 4);
    area += w * h;
    expect(x).toBeGreaterThanOrEqual(0);
    expect(x + w).toBeLessThanOrEqual(1.0001);
    expect(y).toBeGreaterThanOrEqual(0.3999);
    expect(y + h).toBeLessThanOrEqual(1.0001);
    expect(tileAt(tiles, x + w / 2, y + h / 2)).toBe(at / 4);
  }
  expect(area).toBeCloseTo(0.6, 4);
  expect(tileAt(tiles, 0.5, 0.1)).toBe(-1);
});

test("tiles are as large as their pods, and one that asks for nothing is seen", () => {
  const tiles = tilesOf(Uint32Array.from([0, 300 << 16, 1, 100 << 16, 2, 0]), "cpu", 0.5);
  const area = (at: number): number => (tiles[at * 4 + 2] ?? 0) * (tiles[at * 4 + 3] ?? 0);
  expect(area(0) / area(1)).toBeCloseTo(3, 3);
  expect(area(2)).toBeGreaterThan(0);
  expect(tilesOf(new Uint32Array(0), "cpu", 0.5).length).toBe(0);
});

test("a node is above its threshold as the server says now, and as the plan foresees then", () => {
  const [relieved, filled, calm] = made(3, (at) => [{ flags: 64, load: 900, planned: 500 }, { load: 500, planned: 810 }, {}][at] ?? {}).nodes;
  const limits = { cpu: 80, memory: 80 };
  if (!relieved || !filled || !calm) throw new Error("three nodes");
  expect([relieved, filled, calm].map((node) => isOverloaded(node, false, limits))).toEqual([true, false, false]);
  expect([relieved, filled, calm].map((node) => isOverloaded(node, true, limits))).toEqual([false, true, false]);
});
