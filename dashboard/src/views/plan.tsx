/** What the last pass decided, or one written plan: before, after, the moves, and what blocks the others. */

import type { JSX } from "preact";
import type { Plan, PlanDocument, PlanList, PlanRow } from "../api/types";
import { overview, planNews, plansNews } from "../live";
import { useWords } from "../i18n";
import { choose, href, place, usePlace } from "../place";
import { useAsked } from "../parts/asked";
import { Badge, Card, Command, Empty, Loading, Trouble, type Tone } from "../parts/basics";
import { follow, Table, type Column } from "../parts/table";
import { secondsBetween } from "../format";
import { useStore } from "../store";
import { changed } from "../url";
import { Actions } from "./actions";
import { CurveCard } from "./curve";
import { observedOf } from "./observed";
import { BlockersCard, ImbalanceCard, MovesCard, NodesCard, type Shift } from "./planparts";

const PHASE_TONES: Readonly<Record<string, Tone>> = {
  Waiting: "warn",
  Running: "accent",
  Completed: "good",
  Rejected: "muted",
  Expired: "muted",
  Superseded: "muted",
};

export function PlanView(): JSX.Element {
  const { query } = usePlace();
  return query.plan ? <Written name={query.plan} /> : <Latest />;
}

function Latest(): JSX.Element {
  const { t, moment, named } = useWords();
  const news = useStore(planNews);
  const asked = useAsked<Plan>(["plan"], {}, news);
  const plan = asked.data;
  const shifts: Shift[] = plan
    ? Object.entries(plan.imbalance).map(([resource, { before, after, most, least }]) => ({
        resource,
        before,
        after,
        between: most && least ? t("plan.mostLeast", { most, least }) : "",
      }))
    : [];
  return (
    <div class="view" data-testid="plan">
      <header class="view-head">
        <div>
          <h1>{t("plan.title")}</h1>
          <p class="muted">
            {t("plan.latest")}
            {plan?.decidedAt && ` · ${t("plan.decidedAt", { time: moment(plan.decidedAt) })}`}
            {plan && ` · ${t("cluster.loadsOf", { loads: named("loads", plan.loads) })}`}
          </p>
        </div>
        {plan?.name && <PlanLink name={plan.name} phase={plan.phase} />}
      </header>
      {asked.error && <Trouble error={asked.error} again={asked.again} />}
      {!plan && !asked.error && <Loading />}
      {plan && !plan.decidedAt && <Empty>{t("plan.noPass")}</Empty>}
      {plan?.decidedAt && (
        <>
          <ImbalanceCard shifts={shifts} />
          <Command text={plan.command} />
          {plan.moves.length ? (
            <MovesCard moves={plan.moves.map((move) => ({ move, state: "", migration: "", message: "" }))} hidden={plan.hiddenMoves} />
          ) : (
            <Card>
              <Empty>{t("plan.empty")}</Empty>
            </Card>
          )}
          <NodesCard nodes={plan.nodes} />
          <div class="columns">
            <BlockersCard groups={plan.refusals} />
            <div class="column">
              <Card title={t("plan.strategies")} id="strategies">
                <ul class="lines">
                  {plan.strategies.map((strategy) => (
                    <li key={strategy.name}>
                      <Badge tone={strategy.acted ? "good" : "muted"}>{strategy.name}</Badge>
                      <span>{strategy.summary}</span>
                    </li>
                  ))}
                </ul>
                {plan.notes.length > 0 && (
                  <>
                    <h3>{t("plan.notes")}</h3>
                    <ul>
                      {plan.notes.map((note) => (
                        <li key={note}>{note}</li>
                      ))}
                    </ul>
                  </>
                )}
              </Card>
            </div>
          </div>
          <CurveCard />
        </>
      )}
      <PlansCard chosen={plan?.name ?? ""} />
    </div>
  );
}

