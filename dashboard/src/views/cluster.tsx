/** The home page: all nodes with their pods, as a picture or as a table, now and after the plan. */

import type { JSX } from "preact";
import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import { cluster, overview, trouble } from "../live";
import { useWords } from "../i18n";
import { choose, usePlace } from "../place";
import { Card, Choice, Empty, Loading, SearchField, Select, Trouble } from "../parts/basics";
import { Canvas } from "../picture/canvas";
import { bandTitle } from "../picture/draw";
import { GROUPINGS, isOverloaded, loadOf, ORDERS, RESOURCES } from "../picture/layout";
import { COLOURINGS } from "../picture/palette";
import type { Names } from "../picture/draw";
import type { Look } from "../picture/picture";
import { countOf, has, type ClusterState } from "../state/cluster";
import { useStore } from "../store";
import { choice } from "../url";
import { Legend } from "./legend";
import { NodeTable } from "./nodetable";
import { Panel } from "./panel";
import { Stats } from "./stats";

const FILTER_PAUSE = 200;
const NO_THRESHOLDS = {};

export function ClusterView(): JSX.Element {
  const words = useWords();
  const { t, n } = words;
  const place = usePlace();
  const state = useStore(cluster);
  const stands = useStore(overview);
  const error = useStore(trouble);
  const asTable = choice(place, "as", ["picture", "table"], "picture") === "table";
  const grouping = choice(place, "group", GROUPINGS, "zone");
  const order = choice(place, "order", ORDERS, "name");
  const resource = choice(place, "size", RESOURCES, "cpu");
  const colouring = choice(place, "colour", COLOURINGS, "workload");
  const planned = choice(place, "when", ["now", "after"], "now") === "after";
  const plans = choice(place, "plans", ["on", "off"], "on") === "on";
  const filter = place.query.q ?? "";
  const chosen = place.query.node ?? "";
  // An address may name a pod alone: where it is says the panel.
  const opened = chosen || (place.query.pod ?? "");
  const thresholds = stands?.thresholds ?? NO_THRESHOLDS;
  const [row, setRow] = useState(-1);
  const [names, setNames] = useState<Names | null>(null);

  const titleOf = useCallback(
    (key: string): string => {
      if (grouping === "load") return bandTitle(key, t("cluster.unknownLoad"));
      if (grouping === "zone") return key || t("cluster.noZone");
      return grouping === "pool" ? key || t("cluster.noPool") : "";
    },
    [grouping, t],
  );
  const key = JSON.stringify(thresholds);
  const look: Look = useMemo(
    () => ({
      grouping,
      order,
      resource,
      colouring,
      planned,
      plans,
      filter,
      chosen,
      chosenRow: row,
      chosenMove: "",
      thresholds,
      titleOf,
      names,
    }),
    [grouping, order, resource, colouring, planned, plans, filter, chosen, row, key, titleOf, names],
  );
  const open = useCallback((node: string, picked: number) => {
    setRow(picked);
    choose({ node, pod: undefined });
  }, []);
  useEffect(() => {
    if (!chosen) setRow(-1);
  }, [chosen]);

  if (!state) return error ? <Trouble error={error} /> : <Loading />;
  const waiting = countOf(state.waiting);
  return (
    <div class={`cluster ${opened ? "with-panel" : ""}`}>
      <h1 class="unseen">{t("cluster.title")}</h1>
      {stands?.story?.sentence && (
        <p class="story" role="status" aria-label={t("demo.story")} data-testid="story">
          <span class="story-mark" aria-hidden="true">
            {stands.story.ending ? "■" : "▶"}
          </span>
          {stands.story.ending || stands.story.sentence}
        </p>
      )}
      <Stats />
      <div class="toolbar" role="group" aria-label={t("cluster.options")}>
        <FilterField />
        <Choice
          label={t("cluster.when")}
          id="when"
          value={planned ? "after" : "now"}
          values={[
            ["now", t("cluster.now")],
            ["after", t("cluster.after")],
          ]}
          choose={(when) => choose({ when: when === "now" ? undefined : when })}
        />
        <Choice
          label={t("cluster.viewAs")}
          id="as"
          value={asTable ? "table" : "picture"}
          values={[
            ["picture", t("cluster.asPicture")],
            ["table", t("cluster.asTable")],
          ]}
          choose={(as) => choose({ as: as === "picture" ? undefined : as })}
        />
        <details class="options">
          <summary>{t("cluster.options")}</summary>
          <div class="options-body">
            <Select
              label={t("cluster.group")}
              id="group"
              value={grouping}
              values={GROUPINGS.map((each) => [each, t(`cluster.group.${each}`)] as const)}
              choose={(group) => choose({ group: group === "zone" ? undefined : group })}
            />
            <Select
              label={t("cluster.order")}
              value={order}
              values={ORDERS.map((each) => [each, t(`cluster.order.${each}`)] as const)}
              choose={(next) => choose({ order: next === "name" ? undefined : next })}
            />
            <Select
              label={t("cluster.size")}
              value={resource}
              values={RESOURCES.map((each) => [each, t(`resource.${each}`)] as const)}
              choose={(size) => choose({ size: size === "cpu" ? undefined : size })}
            />
            <Select
              label={t("cluster.colour")}
              value={colouring}
              values={COLOURINGS.map((each) => [each, t(`cluster.colour.${each}`)] as const)}
              choose={(colour) => choose({ colour: colour === "workload" ? undefined : colour })}
            />
            <label class="check">
              <input
                type="checkbox"
                checked={plans}
                onChange={() => choose({ plans: plans ? "off" : undefined })}
              />
              {t("cluster.plans")}
            </label>
          </div>
        </details>
      </div>
      <div class="stage">
        {asTable ? (
          <Card class="stage-table">
            <NodeTable state={state} filter={filter} planned={planned} thresholds={thresholds} chosen={chosen} />
          </Card>
        ) : (
          <Canvas state={state} look={look} open={open} said={(index) => said(state, index, words, planned, thresholds)} />
        )}
        {opened && <Panel state={state} row={row} pick={setRow} name={setNames} />}
      </div>
      <footer class="under">
        {!asTable && <Legend />}
        <span class="muted">
          {t("cluster.loadsOf", { loads: words.named("loads", state.loads) })}
          {waiting > 0 && ` · ${n("cluster.waitingPods", waiting)}`}
        </span>
      </footer>
      {!state.nodes.some((node) => !has(node, "gone")) && <Empty>{t("cluster.empty")}</Empty>}
    </div>
  );
}

