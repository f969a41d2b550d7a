/** What more moves would gain; a plan for each limit is made when somebody asks. */

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { Curve, CurvePoint } from "../api/types";
import { useWords } from "../i18n";
import { useAsked } from "../parts/asked";
import { Card, Command, Loading, Trouble } from "../parts/basics";
import { Chart, type Line } from "../parts/chart";
import { Table } from "../parts/table";

export function CurveCard(): JSX.Element {
  const { t, number, points, named } = useWords();
  const [wanted, setWanted] = useState(false);
  const asked = useAsked<Curve>(wanted ? ["plan", "curve"] : null);
  const curve = asked.data;
  const all = useMemo(() => (curve ? [curve.now, ...curve.points] : []), [curve]);
  const resources = Object.keys(curve?.now.imbalance ?? {});
  const x = useMemo(() => all.map((point) => point.moves), [all]);
  const lines: Line[] = useMemo(
    () =>
      Object.keys(curve?.now.imbalance ?? {}).map((resource, at) => ({
        name: named("resource", resource),
        colour: at ? "series-b" : "series-a",
        dashed: at > 0,
        values: all.map((point) => point.imbalance[resource] ?? null),
      })),
    [all, curve, named],
  );
  const marks = useMemo(
    () =>
      curve?.maxReschedulePods
        ? [{ at: curve.maxReschedulePods, text: t("plan.curveLimit", { limit: curve.maxReschedulePods }) }]
        : [],
    [curve, t],
  );
  return (
    <Card title={t("plan.curve")} id="curve">
      <p class="muted">{t("plan.curveHint")}</p>
      {!wanted && (
        <div class="action">
          <button type="button" onClick={() => setWanted(true)}>
            {t("plan.curveAsk")}
          </button>
          <Command text="rescheduler plan --curve" label={`${t("plan.curveAsk")}: ${t("common.inTerminal")}`} />
        </div>
      )}
      {wanted && asked.loading && !curve && <Loading />}
      {asked.error && <Trouble error={asked.error} again={asked.again} />}
      {curve && (
        <>
          <Chart label={t("plan.curve")} x={x} lines={lines} time={false} marks={marks} />
          <details>
            <summary>{t("history.asTable")}</summary>
            <Table<CurvePoint>
              id="curve-table"
              label={t("plan.curve")}
              rows={all}
              keyOf={(point) => String(point.limit)}
              columns={[
                { key: "moves", title: t("column.moves"), numeric: true, cell: (point) => number(point.moves) },
                ...resources.map((resource) => ({
                  key: resource,
                  title: named("resource", resource),
                  numeric: true,
                  cell: (point: CurvePoint) => points(point.imbalance[resource]),
                })),
                { key: "overloaded", title: t("stat.overloaded"), numeric: true, cell: (point) => number(point.overloaded) },
              ]}
            />
          </details>
          <Command text={curve.command} />
        </>
      )}
    </Card>
  );
}
