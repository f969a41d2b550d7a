/** The cluster as the page keeps it: what `cluster` answers, and what patches make of it. Pure.

A pod is two numbers on its node, for there may be 150,000 of them: the first has its workload and
its state, the second its shares. They are sorted, so that the same pods look the same. */

import type { Cluster, ClusterPatch, MoveMark, NodeColumns, PodRows, WorkloadColumns } from "../api/types";

export const FLAGS = {
  cordoned: 1,
  maintenance: 2,
  notReady: 4,
  apart: 8,
  gone: 16,
  leaving: 32,
  overloaded: 64,
} as const;
export type Flag = keyof typeof FLAGS;

export const STATES = ["ready", "notReady", "ending", "copy", "leaving", "waiting"] as const;
export type PodState = (typeof STATES)[number];

export interface Node {
  readonly index: number;
  readonly name: string;
  readonly zone: string;
  readonly pool: string;
  readonly flags: number;
  readonly cpu: number;
  readonly memory: number;
  readonly capacity: number;
  /** Per cent of what it can give; -1: unknown. */
  readonly load: Shares;
  readonly planned: Shares;
  readonly otherPods: number;
  readonly otherShare: Shares;
}

export interface Shares {
  readonly cpu: number;
  readonly memory: number;
}

export interface Workload {
  readonly index: number;
  readonly namespace: string;
  readonly kind: string;
  readonly name: string;
}

export interface Move {
  readonly key: string;
  readonly namespace: string;
  readonly pod: string;
  readonly workload: number;
  readonly from: number;
  readonly to: number;
  readonly planned: boolean;
  readonly underWay: boolean;
  readonly step: string;
  readonly migration: string;
}

/** Pairs of numbers; see `podOf`. */
export type Pods = Uint32Array;

export interface Pod {
  readonly workload: number;
  readonly state: PodState;
  readonly cpu: number;
  readonly memory: number;
}

const NO_PODS: Pods = new Uint32Array(0);
const WORKLOADS = 1 << 24;
const MOST_SHARE = 0xffff;

export interface ClusterState {
  readonly version: string;
  readonly takenAt: string;
  readonly loads: string;
  readonly zones: readonly string[];
  readonly pools: readonly string[];
  readonly namespaces: readonly string[];
  readonly kinds: readonly string[];
  /** Changed in place: who draws goes by `dirty`. */
  readonly nodes: Node[];
  readonly workloads: Workload[];
  readonly pods: Pods[];
  readonly waiting: Pods;
  readonly moves: readonly Move[];
  readonly podCount: number;
  /** Nodes that the last patch has touched; null: everything is new. */
  readonly dirty: ReadonlySet<number> | null;
  /** Nodes came or went, or changed what they are grouped by. */
  readonly layoutChanged: boolean;
}

export function decode(from: Cluster): ClusterState {
  const names = { zones: from.zones, pools: from.pools };
  const nodes = from.nodes.name.map((_, at) => nodeOf(from.nodes, at, at, names));
  const pods: Pods[] = [];
  let at = 0;
  for (const count of from.pods.perNode) {
    pods.push(sorted(pairs(from.pods, at, at + count)));
    at += count;
  }
  while (pods.length < nodes.length) pods.push(NO_PODS);
  return {
    version: from.version,
    takenAt: from.takenAt,
    loads: from.loads,
    ...names,
    namespaces: from.namespaces,
    kinds: from.kinds,
    nodes,
    workloads: workloadsOf(from.workloads, 0, from.namespaces, from.kinds),
    pods,
    waiting: sorted(pairs(from.pods, at, from.pods.workload.length)),
    moves: from.moves.map(moveOf),
    podCount: from.pods.workload.length + sum(from.nodes.otherPods),
    dirty: null,
    layoutChanged: true,
  };
}

