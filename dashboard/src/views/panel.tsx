/** What is chosen in the picture, beside it: a node with its pods, or one of them and why it stays or goes. */

import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { NodeDocument, PodRow } from "../api/types";
import { useWords } from "../i18n";
import { choose, href, place, usePlace } from "../place";
import { useAsked } from "../parts/asked";
import { Badge, Command, Fact, Facts, Loading, LoadBar, SearchField, Trouble, type Tone } from "../parts/basics";
import { follow } from "../parts/table";
import type { Names } from "../picture/draw";
import { countOf, type ClusterState } from "../state/cluster";
import { podOfRow, rowOfPod } from "../state/matching";
import { changed } from "../url";
import { PodDetails } from "./pod";

const STATE_TONES: Readonly<Record<string, Tone>> = {
  ready: "good",
  notReady: "warn",
  ending: "muted",
  copy: "accent",
  leaving: "accent",
  waiting: "warn",
};
const FEWEST_TO_FILTER = 12;
/** A page of the answer; a node has seldom more pods. */
const PODS = 500;

export function Panel(of: {
  state: ClusterState;
  row: number;
  pick: (row: number) => void;
  name: (names: Names | null) => void;
}): JSX.Element {
  const { t } = useWords();
  const { query } = usePlace();
  const node = query.node ?? "";
  const pod = query.pod ?? "";
  const title = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    // Whoever came here by keys goes back to where they were.
    const opener = document.activeElement;
    return () => {
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus({ preventScroll: true });
    };
  }, []);
  useEffect(() => title.current?.focus({ preventScroll: true }), [node, pod]);
  const close = (): void => choose(pod ? { pod: undefined } : { node: undefined, pod: undefined });
  const [namespace, name] = pod.split("/");
  return (
    <aside
      class="panel"
      data-testid="panel"
      aria-labelledby="panel-title"
      onKeyDown={(event) => {
        if (event.key === "Escape") close();
      }}
    >
      <header class="panel-head">
        <div>
          <p class="eyebrow">{pod ? t("pod.title") : t("node.title")}</p>
          <h2 id="panel-title" ref={title} tabIndex={-1}>
            {pod ? name : node}
          </h2>
        </div>
        <button type="button" class="quiet close" aria-label={t("common.close")} onClick={close}>
          ✕
        </button>
      </header>
      <div class="panel-body">
        {pod && namespace && name ? (
          <PodDetails namespace={namespace} name={name} />
        ) : (
          <NodeDetails name={node} state={of.state} row={of.row} pick={of.pick} told={of.name} />
        )}
      </div>
    </aside>
  );
}

