/** Moves that are carried out, as they go, each with the timeline of its steps and why it failed. */

import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { Refused, token } from "../api/client";
import type { Migration, MigrationDocument, TimelineStep } from "../api/types";
import { secondsBetween } from "../format";
import { loadMigrations, migrationNews, migrations, overview } from "../live";
import { useWords } from "../i18n";
import { choose, href, place, usePlace, visit } from "../place";
import { useAsked } from "../parts/asked";
import { Badge, Card, Choice, Command, Empty, Fact, Facts, Loading, SearchField, Trouble, type Tone } from "../parts/basics";
import { follow, Table, type Column } from "../parts/table";
import { isOver, keyOf } from "../state/migrations";
import { useStore } from "../store";
import { changed, choice } from "../url";
import { NodeLink } from "./planparts";

const PHASES = ["Pending", "InProgress", "Completed", "Failed"] as const;
const TONES: Readonly<Record<string, Tone>> = {
  Pending: "plain",
  InProgress: "accent",
  Completed: "good",
  Failed: "bad",
};

export function MigrationsView(): JSX.Element {
  const { t, number, duration, named } = useWords();
  const at = usePlace();
  const known = useStore(migrations);
  const held = useStore(token);
  const now = useStore(overview)?.now;
  const [error, setError] = useState<Refused | null>(null);
  const phase = choice(at, "phase", ["all", ...PHASES], "all");
  const q = (at.query.q ?? "").toLowerCase();
  const chosen = at.query.name ?? "";
  useEffect(() => {
    if (known) return;
    setError(null);
    loadMigrations().then(
      () => setError(null),
      (reason: unknown) => reason instanceof Refused && setError(reason),
    );
  }, [known, held]);
  const counts = useMemo(() => {
    const found = new Map<string, number>();
    for (const each of known ?? []) found.set(each.phase, (found.get(each.phase) ?? 0) + 1);
    return found;
  }, [known]);
  const rows = (known ?? []).filter(
    (each) =>
      (phase === "all" || each.phase === phase) &&
      `${each.namespace}/${each.pod.name} ${each.from} ${each.to} ${each.strategy} ${each.reason}`.toLowerCase().includes(q),
  );
  const columns: Column<Migration>[] = [
    {
      key: "pod",
      title: t("column.pod"),
      cell: (each) => (
        <>
          <span class="pod-name">{each.pod.name}</span>
          <span class="muted pod-space">{each.namespace}</span>
        </>
      ),
      by: (each) => `${each.namespace}/${each.pod.name}`,
    },
    {
      key: "phase",
      title: t("column.phase"),
      cell: (each) => <Badge tone={TONES[each.phase] ?? "plain"}>{named("phase", each.phase)}</Badge>,
      by: (each) => each.phase,
    },
    {
      key: "step",
      title: t("column.step"),
      cell: (each) => (each.phase === "Failed" ? each.reason : named("step", each.phase === "Completed" ? "Done" : each.step)),
      by: (each) => each.step,
    },
    { key: "from", title: t("column.from"), cell: (each) => each.from || "–", by: (each) => each.from },
    { key: "to", title: t("column.to"), cell: (each) => each.to || "–", by: (each) => each.to },
    { key: "way", title: t("column.way"), cell: (each) => named("way", each.way.toLowerCase()), by: (each) => each.way },
    {
      key: "took",
      title: t("column.took"),
      numeric: true,
      cell: (each) => duration(secondsBetween(each.startedAt, each.endedAt ?? now)),
      by: (each) => secondsBetween(each.startedAt, each.endedAt ?? now),
    },
    {
      key: "age",
      title: t("column.age"),
      numeric: true,
      cell: (each) => duration(secondsBetween(each.createdAt, now)),
      by: (each) => each.createdAt,
    },
  ];
  return (
    <div class={`view ${chosen ? "with-side" : ""}`} data-testid="migrations">
      <header class="view-head">
        <h1>{t("migrations.title")}</h1>
        <div class="toolbar">
          <SearchField label={t("migrations.filter")} value={at.query.q ?? ""} type={(text) => choose({ q: text }, true)} />
          <Choice
            label={t("migrations.phase")}
            id="phase"
            value={phase}
            values={[
              ["all", `${t("common.all")} ${number(known?.length ?? 0)}`] as const,
              ...PHASES.map((each) => [each, `${named("phase", each)} ${number(counts.get(each) ?? 0)}`] as const),
            ]}
            choose={(next) => choose({ phase: next === "all" ? undefined : next })}
          />
        </div>
      </header>
      {error && !known && <Trouble error={error} again={() => void loadMigrations().catch(() => undefined)} />}
      {!known && !error && <Loading />}
      <div class="split">
        {known && (
          <Card class="split-main">
            {rows.length ? (
              <Table
                id="migrations-table"
                label={t("migrations.title")}
                columns={columns}
                rows={rows}
                keyOf={keyOf}
                chosen={chosen}
                open={(each) => choose({ name: keyOf(each) })}
                href={(each) => href(changed(place.get(), { name: keyOf(each) }))}
              />
            ) : (
              <Empty>{known.length ? t("migrations.noneOf") : t("migrations.none")}</Empty>
            )}
          </Card>
        )}
        {chosen && <MigrationDetails name={chosen} />}
      </div>
    </div>
  );
}

