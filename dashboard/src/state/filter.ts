/** What people type to see less: words and `key:value`, all of which have to hold. Pure. */

import { countOf, has, podOf, type ClusterState, type Node, type Workload } from "./cluster";

export interface Filter {
  readonly isEmpty: boolean;
  /** Of the workloads, those that are meant; null: the words are about nodes only. */
  readonly workloads: ReadonlySet<number> | null;
  node(node: Node): boolean;
}

type Rule = (node: Node) => boolean;

const FLAG_WORDS = {
  cordoned: "cordoned",
  maintenance: "maintenance",
  notready: "notReady",
  overloaded: "overloaded",
} as const;

const COMPARED = /^(cpu|memory|pods)([<>])(\d+(?:\.\d+)?)$/;

export function filterOf(text: string, state: ClusterState): Filter {
  const rules: Rule[] = [];
  let meant: Set<number> | null = null;
  for (const word of text.toLowerCase().split(/\s+/).filter(Boolean)) {
    const compared = COMPARED.exec(word);
    const colon = word.indexOf(":");
    const [key, value] = colon > 0 ? [word.slice(0, colon), word.slice(colon + 1)] : ["", word];
    if (compared) rules.push(comparison(compared, state));
    else if (key === "zone") rules.push((node) => node.zone.toLowerCase() === value);
    else if (key === "pool") rules.push((node) => node.pool.toLowerCase() === value);
    else if (key === "node") rules.push((node) => node.name.toLowerCase().includes(value));
    else if (key === "is") rules.push(flagged(value, state));
    else if (key === "ns") meant = both(meant, matching(state, (each) => each.namespace.toLowerCase() === value));
    else {
      const inNodes = state.nodes.some((node) => node.name.toLowerCase().includes(word));
      const found = matching(state, (each) =>
        `${each.namespace}/${each.name}`.toLowerCase().includes(word),
      );
      if (inNodes && !found.size) rules.push((node) => node.name.toLowerCase().includes(word));
      else meant = both(meant, found);
    }
  }
  if (meant) {
    const wanted = meant;
    rules.push((node) => hosts(state, node, wanted));
  }
  return {
    isEmpty: !rules.length,
    workloads: meant,
    node: (node) => rules.every((rule) => rule(node)),
  };
}

function comparison(found: RegExpExecArray, state: ClusterState): Rule {
  const [, what, sign, number] = found;
  const bound = Number(number);
  const of = (node: Node): number => {
    if (what === "cpu") return node.load.cpu;
    if (what === "memory") return node.load.memory;
    return countOf(state.pods[node.index]) + node.otherPods;
  };
  return (node) => (sign === "<" ? of(node) < bound : of(node) > bound);
}

function flagged(word: string, state: ClusterState): Rule {
  if (word === "moving") {
    const ends = new Set(state.moves.flatMap((move) => [move.from, move.to]));
    return (node) => ends.has(node.index);
  }
  const flag = FLAG_WORDS[word as keyof typeof FLAG_WORDS] as
    | (typeof FLAG_WORDS)[keyof typeof FLAG_WORDS]
    | undefined;
  return (node) => flag !== undefined && has(node, flag);
}

function matching(state: ClusterState, is: (workload: Workload) => boolean): Set<number> {
  return new Set(state.workloads.filter(is).map((each) => each.index));
}

function both(a: Set<number> | null, b: Set<number>): Set<number> {
  return a ? new Set([...a].filter((each) => b.has(each))) : b;
}

function hosts(state: ClusterState, node: Node, wanted: ReadonlySet<number>): boolean {
  const pods = state.pods[node.index];
  if (!pods) return false;
  for (let at = 0; at < countOf(pods); at++) if (wanted.has(podOf(pods, at).workload)) return true;
  return false;
}