function NodeDetails(of: {
  name: string;
  state: ClusterState;
  row: number;
  pick: (row: number) => void;
  told: (names: Names | null) => void;
}): JSX.Element {
  const { t, n, cores, bytes, percent, named } = useWords();
  const index = of.state.nodes.findIndex((each) => each.name === of.name);
  const known = of.state.nodes[index];
  const pods = of.state.pods[index];
  // Asked again when its row of the cluster has changed, which patches make anew.
  const asked = useAsked<NodeDocument>(["nodes", of.name], { limit: PODS }, pods);
  const [filter, setFilter] = useState("");
  const node = asked.data;
  useEffect(() => {
    if (!node || of.row < 0 || !pods) return;
    const picked = podOfRow(of.state, pods, of.row, node.pods);
    if (picked) choose({ pod: `${picked.namespace}/${picked.name}` }, true);
  }, [node, of.row]);
  useEffect(() => {
    if (!node || !pods) return;
    const rows = Array.from({ length: countOf(pods) }, (_, row) => row);
    of.told({ node: node.name, pods: rows.map((row) => podOfRow(of.state, pods, row, node.pods)?.name ?? "") });
  }, [node]);
  if (asked.error?.status === 404) return <p class="empty">{t("node.gone")}</p>;
  if (asked.error && !node) return <Trouble error={asked.error} again={asked.again} />;
  if (!node) return <Loading />;
  const shown = node.pods.filter((pod) => `${pod.namespace}/${pod.name} ${pod.workload}`.includes(filter));
  return (
    <>
      <div class="loads">
        {(["cpu", "memory"] as const).map((resource) => (
          <LoadBar
            key={resource}
            label={named("resource", resource)}
            now={node.load[resource]}
            planned={node.planned[resource]}
            threshold={node.thresholds[resource]}
          />
        ))}
      </div>
      {node.unknown && <p class="note warn">{t("node.unknownLoad", { reason: node.unknown })}</p>}
      <Facts>
        <Fact name={t("column.zone")}>{node.zone}</Fact>
        <Fact name={t("column.pool")}>{node.pool}</Fact>
        <Fact name={t("node.allocatable")}>
          {cores(node.allocatable.cpu ?? 0)} CPU · {bytes(node.allocatable.memory ?? 0)}
        </Fact>
        <Fact name={t("column.state")}>
          <span class="badges">
            <Badge tone={node.ready ? "good" : "bad"}>{node.ready ? t("podState.ready") : t("podState.notReady")}</Badge>
            {node.maintenance && <Badge tone="warn">{t("flag.maintenance")}</Badge>}
            {node.unschedulable && <Badge tone="warn">{t("flag.cordoned")}</Badge>}
          </span>
        </Fact>
        <Fact name={t("node.taints")}>
          {node.taints.map((taint) => `${taint.key}${taint.value && `=${taint.value}`}:${taint.effect}`).join(", ")}
        </Fact>
      </Facts>
      <h3>
        {t("node.pods")} <span class="count">{node.total}</span>
      </h3>
      {node.pods.length > FEWEST_TO_FILTER && (
        <SearchField label={t("node.filterPods")} value={filter} type={setFilter} />
      )}
      <ul class="pods">
        {shown.map((pod) => (
          <li key={pod.uid}>
            <a
              href={href(changed(place.get(), { pod: `${pod.namespace}/${pod.name}` }))}
              onClick={(event) =>
                follow(event, () => {
                  if (pods) of.pick(rowOfPod(of.state, pods, pod, node.pods));
                  choose({ pod: `${pod.namespace}/${pod.name}` });
                })
              }
            >
              <span class="pod-name">{pod.name}</span>
              <span class="pod-more">
                {pod.namespace} · {pod.workload}
              </span>
            </a>
            <span class="pod-share">{percent(pod.share.cpu)}</span>
            <PodMarks pod={pod} />
          </li>
        ))}
      </ul>
      {!node.total && <p class="empty">{t("node.empty")}</p>}
      {node.otherPods > 0 && <p class="muted">{n("node.otherPods", node.otherPods)}</p>}
      <details>
        <summary>{t("node.labels")}</summary>
        <Facts>
          {Object.entries(node.labels).map(([key, value]) => (
            <Fact key={key} name={key}>
              {value || "–"}
            </Fact>
          ))}
        </Facts>
      </details>
      {Object.entries(node.commands).map(([key, text]) => (
        <Command key={key} text={text} />
      ))}
      {known === undefined && <p class="empty">{t("node.gone")}</p>}
    </>
  );
}

function PodMarks(of: { pod: PodRow }): JSX.Element {
  const { t, named } = useWords();
  const { pod } = of;
  return (
    <span class="badges">
      {pod.state !== "ready" && (
        <Badge tone={STATE_TONES[pod.state] ?? "plain"}>{named("podState", pod.state)}</Badge>
      )}
      {pod.move && (
        <Badge tone="accent" title={pod.move.reason}>
          {pod.move.to}
        </Badge>
      )}
      {!pod.move && pod.refusals.length > 0 && (
        <Badge tone="muted" title={pod.refusals.join("\n")}>
          {t("nav.why")}
        </Badge>
      )}
    </span>
  );
}
