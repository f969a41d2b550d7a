/** How the cluster stands, in a line of figures. */

import type { ComponentChildren, JSX } from "preact";
import { overview } from "../live";
import { useWords } from "../i18n";
import { secondsBetween } from "../format";
import { useStore } from "../store";

export function Stats(): JSX.Element | null {
  const { t, n, number, points, duration, named } = useWords();
  const stands = useStore(overview);
  if (!stands) return null;
  const { imbalance, overloaded, moves } = stands;
  const ago = stands.lastPass && secondsBetween(stands.lastPass.endedAt, stands.now);
  return (
    <dl class="stats" data-testid="stats">
      {Object.entries(imbalance).map(([resource, of]) => (
        <Stat
          key={resource}
          name={t("stat.imbalance", { resource: named("resource", resource) })}
          value={points(of.now)}
          after={of.planned !== null && of.planned !== of.now ? points(of.planned) : undefined}
          tone={of.now !== null && of.planned !== null && of.planned < of.now ? "good" : ""}
        />
      ))}
      <Stat
        name={t("stat.overloaded")}
        value={overloaded.now === null ? "–" : number(overloaded.now)}
        after={
          overloaded.planned !== null && overloaded.planned !== overloaded.now ? number(overloaded.planned) : undefined
        }
        tone={overloaded.now ? "bad" : ""}
      />
      <Stat name={t("stat.nodes")} value={number(stands.nodes)} />
      <Stat name={t("stat.pods")} value={number(stands.pods)} />
      <Stat name={t("stat.moving")} value={number(moves.inProgress)} tone={moves.inProgress ? "accent" : ""} />
      {moves.ending > 0 && <Stat name={t("stat.ending")} value={number(moves.ending)} />}
      {moves.waiting > 0 && <Stat name={t("stat.waiting")} value={number(moves.waiting)} />}
      {stands.lastPass && (
        <Stat name={t("stat.lastPass")} value={n("stat.decided", stands.lastPass.moves)}>
          {t("stat.ago", { time: duration(ago) })}
        </Stat>
      )}
    </dl>
  );
}

function Stat(of: {
  name: string;
  value: string;
  after?: string | undefined;
  tone?: string;
  children?: ComponentChildren;
}): JSX.Element {
  const { t } = useWords();
  return (
    <div class={`stat ${of.tone ?? ""}`}>
      <dt>{of.name}</dt>
      <dd>
        {of.value}
        {of.after !== undefined && (
          <span class="stat-after" title={t("stat.after")}>
            <span aria-label={t("stat.after")}> → </span>
            {of.after}
          </span>
        )}
        {of.children && <small>{of.children}</small>}
      </dd>
    </div>
  );
}
