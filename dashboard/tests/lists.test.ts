import { expect, test } from "vitest";
import type { Migration, PodRow } from "../src/api/types";
import { happened, rehearsed } from "../src/picture/motion";
import { colourOf, levelOf } from "../src/picture/palette";
import { decode, patched } from "../src/state/cluster";
import { filterOf } from "../src/state/filter";
import { podOfRow, rowOfPod } from "../src/state/matching";
import { KEPT, merged } from "../src/state/migrations";
import { observedOf } from "../src/views/observed";
import { cluster, mark, patch, type MadePod } from "./clusters";

function migration(name: string, changes: Partial<Migration> = {}): Migration {
  return {
    namespace: "shop",
    name,
    uid: name,
    pod: { namespace: "shop", name, uid: name },
    from: "n0",
    to: "n1",
    way: "Surge",
    strategy: "LoadBalancing",
    phase: "Completed",
    step: "Done",
    reason: "",
    message: "",
    why: "",
    plan: "",
    newPod: "",
    attempt: 1,
    createdAt: "2026-11-19T04:00:00Z",
    startedAt: null,
    endedAt: null,
    stepAt: null,
    ...changes,
  };
}

test("changes of migrations come in, the youngest first, and what is removed goes", () => {
  const known = [migration("b"), migration("a")];
  const next = merged(known, {
    changed: [migration("a", { phase: "Failed" }), migration("c", { createdAt: "2026-11-19T05:00:00Z" })],
    removed: ["shop/b"],
  });
  expect(next.map((each) => [each.name, each.phase])).toEqual([["c", "Completed"], ["a", "Failed"]]);
});

test("of too many, those that are over go first", () => {
  const young = Array.from({ length: KEPT }, (_, at) => migration(`y${at}`, { createdAt: "2026-11-19T05:00:00Z" }));
  const old = migration("old", { phase: "InProgress" });
  const next = merged([], { changed: [...young, old], removed: [] });
  expect(next.length).toBe(KEPT);
  expect(next.at(-1)?.name).toBe("old");
});

const PODS: MadePod[][] = [[[0, 100, 50, 0]], [[1, 900, 10, 0]], [[2, 10, 10, 0], [0, 80, 10, 0]]];

function state(): ReturnType<typeof decode> {
  return decode(
    cluster(
      [
        { name: "node-0", load: 850, flags: 64 },
        { name: "node-1", zone: 1, load: 900, flags: 1 },
        { name: "node-2", load: 100 },
      ],
      PODS,
      [mark(0, 2)],
    ),
  );
}

test.each([
  ["", [0, 1, 2]],
  ["zone:b", [1]],
  ["zone:A cpu>50", [0]],
  ["cpu<20", [2]],
  ["pods>1", [2]],
  ["is:overloaded", [0]],
  ["is:cordoned", [1]],
  ["is:moving", [0, 2]],
  ["is:nonsense", []],
  ["web", [0, 2]],
  ["ns:data", [2]],
  ["web ns:data", []],
  ["node-1", [1]],
  ["node:NODE-2", [2]],
  ["nothing-at-all", []],
])("the filter %j leaves the nodes %j", (text, left) => {
  const of = state();
  const filter = filterOf(text, of);
  expect(of.nodes.filter((node) => filter.node(node)).map((node) => node.index)).toEqual(left);
  expect(filter.isEmpty).toBe(text === "");
});

test("a word about pods says which of them are meant", () => {
  expect([...(filterOf("web", state()).workloads ?? [])]).toEqual([0]);
  expect(filterOf("zone:b", state()).workloads).toBeNull();
});

function named(name: string, workload: string, cpu: number, namespace = "shop"): PodRow {
  return {
    namespace,
    name,
    uid: name,
    workload,
    node: "node-0",
    requests: {},
    usage: {},
    share: { cpu },
    state: "ready",
    refusals: [],
    move: null,
    migration: "",
  };
}

test("the nth tile of a workload is its nth pod by name, and back", () => {
  const of = decode(cluster([{ name: "node-0" }], [[[0, 50, 1, 0], [1, 70, 1, 0], [0, 90, 1, 0]]]));
  const pods = of.pods[0] ?? new Uint32Array(0);
  const rows = [
    named("web-small", "Deployment/web", 5),
    named("web-large", "Deployment/web", 9),
    named("cart-1", "Deployment/cart", 7),
    named("web-9", "Deployment/web", 20, "data"),
  ];
  const found = [0, 1, 2].map((row) => podOfRow(of, pods, row, rows)?.name);
  expect(found).toEqual(["web-large", "cart-1", "web-small"]);
  expect(rows.map((pod) => rowOfPod(of, pods, pod, rows))).toEqual([2, 0, 1, -1]);
});

test("a move that begins is a flight, and one that has ended a pulse where it went", () => {
  const planned = state();
  const begun = patched(planned, patch({ moves: [mark(0, 2, { state: "inProgress" })] }));
  if (!begun) throw new Error("it fits");
  expect(happened(planned, begun, 0).flights.map(({ from, to }) => [from, to])).toEqual([[0, 2]]);
  const ended = patched(begun, patch({ since: "2", version: "3", moves: [] }));
  if (!ended) throw new Error("it fits");
  expect(happened(begun, ended, 0)).toEqual({ flights: [], pulses: [{ node: 2, begins: 0 }] });
  expect(happened(null, ended, 0).flights).toEqual([]);
  expect(rehearsed(planned, 0).length).toBe(1);
});

test("a workload has one colour in each theme, and its namespace's others have others", () => {
  const web = { index: 0, namespace: "shop", kind: "Deployment", name: "web" };
  expect(colourOf(web, "workload", true)).toBe(colourOf({ ...web, index: 7 }, "workload", true));
  expect(colourOf(web, "workload", true)).not.toBe(colourOf(web, "workload", false));
  expect(colourOf(web, "namespace", true)).toBe(colourOf({ ...web, name: "cart" }, "namespace", true));
  expect(colourOf(web, "workload", true)).toMatch(/^oklch\(0\.\d+ 0\.\d+ \d+\.\d\)$/);
});

test("levels of load go by the threshold", () => {
  expect([-1, 5, 50, 75, 80, 80.1].map((load) => levelOf(load, 80))).toEqual(["unknown", "low", "calm", "warm", "warm", "hot"]);
});

test("what was observed is read as a status has it, and what is missing is not made up", () => {
  const imbalance = [{ resource: "cpu", predicted: "12.40", measured: "13.1" }, { resource: "memory" }, 7];
  expect(observedOf({ verdict: "AsPredicted", message: "it came as it was told", imbalance })).toEqual({
    verdict: "AsPredicted",
    message: "it came as it was told",
    imbalance: [
      { resource: "cpu", predicted: 12.4, measured: 13.1 },
      { resource: "memory", predicted: null, measured: null },
    ],
  });
  expect(observedOf({ verdict: "NotCovered" })).toEqual({ verdict: "NotCovered", message: "", imbalance: [] });
  expect(observedOf(null)).toBeNull();
});
