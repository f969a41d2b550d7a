/** Which tile of the picture is which pod by name: among alike pods, the nth is the nth. Pure. */

import type { PodRow } from "../api/types";
import { countOf, podOf, type ClusterState, type Pods, type Workload } from "./cluster";

export function podOfRow(state: ClusterState, pods: Pods, row: number, named: readonly PodRow[]): PodRow | undefined {
  const workload = state.workloads[podOf(pods, row).workload];
  if (!workload) return undefined;
  return alike(named, workload)[placeOf(pods, row)];
}

export function rowOfPod(state: ClusterState, pods: Pods, pod: PodRow, named: readonly PodRow[]): number {
  const workload = state.workloads.find((each) => isOf(pod, each));
  if (!workload) return -1;
  const place = alike(named, workload).findIndex((each) => each.name === pod.name);
  let at = 0;
  for (let row = 0; row < countOf(pods); row++) {
    if (podOf(pods, row).workload !== workload.index) continue;
    if (at++ === place) return row;
  }
  return -1;
}

function placeOf(pods: Pods, row: number): number {
  const { workload } = podOf(pods, row);
  let place = 0;
  for (let each = 0; each < row; each++) if (podOf(pods, each).workload === workload) place++;
  return place;
}

function alike(named: readonly PodRow[], workload: Workload): PodRow[] {
  const share = (pod: PodRow): number => pod.share.cpu ?? 0;
  return named
    .filter((pod) => isOf(pod, workload))
    .sort((a, b) => share(b) - share(a) || (a.name < b.name ? -1 : 1));
}

function isOf(pod: PodRow, workload: Workload): boolean {
  if (pod.namespace !== workload.namespace) return false;
  return workload.name ? pod.workload === `${workload.kind}/${workload.name}` : !pod.workload;
}
