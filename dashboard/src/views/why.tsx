/** Why pods stay where they are: reasons in groups, any pod by name, and what would have to change. */

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { PodList, PodRow, RefusedPod, Refusals } from "../api/types";
import { planNews } from "../live";
import { useWords } from "../i18n";
import { choose, href, place, usePlace } from "../place";
import { useAsked } from "../parts/asked";
import { Badge, Card, Empty, Loading, SearchField, Trouble } from "../parts/basics";
import { Table } from "../parts/table";
import { useStore } from "../store";
import { changed } from "../url";
import { PodDetails } from "./pod";

const PAUSE = 250;
const MOST = 200;

export function WhyView(): JSX.Element {
  const { t } = useWords();
  const at = usePlace();
  const [text, setText] = useState(at.query.q ?? "");
  useEffect(() => setText(at.query.q ?? ""), [at.query.q]);
  useEffect(() => {
    const timer = setTimeout(() => choose({ q: text.trim() }, true), PAUSE);
    return () => clearTimeout(timer);
  }, [text]);
  const q = at.query.q ?? "";
  const pod = at.query.pod ?? "";
  const [namespace, name] = pod.split("/");
  return (
    <div class={`view ${pod ? "with-side" : ""}`} data-testid="why">
      <header class="view-head">
        <h1>{t("why.title")}</h1>
        <SearchField id="pod-search" label={t("why.searchLabel")} value={text} type={setText} />
      </header>
      <div class="split">
        <div class="split-main stack">{q ? <Found q={q} chosen={pod} /> : <Groups chosen={pod} />}</div>
        {namespace && name && (
          <aside class="side" aria-labelledby="pod-title" data-testid="pod">
            <header class="panel-head">
              <div>
                <p class="eyebrow">{namespace}</p>
                <h2 id="pod-title">{name}</h2>
              </div>
              <button
                type="button"
                class="quiet close"
                aria-label={t("common.close")}
                onClick={() => choose({ pod: undefined })}
              >
                ✕
              </button>
            </header>
            <div class="panel-body">
              <PodDetails namespace={namespace} name={name} />
            </div>
          </aside>
        )}
      </div>
    </div>
  );
}

function Found(of: { q: string; chosen: string }): JSX.Element {
  const { t, number, named } = useWords();
  const asked = useAsked<PodList>(["pods"], { q: of.q, limit: MOST });
  if (asked.error) return <Trouble error={asked.error} again={asked.again} />;
  if (!asked.data) return <Loading />;
  const { items, total } = asked.data;
  return (
    <Card title={<>{t("why.found")} <span class="count">{number(total)}</span></>} id="found">
      {items.length ? (
        <Table<PodRow>
          id="found-table"
          label={t("why.found")}
          rows={items}
          keyOf={(pod) => `${pod.namespace}/${pod.name}`}
          chosen={of.chosen}
          open={(pod) => choose({ pod: `${pod.namespace}/${pod.name}` })}
          href={(pod) => href(changed(place.get(), { pod: `${pod.namespace}/${pod.name}` }))}
          columns={[
            {
              key: "pod",
              title: t("column.pod"),
              cell: (pod) => (
                <>
                  <span class="pod-name">{pod.name}</span>
                  <span class="muted pod-space">{pod.namespace}</span>
                </>
              ),
              by: (pod) => `${pod.namespace}/${pod.name}`,
            },
            { key: "workload", title: t("column.workload"), cell: (pod) => pod.workload || "–", by: (pod) => pod.workload },
            { key: "node", title: t("column.node"), cell: (pod) => pod.node || "–", by: (pod) => pod.node },
            { key: "state", title: t("column.state"), cell: (pod) => named("podState", pod.state), by: (pod) => pod.state },
            {
              key: "reason",
              title: t("column.reason"),
              wide: true,
              cell: (pod) => (pod.move ? <Badge tone="accent">{`→ ${pod.move.to}`}</Badge> : pod.refusals.join("; ")),
            },
          ]}
        />
      ) : (
        <Empty>{t("why.nothing")}</Empty>
      )}
    </Card>
  );
}

function Groups(of: { chosen: string }): JSX.Element {
  const { t, number, named } = useWords();
  const at = usePlace();
  const news = useStore(planNews);
  const kind = at.query.kind ?? "";
  const reason = kind ? (at.query.reason ?? "") : "";
  const asked = useAsked<Refusals>(
    ["refusals"],
    { kind: kind || undefined, reason: reason || undefined, limit: MOST },
    news,
  );
  if (asked.error && !asked.data) return <Trouble error={asked.error} again={asked.again} />;
  if (!asked.data) return <Loading />;
  const { kinds, items, total } = asked.data;
  if (!kinds.length) return <Card><Empty>{t("why.none")}</Empty></Card>;
  const most = Math.max(1, ...kinds.map((each) => each.count));
  return (
    <>
      <Card title={t("why.groups")} id="kinds">
        <ul class="kinds" data-testid="kinds">
          {kinds.map((each) => (
            <li key={each.kind}>
              <button
                type="button"
                class="kind"
                aria-pressed={each.kind === kind}
                onClick={() => choose({ kind: each.kind === kind ? undefined : each.kind, reason: undefined })}
              >
                <span class="kind-name">{named("kind", each.kind)}</span>
                <span class="kind-bar" aria-hidden="true">
                  <span style={{ width: `${(each.count / most) * 100}%` }} />
                </span>
                <span class="kind-count">{number(each.count)}</span>
                <span class="muted kind-reasons">
                  {each.reasons[0]}
                  {each.reasons.length > 1 && ` ${t("why.others", { count: number(each.reasons.length - 1) })}`}
                </span>
              </button>
              {each.kind === kind && (each.reasons.length > 1 || reason) && (
                <ul class="reasons-of" data-testid="reasons">
                  {each.reasons.map((one) => (
                    <li key={one}>
                      <button
                        type="button"
                        aria-pressed={one === reason}
                        onClick={() => choose({ reason: one === reason ? undefined : one })}
                      >
                        {one}
                      </button>
                    </li>
                  ))}
                </ul>
              )}
            </li>
          ))}
        </ul>
      </Card>
      <Card title={<>{kind ? named("kind", kind) : t("why.allPods")} <span class="count">{number(total)}</span></>} id="refused">
        <Table<RefusedPod>
          id="refused-table"
          label={t("why.pods")}
          rows={items}
          keyOf={(pod) => `${pod.namespace}/${pod.name}`}
          chosen={of.chosen}
          open={(pod) => choose({ pod: `${pod.namespace}/${pod.name}` })}
          href={(pod) => href(changed(place.get(), { pod: `${pod.namespace}/${pod.name}` }))}
          columns={[
            {
              key: "pod",
              title: t("column.pod"),
              cell: (pod) => (
                <>
                  <span class="pod-name">{pod.name}</span>
                  <span class="muted pod-space">{pod.namespace}</span>
                </>
              ),
              by: (pod) => `${pod.namespace}/${pod.name}`,
            },
            {
              key: "reason",
              title: t("column.reason"),
              wide: true,
              cell: (pod) => (
                <>
                  {pod.reasons.join("; ")} {pod.passing && <Badge tone="muted">{t("why.passing")}</Badge>}
                </>
              ),
              by: (pod) => pod.reasons[0] ?? "",
            },
          ]}
        />
      </Card>
    </>
  );
}