/** Undefined: it is against another state, so that all has to be loaded anew. */
export function patched(state: ClusterState, patch: ClusterPatch): ClusterState | undefined {
  if (patch.since !== state.version) return undefined;
  const dirty = new Set<number>();
  const zones = [...state.zones, ...patch.zones];
  const pools = [...state.pools, ...patch.pools];
  const namespaces = patch.namespaces.length ? [...state.namespaces, ...patch.namespaces] : state.namespaces;
  const kinds = patch.kinds.length ? [...state.kinds, ...patch.kinds] : state.kinds;
  const { nodes, pods, workloads } = state;
  let layoutChanged = false;
  if (patch.workloads)
    workloads.push(...workloadsOf(patch.workloads, workloads.length, namespaces, kinds));
  if (patch.nodes) {
    for (const [row, index] of patch.nodes.number.entries()) {
      const before = nodes[index];
      const node = nodeOf(patch.nodes, row, index, { zones, pools });
      while (nodes.length < index) {
        nodes.push(absent(nodes.length));
        pods.push(NO_PODS);
      }
      nodes[index] = node;
      pods[index] ??= NO_PODS;
      dirty.add(index);
      layoutChanged ||= !before || isElsewhere(before, node);
    }
  }
  const waiting = change(state, patch, dirty);
  if (!waiting) return undefined;
  const moves = patch.moves ? patch.moves.map(moveOf) : state.moves;
  return {
    ...state,
    version: patch.version,
    takenAt: patch.takenAt,
    zones,
    pools,
    namespaces,
    kinds,
    waiting,
    moves,
    podCount:
      state.podCount + (patch.added?.node.length ?? 0) - (patch.removed?.node.length ?? 0),
    dirty,
    layoutChanged,
  };
}

export function podOf(pods: Pods, at: number): Pod {
  const first = pods[at * 2] ?? 0;
  const second = pods[at * 2 + 1] ?? 0;
  return {
    workload: first % WORKLOADS,
    state: STATES[Math.floor(first / WORKLOADS)] ?? "ready",
    cpu: (second >>> 16) / 10,
    memory: (second & MOST_SHARE) / 10,
  };
}

export function countOf(pods: Pods | undefined): number {
  return pods ? pods.length / 2 : 0;
}

export function has(node: Node, flag: Flag): boolean {
  return (node.flags & FLAGS[flag]) !== 0;
}

export function workloadName(workload: Workload | undefined): string {
  if (!workload) return "";
  return workload.name ? `${workload.namespace}/${workload.name}` : workload.namespace;
}

// ---------------------------------------------------------------------- rows

function nodeOf(
  columns: NodeColumns,
  row: number,
  index: number,
  names: { zones: readonly string[]; pools: readonly string[] },
): Node {
  const of = (column: readonly number[]): number => column[row] ?? 0;
  const share = (column: readonly number[]): number => (of(column) < 0 ? -1 : of(column) / 10);
  return {
    index,
    name: columns.name[row] ?? "",
    zone: names.zones[of(columns.zone)] ?? "",
    pool: names.pools[of(columns.pool)] ?? "",
    flags: of(columns.flags),
    cpu: of(columns.cpu),
    memory: of(columns.memory),
    capacity: of(columns.capacity),
    load: { cpu: share(columns.cpuLoad), memory: share(columns.memoryLoad) },
    planned: { cpu: share(columns.cpuPlanned), memory: share(columns.memoryPlanned) },
    otherPods: of(columns.otherPods),
    otherShare: { cpu: share(columns.otherCpu), memory: share(columns.otherMemory) },
  };
}

function absent(index: number): Node {
  const none = { cpu: -1, memory: -1 };
  const nothing = { cpu: 0, memory: 0 };
  const sizes = { cpu: 0, memory: 0, capacity: 0, otherPods: 0 };
  const shares = { load: none, planned: none, otherShare: nothing };
  return { index, name: "", zone: "", pool: "", flags: FLAGS.gone, ...sizes, ...shares };
}

function isElsewhere(before: Node, after: Node): boolean {
  return (
    before.name !== after.name ||
    before.zone !== after.zone ||
    before.pool !== after.pool ||
    has(before, "gone") !== has(after, "gone")
  );
}

