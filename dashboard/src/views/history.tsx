/** What was: imbalance over time, what plans foretold and what came of it, and how often moves succeed. */

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { History, HistoryPoint, PlanOutcome } from "../api/types";
import { plansNews, points as newPoints } from "../live";
import { useWords } from "../i18n";
import { href, visit } from "../place";
import { useAsked } from "../parts/asked";
import { Card, Empty, Loading, Trouble } from "../parts/basics";
import { Chart, type Line } from "../parts/chart";
import { Table } from "../parts/table";
import { useCalmStore } from "../store";
import { observedOf } from "./observed";
import { PhaseBadge, VerdictBadge } from "./plan";

/** In milliseconds: a simulated day has many passes in a second, and each would draw all charts. */
const REST = 1000;

export function HistoryView(): JSX.Element {
  const { t, number, points, percent, moment, named } = useWords();
  const fresh = useCalmStore(newPoints, REST);
  const news = useCalmStore(plansNews, REST);
  const asked = useAsked<History>(["history"], {}, news);
  const all = useMemo(() => joined(asked.data?.points ?? [], fresh), [asked.data, fresh]);
  const x = useMemo(() => all.map((point) => Date.parse(point.at) / 1000), [all]);
  const imbalance: Line[] = useMemo(
    () =>
      [...new Set(all.flatMap((point) => Object.keys(point.imbalance)))].map((resource, at) => ({
        name: named("resource", resource),
        colour: at ? "series-b" : "series-a",
        dashed: at > 0,
        fill: at === 0,
        values: all.map((point) => point.imbalance[resource] ?? null),
      })),
    [all, named],
  );
  const overloaded: Line[] = useMemo(
    () => [{ name: t("history.overloaded"), colour: "series-c", fill: true, values: all.map((point) => point.overloaded) }],
    [all, t],
  );
  const moves: Line[] = useMemo(
    () => [
      { name: t("history.moved"), colour: "series-d", values: all.map((point) => point.moved) },
      { name: t("history.failed"), colour: "series-c", dashed: true, values: all.map((point) => point.failed) },
    ],
    [all, t],
  );
  const history = asked.data && figured(asked.data, all.at(-1));
  const isKept = asked.data !== null && asked.data.moved + asked.data.failed > 0;
  if (asked.error && !history) return <Trouble error={asked.error} again={asked.again} />;
  if (!history) return <Loading />;
  return (
    <div class="view" data-testid="history">
      <header class="view-head">
        <h1>{t("history.title")}</h1>
      </header>
      <dl class="stats">
        <Figure name={t("history.success")} value={history.successPercent === null ? "–" : percent(history.successPercent)} />
        <Figure name={t(isKept ? "history.movedKept" : "history.moved")} value={number(history.moved)} />
        <Figure name={t("history.failed")} value={number(history.failed)} />
        <Figure name={t("history.gaveWay")} value={number(history.gaveWay)} />
        <Figure
          name={t("history.bounces")}
          value={history.bounces === null ? t("history.bouncesUnknown") : number(history.bounces)}
        />
      </dl>
      <Card title={t("history.imbalance")} id="over-time">
        {all.length ? (
          <>
            <Chart label={t("history.imbalance")} x={x} lines={imbalance} time />
            <details>
              <summary>{t("history.asTable")}</summary>
              <Table<HistoryPoint>
                id="points-table"
                label={t("history.imbalance")}
                rows={[...all].reverse()}
                keyOf={(point) => point.at}
                columns={[
                  { key: "at", title: t("column.ended"), cell: (point) => moment(point.at) },
                  ...["cpu", "memory"].map((resource) => ({
                    key: resource,
                    title: named("resource", resource),
                    numeric: true,
                    cell: (point: HistoryPoint) => points(point.imbalance[resource]),
                  })),
                  { key: "overloaded", title: t("stat.overloaded"), numeric: true, cell: (point) => number(point.overloaded) },
                  { key: "moved", title: t("history.moved"), numeric: true, cell: (point) => number(point.moved) },
                ]}
              />
            </details>
          </>
        ) : (
          <Empty>{t("history.noPoints")}</Empty>
        )}
      </Card>
      {all.length > 0 && (
        <div class="columns">
          <Card title={t("history.overloaded")} id="overloaded">
            <Chart label={t("history.overloaded")} x={x} lines={overloaded} time height={160} />
          </Card>
          <Card title={t("history.moves")} id="moved">
            <Chart label={t("history.moves")} x={x} lines={moves} time height={160} />
          </Card>
        </div>
      )}
      <Card title={t("history.predicted")} id="predicted">
        {history.plans.length ? (
          <Table<PlanOutcome>
            id="outcomes-table"
            label={t("history.predicted")}
            rows={history.plans}
            keyOf={(plan) => plan.name}
            open={(plan) => visit("plan", { plan: plan.name })}
            href={(plan) => href({ view: "plan", query: { plan: plan.name } })}
            columns={[
              { key: "name", title: t("column.plan"), cell: (plan) => plan.name, by: (plan) => plan.name },
              { key: "phase", title: t("column.phase"), cell: (plan) => <PhaseBadge plan={plan} />, by: (plan) => plan.phase },
              { key: "ended", title: t("column.ended"), cell: (plan) => moment(plan.endedAt), by: (plan) => plan.endedAt },
              {
                key: "moves",
                title: t("column.moves"),
                numeric: true,
                cell: (plan) => `${number(plan.moved)} / ${number(plan.total)}`,
                by: (plan) => plan.moved,
              },
              ...["cpu", "memory"].map((resource) => ({
                key: `predicted-${resource}`,
                title: `${t("column.predicted")} (${named("resource", resource)})`,
                numeric: true,
                cell: (plan: PlanOutcome) =>
                  `${points(plan.predicted[resource]?.before)} → ${points(plan.predicted[resource]?.after)}`,
                by: (plan: PlanOutcome) => plan.predicted[resource]?.after ?? null,
              })),
              {
                key: "observed",
                title: t("column.observed"),
                numeric: true,
                cell: (plan) => <Outcome plan={plan} />,
              },
            ]}
          />
        ) : (
          <Empty>{t("history.noPlans")}</Empty>
        )}
      </Card>
    </div>
  );
}

/** Records of moves are deleted when they are old; then what the process has counted is told. */
export function figured(history: History, last: HistoryPoint | undefined): History {
  if (history.moved || history.failed || !last) return history;
  const { moved, failed } = last;
  const successPercent = moved + failed ? (100 * moved) / (moved + failed) : null;
  return { ...history, moved, failed, successPercent };
}

function Outcome(of: { plan: PlanOutcome }): JSX.Element {
  const { t, points, named } = useWords();
  const observed = observedOf(of.plan.observed);
  if (!observed) return <span class="muted">{t("plan.notObserved")}</span>;
  return (
    <span title={observed.message}>
      <VerdictBadge verdict={observed.verdict} />
      {observed.imbalance.map((row) => `${named("resource", row.resource)} ${points(row.measured)}`).join(" · ")}
    </span>
  );
}

/** What was loaded, and behind it what came since. */
export function joined(loaded: readonly HistoryPoint[], fresh: readonly HistoryPoint[]): HistoryPoint[] {
  const last = loaded.at(-1)?.at ?? "";
  return [...loaded, ...fresh.filter((point) => point.at > last)];
}

function Figure(of: { name: string; value: string }): JSX.Element {
  return (
    <div class="stat">
      <dt>{of.name}</dt>
      <dd>{of.value}</dd>
    </div>
  );
}
