import { expect, test } from "vitest";
import { after } from "../src/state/after";
import { countOf, decode, podOf } from "../src/state/cluster";
import { cluster, mark } from "./clusters";

test("each move takes one pod of its workload, whose share is of its new node", () => {
  const state = decode(
    cluster(
      [{ name: "n0", cpu: 8000 }, { name: "n1", cpu: 4000 }],
      [[[0, 100, 50, 0], [0, 100, 50, 0], [1, 10, 10, 0]], []],
      [mark(0, 1)],
    ),
  );
  const { pods } = after(state);
  expect(countOf(pods.get(0))).toBe(2);
  const moved = pods.get(1) ?? new Uint32Array(0);
  expect(podOf(moved, 0)).toEqual({ workload: 0, state: "ready", cpu: 20, memory: 5 });
  expect(countOf(state.pods[0])).toBe(3);
});

test("what is under way is the original that leaves, and its copy is not counted twice", () => {
  const state = decode(
    cluster(
      [{ name: "n0" }, { name: "n1" }],
      [[[0, 100, 50, 0], [0, 90, 50, 4]], [[0, 90, 50, 3]]],
      [mark(0, 1, { state: "inProgress" })],
    ),
  );
  const { pods } = after(state);
  expect(podOf(pods.get(0) ?? new Uint32Array(0), 0)).toMatchObject({ cpu: 10, state: "ready" });
  expect(countOf(pods.get(0))).toBe(1);
  expect(countOf(pods.get(1))).toBe(1);
});

test("a move of which a node is gone changes nothing", () => {
  const state = decode(cluster([{ name: "n0" }], [[[0, 100, 50, 0]]], [mark(0, -1), mark(-1, 0), mark(0, 7)]));
  expect(after(state).pods.size).toBe(0);
});
