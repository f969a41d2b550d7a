/** What the latest decision and written plans have in common. */

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { NodeBeforeAfter, PlanMove, PlannedMove, RefusalGroup } from "../api/types";
import { useWords } from "../i18n";
import { href, visit } from "../place";
import { Badge, Card, Empty, type Tone } from "../parts/basics";
import { follow, Table, type Column } from "../parts/table";

export interface Shift {
  readonly resource: string;
  readonly before: number | null;
  readonly after: number | null;
  readonly between: string;
}

export function ImbalanceCard(of: { shifts: readonly Shift[] }): JSX.Element {
  const { t, points, difference, named } = useWords();
  const most = Math.max(1, ...of.shifts.flatMap(({ before, after }) => [before ?? 0, after ?? 0]));
  return (
    <Card title={t("plan.imbalance")} id="imbalance">
      <ul class="shifts">
        {of.shifts.map((shift) => (
          <li key={shift.resource}>
            <span class="shift-name">{named("resource", shift.resource)}</span>
            <span class="shift-bars" aria-hidden="true">
              <span class="shift-before" style={{ width: `${((shift.before ?? 0) / most) * 100}%` }} />
              <span class="shift-after" style={{ width: `${((shift.after ?? 0) / most) * 100}%` }} />
            </span>
            <span class="shift-values">
              {points(shift.before)} → <strong>{points(shift.after)}</strong>{" "}
              <small>
                {difference(shift.before === null || shift.after === null ? null : shift.after - shift.before)}
              </small>
            </span>
            {shift.between && <span class="muted shift-between">{shift.between}</span>}
          </li>
        ))}
      </ul>
    </Card>
  );
}

/** Groups of reasons; the rest is asked for. */
const FEW = 10;
const MOVE_TONES: Readonly<Record<string, Tone>> = { Running: "accent", Moved: "good", Failed: "bad", Skipped: "muted" };

type Row = Pick<PlanMove, "move" | "state" | "migration" | "message">;

export function MovesCard(of: { moves: readonly Row[]; hidden: number }): JSX.Element {
  const { t, number, named } = useWords();
  const states = of.moves.some((row) => row.state);
  const columns: Column<Row>[] = [
    {
      key: "pod",
      title: t("column.pod"),
      cell: ({ move }) => <PodLink move={move} />,
      by: ({ move }) => `${move.pod.namespace}/${move.pod.name}`,
    },
    { key: "from", title: t("column.from"), cell: ({ move }) => <NodeLink name={move.from} />, by: ({ move }) => move.from },
    { key: "to", title: t("column.to"), cell: ({ move }) => <NodeLink name={move.to} />, by: ({ move }) => move.to },
    ...(states
      ? [
          {
            key: "state",
            title: t("column.state"),
            cell: ({ state, message, migration, move }: Row) =>
              state ? (
                <a
                  href={href({ view: "migrations", query: migration ? { name: `${move.pod.namespace}/${migration}` } : {} })}
                  onClick={(event) =>
                    follow(event, () =>
                      visit("migrations", migration ? { name: `${move.pod.namespace}/${migration}` } : {}),
                    )
                  }
                >
                  <Badge tone={MOVE_TONES[state] ?? "plain"} title={message}>
                    {named("moveState", state)}
                  </Badge>
                </a>
              ) : (
                "–"
              ),
            by: ({ state }: Row) => state,
          },
        ]
      : []),
    { key: "wave", title: t("column.wave"), numeric: true, cell: ({ move }) => number(move.wave), by: ({ move }) => move.wave },
    { key: "way", title: t("column.way"), cell: ({ move }) => named("way", move.way), by: ({ move }) => move.way },
    {
      key: "strategy",
      title: t("column.strategy"),
      cell: ({ move }) => (
        <>
          {move.strategy}{" "}
          {move.asked && <Badge tone="accent">{t("plan.asked")}</Badge>}
        </>
      ),
      by: ({ move }) => move.strategy,
    },
    { key: "reason", title: t("column.reason"), cell: ({ move }) => move.reason, wide: true },
  ];
  return (
    <Card title={<>{t("plan.moves")} <span class="count">{number(of.moves.length)}</span></>} id="moves">
      <Table
        id="moves-table"
        label={t("plan.moves")}
        columns={columns}
        rows={of.moves}
        keyOf={({ move }) => move.pod.uid || `${move.pod.namespace}/${move.pod.name}`}
      />
      {of.hidden > 0 && <p class="muted">{t("common.hidden", { count: number(of.hidden) })}</p>}
    </Card>
  );
}