function workloadsOf(
  columns: WorkloadColumns,
  first: number,
  namespaces: readonly string[],
  kinds: readonly string[],
): Workload[] {
  return columns.name.map((name, row) => ({
    index: first + row,
    name,
    namespace: namespaces[columns.namespace[row] ?? -1] ?? "",
    kind: kinds[columns.kind[row] ?? -1] ?? "",
  }));
}

function moveOf(mark: MoveMark): Move {
  return {
    key: mark.uid || `${mark.namespace}/${mark.pod}`,
    namespace: mark.namespace,
    pod: mark.pod,
    workload: mark.workload,
    from: mark.from,
    to: mark.to,
    planned: mark.state === "planned",
    underWay: mark.state === "inProgress",
    step: mark.step,
    migration: mark.migration,
  };
}

// ---------------------------------------------------------------------- pods

type Rows = Pick<PodRows, "workload" | "cpu" | "memory" | "state">;

function first(rows: Rows, at: number): number {
  return (rows.state[at] ?? 0) * WORKLOADS + (rows.workload[at] ?? 0);
}

function second(rows: Rows, at: number): number {
  const cpu = Math.min(MOST_SHARE, Math.max(0, rows.cpu[at] ?? 0));
  const memory = Math.min(MOST_SHARE, Math.max(0, rows.memory[at] ?? 0));
  return cpu * (MOST_SHARE + 1) + memory;
}

function pairs(rows: Rows, from: number, to: number): Pods {
  const found = new Uint32Array((to - from) * 2);
  for (let at = from; at < to; at++) {
    found[(at - from) * 2] = first(rows, at);
    found[(at - from) * 2 + 1] = second(rows, at);
  }
  return found;
}

/** The largest first, then by workload; by insertion, for what is nearly sorted already stays cheap. */
export function sorted(pods: Pods): Pods {
  for (let at = 2; at < pods.length; at += 2) {
    const a = pods[at] ?? 0;
    const b = pods[at + 1] ?? 0;
    let to = at;
    while (to > 0 && isBefore(a, b, pods[to - 2] ?? 0, pods[to - 1] ?? 0)) {
      pods[to] = pods[to - 2] ?? 0;
      pods[to + 1] = pods[to - 1] ?? 0;
      to -= 2;
    }
    pods[to] = a;
    pods[to + 1] = b;
  }
  return pods;
}

function isBefore(a: number, b: number, otherA: number, otherB: number): boolean {
  return b === otherB ? a < otherA : b > otherB;
}

/** Takes away what is gone and adds what is new; the pods that wait, or undefined if it does not fit. */
function change(state: ClusterState, patch: ClusterPatch, dirty: Set<number>): Pods | undefined {
  const byNode = new Map<number, { gone: number[]; come: number[] }>();
  const collect = (rows: PodRows | null, kind: "gone" | "come"): void => {
    if (!rows) return;
    for (const [at, node] of rows.node.entries()) {
      let changes = byNode.get(node);
      if (!changes) byNode.set(node, (changes = { gone: [], come: [] }));
      changes[kind].push(first(rows, at), second(rows, at));
    }
  };
  collect(patch.removed, "gone");
  collect(patch.added, "come");
  let waiting = state.waiting;
  for (const [index, { gone, come }] of byNode) {
    const before = index < 0 ? waiting : state.pods[index];
    const after = before && exchanged(before, gone, come);
    if (!after) return undefined;
    if (index < 0) waiting = after;
    else {
      state.pods[index] = after;
      dirty.add(index);
    }
  }
  return waiting;
}

function exchanged(pods: Pods, gone: readonly number[], come: readonly number[]): Pods | undefined {
  const left: number[] = Array.from(pods);
  for (let each = 0; each < gone.length; each += 2) {
    let at = 0;
    while (at < left.length && (left[at] !== gone[each] || left[at + 1] !== gone[each + 1])) at += 2;
    if (at >= left.length) return undefined;
    left.splice(at, 2);
  }
  left.push(...come);
  return sorted(Uint32Array.from(left));
}

function sum(values: readonly number[]): number {
  let total = 0;
  for (const each of values) total += each;
  return total;
}
