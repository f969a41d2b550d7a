/** Small clusters for tests, as the API tells them. */

import type { Cluster, ClusterPatch, MoveMark, NodeChanges, NodeColumns, PodRows } from "../src/api/types";

export interface MadeNode {
  readonly name: string;
  readonly zone?: number;
  readonly flags?: number;
  readonly cpu?: number;
  readonly load?: number;
  readonly planned?: number;
}

/** Workload, share of cpu and of memory in tenths of a per cent, state. */
export type MadePod = readonly [number, number, number, number];

export function columns(nodes: readonly MadeNode[]): NodeColumns {
  const all = (value: number): number[] => nodes.map(() => value);
  return {
    name: nodes.map((node) => node.name),
    zone: nodes.map((node) => node.zone ?? 0),
    pool: all(0),
    flags: nodes.map((node) => node.flags ?? 0),
    cpu: nodes.map((node) => node.cpu ?? 8000),
    memory: all(32_768),
    capacity: all(110),
    cpuLoad: nodes.map((node) => node.load ?? 500),
    memoryLoad: all(-1),
    cpuPlanned: nodes.map((node) => node.planned ?? node.load ?? 500),
    memoryPlanned: all(-1),
    otherPods: all(0),
    otherCpu: all(0),
    otherMemory: all(0),
  };
}

export function cluster(nodes: readonly MadeNode[], pods: readonly (readonly MadePod[])[], moves: MoveMark[] = []): Cluster {
  const all = pods.flat();
  return {
    version: "1",
    takenAt: "2026-11-19T04:00:00Z",
    loads: "requests",
    zones: ["a", "b"],
    pools: ["general"],
    namespaces: ["shop", "data"],
    kinds: ["Deployment", "StatefulSet"],
    nodes: columns(nodes),
    workloads: { namespace: [0, 0, 1], kind: [0, 0, 1], name: ["web", "cart", "kafka"] },
    pods: {
      perNode: nodes.map((_, at) => pods[at]?.length ?? 0),
      workload: all.map(([workload]) => workload),
      cpu: all.map(([, cpu]) => cpu),
      memory: all.map(([, , memory]) => memory),
      state: all.map(([, , , state]) => state),
    },
    moves,
  };
}

export function rows(of: readonly (readonly [number, MadePod])[]): PodRows {
  return {
    node: of.map(([node]) => node),
    workload: of.map(([, pod]) => pod[0]),
    cpu: of.map(([, pod]) => pod[1]),
    memory: of.map(([, pod]) => pod[2]),
    state: of.map(([, pod]) => pod[3]),
  };
}

export function patch(changes: Partial<ClusterPatch>): ClusterPatch {
  return {
    since: "1",
    version: "2",
    takenAt: "2026-11-19T04:00:01Z",
    zones: [],
    pools: [],
    namespaces: [],
    kinds: [],
    nodes: null,
    workloads: null,
    removed: null,
    added: null,
    moves: null,
    ...changes,
  };
}

export function nodeChanges(of: readonly (readonly [number, MadeNode])[]): NodeChanges {
  return { ...columns(of.map(([, node]) => node)), number: of.map(([number]) => number) };
}

export function mark(from: number, to: number, changes: Partial<MoveMark> = {}): MoveMark {
  return {
    namespace: "shop",
    pod: "web-1",
    uid: `u-${from}-${to}`,
    workload: 0,
    from,
    to,
    state: "planned",
    step: "",
    migration: "",
    ...changes,
  };
}