function PodLink(of: { move: PlannedMove }): JSX.Element {
  const { pod } = of.move;
  const query = { pod: `${pod.namespace}/${pod.name}` };
  return (
    <a href={href({ view: "why", query })} onClick={(event) => follow(event, () => visit("why", query))}>
      <span class="pod-name">{pod.name}</span>
      <span class="muted pod-space">{pod.namespace}</span>
    </a>
  );
}

export function NodeLink(of: { name: string }): JSX.Element {
  if (!of.name) return <>–</>;
  const query = { node: of.name };
  return (
    <a
      class="node-name"
      href={href({ view: "cluster", query })}
      onClick={(event) => follow(event, () => visit("cluster", query))}
    >
      {of.name}
    </a>
  );
}

export function NodesCard(of: { nodes: readonly NodeBeforeAfter[] }): JSX.Element {
  const { t, percent, difference, named } = useWords();
  const [all, setAll] = useState(false);
  const rows = useMemo(
    () => (all ? of.nodes : of.nodes.filter((node) => resourcesOf(node).some((each) => node.before[each] !== node.after[each]))),
    [of.nodes, all],
  );
  const difOf = (node: NodeBeforeAfter, resource: string): number | null => {
    const [before, after] = [node.before[resource] ?? null, node.after[resource] ?? null];
    return before === null || after === null ? null : after - before;
  };
  const columns: Column<NodeBeforeAfter>[] = [
    { key: "name", title: t("column.node"), cell: (node) => <NodeLink name={node.name} />, by: (node) => node.name },
    ...["cpu", "memory", "pods"].flatMap((resource) => {
      const told = resource === "pods" ? (value: number | null | undefined) => (value ?? "–").toString() : percent;
      const name = named("resource", resource);
      return [
        {
          key: `${resource}-before`,
          title: `${name} · ${t("column.before")}`,
          numeric: true,
          cell: (node: NodeBeforeAfter) => told(node.before[resource]),
          by: (node: NodeBeforeAfter) => node.before[resource] ?? null,
        },
        {
          key: `${resource}-after`,
          title: t("column.after"),
          numeric: true,
          cell: (node: NodeBeforeAfter) => told(node.after[resource]),
          by: (node: NodeBeforeAfter) => node.after[resource] ?? null,
        },
        {
          key: `${resource}-difference`,
          title: t("column.difference"),
          numeric: true,
          cell: (node: NodeBeforeAfter) => <Delta value={difOf(node, resource)} text={resource === "pods" ? signed(difOf(node, resource)) : difference(difOf(node, resource))} />,
          by: (node: NodeBeforeAfter) => difOf(node, resource),
        },
      ];
    }),
  ];
  return (
    <Card
      title={t("plan.nodes")}
      id="before-after"
      aside={
        <label class="check">
          <input type="checkbox" checked={!all} onChange={() => setAll(!all)} /> {t("plan.only")}
        </label>
      }
    >
      {rows.length ? (
        <Table id="before-after-table" label={t("plan.nodes")} columns={columns} rows={rows} keyOf={(node) => node.name} />
      ) : (
        <Empty>{t("common.none")}</Empty>
      )}
    </Card>
  );
}

function resourcesOf(node: NodeBeforeAfter): string[] {
  return Object.keys(node.before);
}

function signed(value: number | null): string {
  if (value === null) return "–";
  return value > 0 ? `+${value}` : String(value);
}

function Delta(of: { value: number | null; text: string }): JSX.Element {
  return <span class={of.value ? (of.value > 0 ? "more-than" : "less-than") : "muted"}>{of.text}</span>;
}

export function BlockersCard(of: { groups: readonly RefusalGroup[] }): JSX.Element {
  const { t, number, named } = useWords();
  const [shown, setShown] = useState(FEW);
  return (
    <Card title={t("plan.blockers")} id="blockers">
      {!of.groups.length && <Empty>{t("why.none")}</Empty>}
      <ul class="blockers">
        {of.groups.slice(0, shown).map((group) => (
          <li key={group.reason}>
            <details>
              <summary>
                <span class="count">{number(group.count)}</span>
                <span class="blocker-reason">{group.reason}</span>
                <span class="muted">{named("kind", group.kind)}</span>
              </summary>
              <ul class="names">
                {group.pods.map((pod) => (
                  <li key={pod}>
                    <a
                      href={href({ view: "why", query: { pod } })}
                      onClick={(event) => follow(event, () => visit("why", { pod }))}
                    >
                      {pod}
                    </a>
                  </li>
                ))}
              </ul>
            </details>
          </li>
        ))}
      </ul>
      {of.groups.length > shown && (
        <p class="more">
          <span>{t("common.of", { shown: number(shown), total: number(of.groups.length) })}</span>
          <button type="button" onClick={() => setShown(shown + 100)}>
            {t("common.more")}
          </button>
        </p>
      )}
    </Card>
  );
}