function MigrationDetails(of: { name: string }): JSX.Element | null {
  const { t, number, moment, named } = useWords();
  const news = useStore(migrationNews);
  const now = useStore(overview)?.now;
  const [namespace, name] = of.name.split("/");
  // Only what the stream says of this one asks for it again.
  const [count, setCount] = useState(0);
  useEffect(() => {
    if (news.includes(of.name)) setCount((old) => old + 1);
  }, [news, of.name]);
  const asked = useAsked<MigrationDocument>(namespace && name ? ["migrations", namespace, name] : null, {}, count);
  const found = asked.data;
  const it = found?.migration;
  return (
    <aside class="side" aria-labelledby="migration-title" data-testid="migration">
      <header class="panel-head">
        <div>
          <p class="eyebrow">{namespace}</p>
          <h2 id="migration-title">{it?.pod.name ?? name}</h2>
        </div>
        <button
          type="button"
          class="quiet close"
          aria-label={t("common.close")}
          onClick={() => choose({ name: undefined })}
        >
          ✕
        </button>
      </header>
      {asked.error?.status === 404 && <Empty>{t("migrations.gone")}</Empty>}
      {asked.error && asked.error.status !== 404 && <Trouble error={asked.error} again={asked.again} />}
      {!found && !asked.error && <Loading />}
      {found && it && (
        <div class="panel-body">
          <p>
            <Badge tone={TONES[it.phase] ?? "plain"}>{named("phase", it.phase)}</Badge> <NodeLink name={it.from} /> →{" "}
            <NodeLink name={it.to} />
          </p>
          {it.phase === "Failed" && (
            <div class="note bad" data-testid="failed">
              <strong>{t("migrations.failedBecause")}</strong>
              <p>{it.reason}</p>
              <p>{it.message}</p>
            </div>
          )}
          {it.phase !== "Failed" && it.message && <p class="muted">{it.message}</p>}
          <h3>{t("migrations.timeline")}</h3>
          <Timeline steps={found.steps} now={now} over={isOver(it)} failed={it.phase === "Failed"} />
          <Facts>
            <Fact name={t("migrations.why")}>{it.why}</Fact>
            <Fact name={t("column.strategy")}>{it.strategy}</Fact>
            <Fact name={t("column.way")}>{named("way", it.way.toLowerCase())}</Fact>
            <Fact name={t("pod.owner")}>{found.owner}</Fact>
            <Fact name={t("migrations.newPod")}>{it.newPod}</Fact>
            <Fact name={t("migrations.attempt")}>{it.attempt > 1 ? number(it.attempt) : ""}</Fact>
            <Fact name={t("migrations.plan")}>
              {it.plan && (
                <a
                  href={href({ view: "plan", query: { plan: it.plan } })}
                  onClick={(event) => follow(event, () => visit("plan", { plan: it.plan }))}
                >
                  {it.plan}
                </a>
              )}
            </Fact>
            <Fact name={t("column.ended")}>{it.endedAt && moment(it.endedAt)}</Fact>
            <Fact name={t("migrations.holder")}>{found.holder}</Fact>
          </Facts>
          {Object.entries(found.commands).map(([key, text]) => (
            <Command key={key} text={text} />
          ))}
        </div>
      )}
    </aside>
  );
}

function Timeline(of: {
  steps: readonly TimelineStep[];
  now: string | undefined;
  over: boolean;
  failed: boolean;
}): JSX.Element {
  const { t, duration, time, named } = useWords();
  const seconds = of.steps.map((step) => secondsBetween(step.beganAt, step.endedAt ?? (of.over ? null : of.now)) ?? 0);
  const longest = Math.max(1, ...seconds);
  return (
    <ol class="timeline" data-testid="timeline">
      {of.steps.map((step, at) => {
        const last = at === of.steps.length - 1;
        const state = last && of.failed ? "failed" : last && !of.over ? "current" : "done";
        return (
          <li key={`${step.step} ${step.beganAt}`} class={state} aria-current={state === "current" ? "step" : undefined}>
            <span class="step-mark" aria-hidden="true">
              {state === "failed" ? "✕" : state === "current" ? "●" : "✓"}
            </span>
            <span class="step-name">{named("step", step.step)}</span>
            <span class="step-time">
              {time(step.beganAt)} · {state === "current" ? t("migrations.goesOn") : duration(seconds[at])}
            </span>
            <span class="step-bar" aria-hidden="true">
              <span style={{ width: `${((seconds[at] ?? 0) / longest) * 100}%` }} />
            </span>
            {step.words && <span class="step-words muted">{named("stepWords", step.step, step.words)}</span>}
          </li>
        );
      })}
    </ol>
  );
}
