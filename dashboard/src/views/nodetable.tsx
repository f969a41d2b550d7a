/** The cluster as a table: the same as the picture, for whoever reads rather than looks. */

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { useWords } from "../i18n";
import { choose, href } from "../place";
import { Badge, Empty } from "../parts/basics";
import { Table, type Column } from "../parts/table";
import { isOverloaded } from "../picture/layout";
import { after } from "../state/after";
import { countOf, has, type ClusterState, type Flag, type Node } from "../state/cluster";
import { filterOf } from "../state/filter";
import { changed } from "../url";
import { place } from "../place";

const TONES = { overloaded: "bad", notReady: "bad", maintenance: "warn", cordoned: "warn", leaving: "warn" } as const;

export function NodeTable(of: {
  state: ClusterState;
  filter: string;
  planned: boolean;
  thresholds: Readonly<Record<string, number>>;
  chosen: string;
}): JSX.Element {
  const { t, number, percent, difference } = useWords();
  const { state } = of;
  const rows = useMemo(() => {
    const filter = filterOf(of.filter, state);
    return state.nodes.filter((node) => !has(node, "gone") && (filter.isEmpty || filter.node(node)));
  }, [state, of.filter]);
  const then = useMemo(() => (of.planned ? after(state) : null), [state, of.planned]);
  const pods = (node: Node): number => countOf(then?.pods.get(node.index) ?? state.pods[node.index]) + node.otherPods;
  const load = (node: Node, resource: "cpu" | "memory"): number | null => {
    const value = (of.planned ? node.planned : node.load)[resource];
    return value < 0 ? null : value;
  };
  const change = (node: Node): number | null =>
    node.planned.cpu < 0 || node.load.cpu < 0 ? null : node.planned.cpu - node.load.cpu;
  const columns: Column<Node>[] = [
    { key: "name", title: t("column.node"), cell: (node) => node.name, by: (node) => node.name },
    { key: "zone", title: t("column.zone"), cell: (node) => node.zone || "–", by: (node) => node.zone },
    { key: "pool", title: t("column.pool"), cell: (node) => node.pool || "–", by: (node) => node.pool },
    {
      key: "cpu",
      title: t("resource.cpu"),
      numeric: true,
      cell: (node) => percent(load(node, "cpu")),
      by: (node) => load(node, "cpu"),
    },
    {
      key: "memory",
      title: t("resource.memory"),
      numeric: true,
      cell: (node) => percent(load(node, "memory")),
      by: (node) => load(node, "memory"),
    },
    {
      key: "change",
      title: `${t("column.difference")} (${t("resource.cpu")})`,
      numeric: true,
      cell: (node) => difference(change(node)),
      by: change,
    },
    {
      key: "pods",
      title: t("column.pods"),
      numeric: true,
      cell: (node) => number(pods(node)),
      by: pods,
    },
    { key: "state", title: t("column.state"), cell: (node) => <Flags node={node} overloaded={isOverloaded(node, of.planned, of.thresholds)} /> },
  ];
  if (!rows.length) return <Empty>{t("cluster.empty")}</Empty>;
  return (
    <Table
      id="nodes"
      label={t("stat.nodes")}
      columns={columns}
      rows={rows}
      keyOf={(node) => node.name}
      chosen={of.chosen}
      open={(node) => choose({ node: node.name, pod: undefined })}
      href={(node) => href(changed(place.get(), { node: node.name, pod: undefined }))}
    />
  );
}

export function Flags(of: { node: Node; overloaded: boolean }): JSX.Element {
  const { named } = useWords();
  const flags = (Object.keys(TONES) as (Flag & keyof typeof TONES)[]).filter((flag) =>
    flag === "overloaded" ? of.overloaded : has(of.node, flag),
  );
  return (
    <span class="badges">
      {flags.map((flag) => (
        <Badge key={flag} tone={TONES[flag]}>
          {named("flag", flag)}
        </Badge>
      ))}
    </span>
  );
}
