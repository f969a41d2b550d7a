/** One pod: may it move, where to, why not, and what would have to change. As `rescheduler explain pod` says it. */

import type { JSX } from "preact";
import type { PodExplanation } from "../api/types";
import { planNews } from "../live";
import { useWords } from "../i18n";
import { href, visit } from "../place";
import { useAsked } from "../parts/asked";
import { Badge, Command, Fact, Facts, Trouble } from "../parts/basics";
import { follow } from "../parts/table";
import { useStore } from "../store";

const MOST_NODES = 60;

export function PodDetails(of: { namespace: string; name: string }): JSX.Element {
  const { t, cores, bytes, number, named } = useWords();
  const news = useStore(planNews);
  const asked = useAsked<PodExplanation>(["pods", of.namespace, of.name], {}, news);
  const pod = asked.data;
  if (asked.error?.status === 404) return <p class="empty">{t("pod.gone")}</p>;
  if (asked.error && !pod) return <Trouble error={asked.error} again={asked.again} />;
  if (!pod)
    return (
      <p class="empty" role="status">
        <span class="spinner" aria-hidden="true" /> {t("pod.working")}
      </p>
    );
  const fitting = pod.nodes.filter((node) => node.fits);
  const others = pod.nodes.filter((node) => !node.fits);
  return (
    <div class="explained" data-testid="explained">
      {pod.move && (
        <div class="note accent">
          <strong>{t("pod.moves")}</strong>
          <p>
            {pod.move.from} → {pod.move.to} · {pod.move.strategy}
          </p>
          <p>{pod.move.reason}</p>
        </div>
      )}
      {pod.mayMove ? (
        <p>
          <Badge tone="good">{t("pod.mayMove")}</Badge>
        </p>
      ) : (
        <Reasons title={t("pod.stays")} reasons={pod.stays} />
      )}
      {!pod.mayMove && pod.mayMoveWhenAsked && <p class="muted">{t("pod.mayWhenAsked")}</p>}
      {!pod.mayMoveWhenAsked && <Reasons title={t("pod.staysAsked")} reasons={pod.staysWhenAsked} />}
      {!pod.move && <Reasons title={t("pod.refused")} reasons={pod.refusals} />}
      <Remedies pod={pod} />
      <Facts>
        <Fact name={t("column.namespace")}>{of.namespace}</Fact>
        <Fact name={t("pod.owner")}>{pod.owner ? `${pod.owner.kind ?? ""}/${pod.owner.name ?? ""}` : ""}</Fact>
        <Fact name={t("pod.node")}>
          {pod.node && (
            <a
              href={href({ view: "cluster", query: { node: pod.node } })}
              onClick={(event) => follow(event, () => visit("cluster", { node: pod.node ?? "" }))}
            >
              {pod.node}
            </a>
          )}
        </Fact>
        <Fact name={t("column.requests")}>
          {cores(pod.requests.cpu ?? 0)} CPU · {bytes(pod.requests.memory ?? 0)}
        </Fact>
        <Fact name={t("pod.way")}>{pod.way && named("way", pod.way)}</Fact>
        <Fact name="Priority">{pod.priority ? number(pod.priority) : ""}</Fact>
      </Facts>
      {pod.recreated && <p class="muted">{t("pod.recreated", { reason: pod.recreated })}</p>}
      {pod.nodes.length > 0 && (
        <details>
          <summary>
            {t("pod.nodes")} <span class="count">{`${fitting.length} / ${pod.nodes.length}`}</span>
          </summary>
          <ul class="verdicts">
            {[...fitting, ...others].slice(0, MOST_NODES).map((node) => (
              <li key={node.name}>
                <Badge tone={node.fits ? "good" : "muted"}>{node.fits ? t("pod.fits") : t("pod.fitsNot")}</Badge>
                <span class="verdict-name">{node.name}</span>
                {node.reasons.length > 0 && <span class="muted">{node.reasons.join("; ")}</span>}
              </li>
            ))}
          </ul>
        </details>
      )}
      <Command text={pod.command} />
    </div>
  );
}

function Reasons(of: { title: string; reasons: readonly string[] }): JSX.Element | null {
  if (!of.reasons.length) return null;
  return (
    <section class="reasons">
      <h3>{of.title}</h3>
      <ul>
        {of.reasons.map((reason) => (
          <li key={reason}>{reason}</li>
        ))}
      </ul>
    </section>
  );
}

function Remedies(of: { pod: PodExplanation }): JSX.Element | null {
  const { t } = useWords();
  const { pod } = of;
  if (pod.move || (pod.mayMove && !pod.refusals.length && !pod.remedies.length)) return null;
  return (
    <section class="remedies" data-testid="remedies">
      <h3>{t("pod.remedies")}</h3>
      {pod.remedies.length === 0 ? (
        <p class="muted">{pod.nothingHelps ?? t("pod.noRemedies")}</p>
      ) : (
        <ol>
          {pod.remedies.map((changes, at) => (
            <li key={at}>
              {changes.length > 1 && <span class="muted">{t("pod.together")}: </span>}
              {changes.length > 1 ? (
                <ul>
                  {changes.map((change) => (
                    <li key={`${change.kind} ${change.of} ${change.words}`}>{change.words}</li>
                  ))}
                </ul>
              ) : (
                changes[0]?.words
              )}
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}
