/** The cluster as it will be when the plan is done, for the picture. Pure. */

import { podOf, sorted, type ClusterState, type Move, type Pods, type Shares } from "./cluster";

export interface After {
  /** Of nodes that the plan changes; others are as they are. */
  readonly pods: ReadonlyMap<number, Pods>;
}

/** Each move takes a pod of its workload off its node; a share grows on a smaller node. */
export function after(state: ClusterState): After {
  const changes = new Map<number, number[]>();
  const podsOf = (index: number): number[] => {
    let pods = changes.get(index);
    if (!pods) changes.set(index, (pods = Array.from(state.pods[index] ?? [])));
    return pods;
  };
  for (const move of state.moves) {
    const from = state.nodes[move.from];
    const to = state.nodes[move.to];
    if (!from || !to) continue;
    const pods = podsOf(move.from);
    const at = findPod(pods, move);
    if (at < 0) continue;
    const pod = podOf(Uint32Array.from(pods.slice(at, at + 2)), 0);
    pods.splice(at, 2);
    // What is under way may have its copy there already.
    if (!move.planned && findCopy(podsOf(move.to), move) >= 0) continue;
    podsOf(move.to).push(pod.workload, shares(pod, from, to));
  }
  return {
    pods: new Map(
      [...changes].map(([index, pods]) => [index, sorted(Uint32Array.from(pods))] as const),
    ),
  };
}

const WORKLOADS = 1 << 24;
const LEAVING = 4;
const COPY = 3;

function findPod(pods: readonly number[], move: Move): number {
  let found = -1;
  for (let at = 0; at < pods.length; at += 2) {
    const first = pods[at] ?? 0;
    if (first % WORKLOADS !== move.workload) continue;
    const state = Math.floor(first / WORKLOADS);
    if (state === LEAVING) return at;
    if (found < 0 && state !== COPY) found = at;
  }
  return found;
}

function findCopy(pods: readonly number[], move: Move): number {
  for (let at = 0; at < pods.length; at += 2)
    if ((pods[at] ?? 0) === COPY * WORKLOADS + move.workload) return at;
  return -1;
}

function shares(pod: Shares, from: Shares, to: Shares): number {
  const scaled = (share: number, here: number, there: number): number =>
    Math.min(0xffff, Math.round(there > 0 ? (share * 10 * here) / there : share * 10));
  return scaled(pod.cpu, from.cpu, to.cpu) * 0x10000 + scaled(pod.memory, from.memory, to.memory);
}