function FilterField(): JSX.Element {
  const { t } = useWords();
  const place = usePlace();
  const [text, setText] = useState(place.query.q ?? "");
  useEffect(() => setText(place.query.q ?? ""), [place.query.q]);
  useEffect(() => {
    // Another picture for each letter would be one too many.
    const timer = setTimeout(() => choose({ q: text.trim() }, true), FILTER_PAUSE);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <SearchField
      id="filter"
      label={t("cluster.filter")}
      hint={t("cluster.filterHint")}
      value={text}
      type={setText}
    />
  );
}

function said(
  state: ClusterState,
  index: number,
  words: ReturnType<typeof useWords>,
  planned: boolean,
  thresholds: Readonly<Record<string, number>>,
): string {
  const node = state.nodes[index];
  if (!node) return "";
  const { t, percent, number, named } = words;
  const flags = (["overloaded", "notReady", "maintenance", "cordoned", "leaving"] as const)
    .filter((flag) => (flag === "overloaded" ? isOverloaded(node, planned, thresholds) : has(node, flag)))
    .map((flag) => named("flag", flag));
  return t("cluster.nodeSaid", {
    name: node.name,
    zone: node.zone || t("cluster.noZone"),
    cpu: percent(known(loadOf(node, "cpu", planned))),
    memory: percent(known(loadOf(node, "memory", planned))),
    pods: number(countOf(state.pods[index]) + node.otherPods),
    flags: flags.length ? `, ${flags.join(", ")}` : "",
  });
}

function known(load: number): number | null {
  return load < 0 ? null : load;
}
