/** Small things that every view is made of. */

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Refused } from "../api/client";
import { useWords } from "../i18n";

export type Tone = "plain" | "good" | "warn" | "bad" | "accent" | "muted";

/** State is told by a shape and by words, not by its colour alone. */
const SHAPES: Readonly<Record<Tone, string>> = {
  plain: "○",
  good: "✓",
  warn: "▲",
  bad: "✕",
  accent: "➜",
  muted: "–",
};

export function Badge(of: { tone: Tone; children: ComponentChildren; title?: string }): JSX.Element {
  return (
    <span class={`badge ${of.tone}`} title={of.title}>
      <span class="shape" aria-hidden="true">
        {SHAPES[of.tone]}
      </span>
      {of.children}
    </span>
  );
}

export function Card(of: {
  title?: ComponentChildren;
  aside?: ComponentChildren;
  class?: string;
  id?: string;
  children: ComponentChildren;
}): JSX.Element {
  return (
    <section class={`card ${of.class ?? ""}`} id={of.id} aria-labelledby={of.title && of.id ? `${of.id}-title` : undefined}>
      {of.title !== undefined && (
        <header class="card-head">
          <h2 id={of.id && `${of.id}-title`}>{of.title}</h2>
          {of.aside}
        </header>
      )}
      {of.children}
    </section>
  );
}

export function Empty(of: { children: ComponentChildren }): JSX.Element {
  return <p class="empty">{of.children}</p>;
}

export function Loading(): JSX.Element {
  const { t } = useWords();
  return (
    <p class="empty" role="status">
      <span class="spinner" aria-hidden="true" /> {t("common.loading")}
    </p>
  );
}

export function Trouble(of: { error: Refused; again?: () => void }): JSX.Element {
  const { t } = useWords();
  const { body, status } = of.error;
  return (
    <div class="note bad" role="alert">
      <strong>{t("error.title")}</strong>
      <p>{status === 0 ? t("error.unreachable") : body.message}</p>
      {body.wayOut && <p>{t("error.wayOut", { wayOut: body.wayOut })}</p>}
      {of.again && (
        <button type="button" onClick={of.again}>
          {t("common.tryAgain")}
        </button>
      )}
    </div>
  );
}

/** A command that does or shows the same, to be copied. */
export function Command(of: { text: string; label?: string }): JSX.Element | null {
  const { t } = useWords();
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return undefined;
    const timer = setTimeout(() => setCopied(false), 1600);
    return () => clearTimeout(timer);
  }, [copied]);
  if (!of.text) return null;
  return (
    <div class="command" role="group" aria-label={of.label ?? t("common.inTerminal")}>
      <code tabIndex={0}>{of.text}</code>
      <button type="button" class="quiet" onClick={() => void copy(of.text).then(setCopied)}>
        {copied ? `✓ ${t("common.copied")}` : t("common.copy")}
      </button>
    </div>
  );
}

async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Without a secure address there is no clipboard but by a selection.
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "unseen";
    document.body.append(area);
    area.select();
    // eslint-disable-next-line @typescript-eslint/no-deprecated
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

/** One of a few, as buttons side by side. */
export function Choice<T extends string>(of: {
  label: string;
  value: T;
  values: readonly (readonly [T, string])[];
  choose: (value: T) => void;
  id?: string;
}): JSX.Element {
  return (
    <fieldset class="choice" data-testid={of.id}>
      <legend>{of.label}</legend>
      <div class="segments">
        {of.values.map(([value, text]) => (
          <button
            key={value}
            type="button"
            aria-pressed={value === of.value}
            onClick={() => of.choose(value)}
          >
            {text}
          </button>
        ))}
      </div>
    </fieldset>
  );
}

export function Select<T extends string>(of: {
  label: string;
  value: T;
  values: readonly (readonly [T, string])[];
  choose: (value: T) => void;
  id?: string;
}): JSX.Element {
  return (
    <label class="field">
      <span>{of.label}</span>
      <select
        data-testid={of.id}
        value={of.value}
        onChange={(event) => {
          const found = of.values.find(([value]) => value === event.currentTarget.value);
          if (found) of.choose(found[0]);
        }}
      >
        {of.values.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

export function SearchField(of: {
  label: string;
  value: string;
  hint?: string;
  id?: string;
  type: (value: string) => void;
}): JSX.Element {
  return (
    <label class="field search">
      <span>{of.label}</span>
      <input
        type="search"
        autocomplete="off"
        spellcheck={false}
        data-testid={of.id}
        value={of.value}
        placeholder={of.hint}
        onInput={(event) => of.type(event.currentTarget.value)}
      />
    </label>
  );
}

export function Facts(of: { children: ComponentChildren }): JSX.Element {
  return <dl class="facts">{of.children}</dl>;
}

export function Fact(of: { name: string; children: ComponentChildren }): JSX.Element | null {
  if (of.children === "" || of.children === null || of.children === undefined) return null;
  return (
    <div>
      <dt>{of.name}</dt>
      <dd>{of.children}</dd>
    </div>
  );
}

/** A load as a bar with its threshold and where it will be. */
export function LoadBar(of: {
  label: string;
  now: number | null | undefined;
  planned?: number | null | undefined;
  threshold?: number | undefined;
}): JSX.Element {
  const { percent } = useWords();
  const now = of.now ?? null;
  const hot = now !== null && of.threshold !== undefined && now > of.threshold;
  const moved = of.planned !== null && of.planned !== undefined && now !== null && Math.abs(of.planned - now) >= 0.05;
  return (
    <div class="load">
      <span class="load-name">{of.label}</span>
      <span class={`load-bar ${hot ? "hot" : ""}`} aria-hidden="true">
        <span class="load-fill" style={{ width: `${Math.min(100, now ?? 0)}%` }} />
        {of.threshold !== undefined && (
          <span class="load-threshold" style={{ insetInlineStart: `${Math.min(100, of.threshold)}%` }} />
        )}
        {moved && <span class="load-planned" style={{ insetInlineStart: `${Math.min(100, of.planned ?? 0)}%` }} />}
      </span>
      <span class="load-value">
        {hot && <span aria-hidden="true">▲ </span>}
        {percent(now)}
        {moved && <span class="muted"> → {percent(of.planned)}</span>}
      </span>
    </div>
  );
}
