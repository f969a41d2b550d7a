import { expect, test } from "vitest";
import { countOf, decode, has, patched, podOf, sorted, workloadName, type ClusterState } from "../src/state/cluster";
import { cluster, mark, nodeChanges, patch, rows, type MadePod } from "./clusters";

const WEB: MadePod = [0, 100, 50, 0];
const CART: MadePod = [1, 300, 20, 1];
const KAFKA: MadePod = [2, 40, 400, 2];

function state(): ClusterState {
  return decode(cluster([{ name: "n0", zone: 1 }, { name: "n1", flags: 64 }, { name: "n2" }], [[WEB, CART], [], [KAFKA]]));
}

function podsOf(of: ClusterState, node: number): unknown[] {
  const pods = of.pods[node] ?? new Uint32Array(0);
  return Array.from({ length: countOf(pods) }, (_, at) => {
    const pod = podOf(pods, at);
    return [pod.workload, pod.cpu, pod.memory, pod.state];
  });
}

test("columns become nodes with their pods, the largest first", () => {
  const decoded = state();
  expect(decoded.nodes.map((node) => [node.name, node.zone, node.load.cpu, node.load.memory])).toEqual([
    ["n0", "b", 50, -1],
    ["n1", "a", 50, -1],
    ["n2", "a", 50, -1],
  ]);
  expect(decoded.nodes.map((node) => has(node, "overloaded"))).toEqual([false, true, false]);
  expect(podsOf(decoded, 0)).toEqual([
    [1, 30, 2, "notReady"],
    [0, 10, 5, "ready"],
  ]);
  expect(podsOf(decoded, 1)).toEqual([]);
  expect(podsOf(decoded, 2)).toEqual([[2, 4, 40, "ending"]]);
  expect(workloadName(decoded.workloads[2])).toBe("data/kafka");
  expect(decoded.podCount).toBe(3);
});

test("pods behind those of the nodes wait for one", () => {
  const told = cluster([{ name: "n0" }], [[WEB]]);
  told.pods.workload.push(1);
  told.pods.cpu.push(0);
  told.pods.memory.push(0);
  told.pods.state.push(5);
  const decoded = decode(told);
  expect(podOf(decoded.waiting, 0).state).toBe("waiting");
  expect(countOf(decoded.waiting)).toBe(1);
});

test("a patch moves a pod, and says which nodes look different", () => {
  const after = patched(state(), patch({ removed: rows([[0, WEB]]), added: rows([[1, WEB]]) }));
  expect(after?.version).toBe("2");
  expect(podsOf(after ?? state(), 0)).toEqual([[1, 30, 2, "notReady"]]);
  expect(podsOf(after ?? state(), 1)).toEqual([[0, 10, 5, "ready"]]);
  expect([...(after?.dirty ?? [])].sort()).toEqual([0, 1]);
  expect(after?.layoutChanged).toBe(false);
  expect(after?.podCount).toBe(3);
});

test("of pods that are alike a patch takes one", () => {
  const first = decode(cluster([{ name: "n0" }], [[WEB, WEB, WEB]]));
  const after = patched(first, patch({ removed: rows([[0, WEB]]) }));
  expect(countOf(after?.pods[0])).toBe(2);
});

test.each([
  ["against another version", patch({ since: "0" })],
  ["that takes a pod which is not there", patch({ removed: rows([[1, WEB]]) })],
  ["about a node that nobody has told of", patch({ added: rows([[9, WEB]]) })],
])("a patch %s does not fit: all is loaded anew", (_, change) => {
  expect(patched(state(), change)).toBeUndefined();
});

test("nodes come, change and go", () => {
  const come = patched(state(), patch({ nodes: nodeChanges([[3, { name: "n3", load: 0 }]]), added: rows([[3, WEB]]) }));
  expect(come?.nodes[3]?.name).toBe("n3");
  expect(come?.layoutChanged).toBe(true);
  const changed = patched(state(), patch({ nodes: nodeChanges([[1, { name: "n1", load: 900 }]]) }));
  expect(changed?.nodes[1]?.load.cpu).toBe(90);
  expect(changed?.layoutChanged).toBe(false);
  const gone = patched(state(), patch({ nodes: nodeChanges([[1, { name: "n1", flags: 16 }]]) }));
  expect(gone?.layoutChanged).toBe(true);
});

test("names are appended, and moves are all of them or as before", () => {
  const after = patched(
    state(),
    patch({
      zones: ["c"],
      namespaces: ["mail"],
      workloads: { namespace: [2], kind: [0], name: ["inbox"] },
      nodes: nodeChanges([[0, { name: "n0", zone: 2 }]]),
      moves: [mark(0, 1, { state: "inProgress" })],
    }),
  );
  expect(after?.nodes[0]?.zone).toBe("c");
  expect(workloadName(after?.workloads[3])).toBe("mail/inbox");
  expect(after?.moves.map((move) => [move.from, move.to, move.underWay, move.planned])).toEqual([[0, 1, true, false]]);
  const next = after && patched(after, patch({ since: "2", version: "3" }));
  expect(next?.moves).toBe(after?.moves);
});

test("a thousand patches leave what the same pods give at once", () => {
  let now = decode(cluster([{ name: "n0" }, { name: "n1" }], [[], []]));
  let luck = 1;
  const random = (below: number): number => (luck = (luck * 48_271) % 2_147_483_647) % below;
  const kept: [number, MadePod][] = [];
  for (let version = 1; version <= 1000; version++) {
    const gone = kept.length > 20 ? kept.splice(random(kept.length), 1) : [];
    const come: [number, MadePod] = [random(2), [random(3), random(200), random(200), 0]];
    kept.push(come);
    const change = patch({ since: String(version), version: String(version + 1), removed: rows(gone), added: rows([come]) });
    const next = patched(now, change);
    if (!next) throw new Error(`patch ${version} did not fit`);
    now = next;
  }
  const whole = decode(
    cluster(
      [{ name: "n0" }, { name: "n1" }],
      [0, 1].map((node) => kept.filter(([on]) => on === node).map(([, pod]) => pod)),
    ),
  );
  expect(now.pods).toEqual(whole.pods);
  expect(now.podCount).toBe(kept.length);
});

test("sorting puts the largest share first and keeps pairs together", () => {
  expect(sorted(Uint32Array.from([1, 5, 2, 9, 3, 5, 0, 5]))).toEqual(Uint32Array.from([2, 9, 0, 5, 1, 5, 3, 5]));
});
