/** The settings in force, and where each comes from. */

import type { JSX } from "preact";
import type { Setting, Settings } from "../api/types";
import { useWords } from "../i18n";
import { choose, usePlace } from "../place";
import { useAsked } from "../parts/asked";
import { Badge, Card, Command, Empty, Loading, SearchField, Trouble, type Tone } from "../parts/basics";
import { Table } from "../parts/table";

const TONES: Readonly<Record<string, Tone>> = { flag: "accent", environment: "accent", file: "good", default: "muted", simulation: "good" };

export function SettingsView(): JSX.Element {
  const { t, named } = useWords();
  const { query } = usePlace();
  const asked = useAsked<Settings>(["settings"]);
  if (asked.error && !asked.data) return <Trouble error={asked.error} again={asked.again} />;
  if (!asked.data) return <Loading />;
  const q = (query.q ?? "").toLowerCase();
  const changed = query.only === "changed";
  const rows = asked.data.items.filter(
    (each) =>
      (!changed || each.source !== "default") && `${each.path} ${said(each.value)}`.toLowerCase().includes(q),
  );
  return (
    <div class="view" data-testid="settings">
      <header class="view-head">
        <div>
          <h1>{t("settings.title")}</h1>
          <p class="muted">{t("settings.readOnly")}</p>
        </div>
        <div class="toolbar">
          <SearchField label={t("settings.filter")} value={query.q ?? ""} type={(text) => choose({ q: text }, true)} />
          <label class="check">
            <input
              type="checkbox"
              checked={changed}
              onChange={() => choose({ only: changed ? undefined : "changed" })}
            />
            {t("settings.changed")}
          </label>
        </div>
      </header>
      {asked.data.fileError && <p class="note bad" role="alert">{t("status.fileError", { message: asked.data.fileError })}</p>}
      <Command text={asked.data.command} />
      <Card title={t("settings.effective")} id="settings">
        {rows.length ? (
          <Table<Setting>
            id="settings-table"
            label={t("settings.effective")}
            rows={rows}
            keyOf={(each) => each.path}
            columns={[
              { key: "path", title: t("column.setting"), cell: (each) => <code>{each.path}</code>, by: (each) => each.path },
              { key: "value", title: t("column.value"), cell: (each) => <code class="value">{said(each.value)}</code>, wide: true },
              {
                key: "source",
                title: t("column.source"),
                cell: (each) => (
                  <span class="badges">
                    <Badge tone={TONES[each.source] ?? "plain"}>{named("source", each.source)}</Badge>
                    {each.needsRestart && <Badge tone="warn">{t("settings.restart")}</Badge>}
                  </span>
                ),
                by: (each) => each.source,
              },
            ]}
          />
        ) : (
          <Empty>{t("settings.none")}</Empty>
        )}
      </Card>
    </div>
  );
}

function said(value: unknown): string {
  if (typeof value === "string") return value || '""';
  return JSON.stringify(value);
}