function Written(of: { name: string }): JSX.Element {
  const { t, moment, named, number, points, difference } = useWords();
  const news = useStore(plansNews);
  const asked = useAsked<PlanDocument>(["plans", of.name], {}, news);
  const shown = asked.data;
  const shifts: Shift[] = shown
    ? Object.entries(shown.imbalance).map(([resource, { before, after }]) => ({ resource, before, after, between: "" }))
    : [];
  const observed = shown && observedOf(shown.observed);
  return (
    <div class="view" data-testid="plan">
      <header class="view-head">
        <div>
          <p class="eyebrow">
            <a
              href={href({ view: "plan", query: {} })}
              onClick={(event) => follow(event, () => choose({ plan: undefined }))}
            >
              ← {t("plan.back")}
            </a>
          </p>
          <h1>{of.name}</h1>
          {shown && (
            <p class="muted">
              <PhaseBadge plan={shown.plan} /> {shown.plan.summary || shown.plan.message}
            </p>
          )}
        </div>
      </header>
      {asked.error && <Trouble error={asked.error} again={asked.again} />}
      {!shown && !asked.error && <Loading />}
      {shown && (
        <>
          <Actions plan={shown.plan} commands={shown.commands} done={asked.again} />
          <p class="muted">
            {t("plan.progress", {
              moved: number(shown.plan.moved),
              failed: number(shown.plan.failed),
              skipped: number(shown.plan.skipped),
              total: number(shown.plan.total),
            })}
            {shown.plan.decision &&
              ` · ${t("plan.decidedBy", { decision: shown.plan.decision, name: shown.plan.decidedBy || "–" })}`}
            {shown.plan.expiresAt && ` · ${t("plan.expires", { time: moment(shown.plan.expiresAt) })}`}
          </p>
          <ImbalanceCard shifts={shifts} />
          <MovesCard moves={shown.moves} hidden={shown.hiddenMoves} />
          <NodesCard nodes={shown.nodes} />
          <Card title={t("plan.predicted")} id="observed">
            {observed ? (
              <>
                <p>
                  <VerdictBadge verdict={observed.verdict} /> {observed.message}
                </p>
                {observed.imbalance.length > 0 && (
                  <Table
                    label={t("plan.predicted")}
                    keyOf={(row) => row.resource}
                    rows={observed.imbalance}
                    columns={[
                      { key: "resource", title: t("plan.imbalance"), cell: (row) => named("resource", row.resource) },
                      { key: "predicted", title: t("column.predicted"), numeric: true, cell: (row) => points(row.predicted) },
                      { key: "observed", title: t("column.observed"), numeric: true, cell: (row) => points(row.measured) },
                      {
                        key: "difference",
                        title: t("column.difference"),
                        numeric: true,
                        cell: (row) =>
                          difference(
                            row.measured === null || row.predicted === null ? null : row.measured - row.predicted,
                          ),
                      },
                    ]}
                  />
                )}
              </>
            ) : (
              <Empty>{t("plan.notObserved")}</Empty>
            )}
          </Card>
        </>
      )}
      <PlansCard chosen={of.name} />
    </div>
  );
}

function PlanLink(of: { name: string; phase: string }): JSX.Element {
  const { named } = useWords();
  return (
    <a
      class="button"
      href={href({ view: "plan", query: { plan: of.name } })}
      onClick={(event) => follow(event, () => choose({ plan: of.name }))}
    >
      {of.name} <Badge tone={PHASE_TONES[of.phase] ?? "plain"}>{named("planPhase", of.phase)}</Badge>
    </a>
  );
}

export function PhaseBadge(of: { plan: Pick<PlanRow, "phase" | "reason"> }): JSX.Element {
  const { named } = useWords();
  const { phase, reason } = of.plan;
  const said = named("planReason", reason);
  return (
    <Badge tone={PHASE_TONES[phase] ?? "plain"} title={reason}>
      {named("planPhase", phase)}
      {said !== reason && `: ${said}`}
    </Badge>
  );
}

const VERDICTS: Readonly<Record<string, Tone>> = { AsPredicted: "good", NotAsPredicted: "bad", Disturbed: "warn" };

export function VerdictBadge(of: { verdict: string }): JSX.Element | null {
  const { named } = useWords();
  if (!of.verdict) return null;
  return <Badge tone={VERDICTS[of.verdict] ?? "muted"}>{named("verdict", of.verdict)}</Badge>;
}

function PlansCard(of: { chosen: string }): JSX.Element {
  const { t, number, duration } = useWords();
  const news = useStore(plansNews);
  const now = useStore(overview)?.now;
  const asked = useAsked<PlanList>(["plans"], { limit: 100 }, news);
  const columns: Column<PlanRow>[] = [
    { key: "name", title: t("column.plan"), cell: (plan) => plan.name, by: (plan) => plan.name },
    { key: "phase", title: t("column.phase"), cell: (plan) => <PhaseBadge plan={plan} />, by: (plan) => plan.phase },
    { key: "summary", title: t("column.result"), cell: (plan) => plan.summary || plan.message, wide: true },
    { key: "total", title: t("column.moves"), numeric: true, cell: (plan) => number(plan.total), by: (plan) => plan.total },
    {
      key: "age",
      title: t("column.age"),
      numeric: true,
      cell: (plan) => duration(secondsBetween(plan.createdAt, now)),
      by: (plan) => plan.createdAt,
    },
  ];
  return (
    <Card title={t("plan.list")} id="plans">
      {asked.error && <Trouble error={asked.error} again={asked.again} />}
      {asked.data && !asked.data.items.length && <Empty>{t("plan.noPlans")}</Empty>}
      {asked.data && asked.data.items.length > 0 && (
        <Table
          id="plans-table"
          label={t("plan.list")}
          columns={columns}
          rows={asked.data.items}
          keyOf={(plan) => plan.name}
          chosen={of.chosen}
          open={(plan) => choose({ plan: plan.name })}
          href={(plan) => href(changed(place.get(), { plan: plan.name }))}
        />
      )}
    </Card>
  );
}
