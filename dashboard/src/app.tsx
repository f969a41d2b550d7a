/** The frame of the page: where one can go, how the connection and the cluster stand, and the view. */

import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { token } from "./api/client";
import { connection, type Connection } from "./api/stream";
import { chooseLanguage, LANGUAGES, useWords, type Language } from "./i18n";
import { connectNow, overview, trouble } from "./live";
import { Badge } from "./parts/basics";
import { Boundary } from "./parts/boundary";
import { follow } from "./parts/table";
import { href, usePlace, visit } from "./place";
import { useStore } from "./store";
import { chooseTheme, theme, THEMES } from "./theme";
import { VIEWS, type View } from "./url";
import { ClusterView } from "./views/cluster";
import { HistoryView } from "./views/history";
import { MigrationsView } from "./views/migrations";
import { PlanView } from "./views/plan";
import { SettingsView } from "./views/settings";
import { WhyView } from "./views/why";

const SHOWN: Readonly<Record<View, () => JSX.Element>> = {
  cluster: ClusterView,
  plan: PlanView,
  migrations: MigrationsView,
  why: WhyView,
  history: HistoryView,
  settings: SettingsView,
};

const LANGUAGE_NAMES: Readonly<Record<Language, string>> = { en: "English", zh: "中文" };

export function App(): JSX.Element {
  const { t } = useWords();
  const { view } = usePlace();
  const stands = useStore(overview);
  const Shown = SHOWN[view];
  useEffect(() => {
    const name = t(`nav.${view}`);
    document.title = stands?.cluster ? `${name} · ${stands.cluster}` : `${name} · ${t("app.title")}`;
  }, [view, stands?.cluster, t]);
  return (
    <>
      <a class="skip" href="#content" onClick={(event) => skip(event)}>
        {t("app.skip")}
      </a>
      <header class="top">
        <div class="brand">
          <Mark />
          <span class="brand-name">
            <strong>{[stands?.cluster, t("app.title")].find(Boolean)}</strong>
            {stands && (
              <small>
                {stands.kubernetesVersion && `Kubernetes ${stands.kubernetesVersion} · `}
                {stands.version}
              </small>
            )}
          </span>
        </div>
        <nav aria-label={t("nav.label")}>
          {VIEWS.map((each) => (
            <a
              key={each}
              href={href({ view: each, query: {} })}
              aria-current={each === view ? "page" : undefined}
              onClick={(event) => follow(event, () => visit(each))}
            >
              {t(`nav.${each}`)}
              {each === "migrations" && stands && stands.moves.inProgress > 0 && (
                <span class="nav-count">{stands.moves.inProgress}</span>
              )}
            </a>
          ))}
        </nav>
        <div class="tools">
          <Standing />
          <TokenMenu />
          <Preferences />
        </div>
      </header>
      <Banners />
      <main id="content" tabIndex={-1} class={`main-${view}`}>
        <Boundary key={view} told={(reason) => <Failed reason={reason} />}>
          <Shown />
        </Boundary>
      </main>
    </>
  );
}

function Failed(of: { reason: string }): JSX.Element {
  const { t } = useWords();
  return (
    <div class="note bad" role="alert" data-testid="view-failed">
      <strong>{t("error.view")}</strong>
      <p>{of.reason}</p>
      <button type="button" onClick={() => location.reload()}>
        {t("common.tryAgain")}
      </button>
    </div>
  );
}

function skip(event: MouseEvent): void {
  event.preventDefault();
  document.getElementById("content")?.focus();
}

function Mark(): JSX.Element {
  return (
    <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="7" class="mark-ground" />
      <path d="M6 20h8v6H6zM6 12h8v6H6zM18 20h8v6h-8z" class="mark-pods" />
      <path d="M18 8h8v8h-8z" class="mark-copy" />
      <path d="M10 9c1-4 6-5 9-3" class="mark-way" />
    </svg>
  );
}

/** Live or not, and what the rescheduler may do, in two words. */
function Standing(): JSX.Element {
  const { t, named } = useWords();
  const link = useStore(connection);
  const stands = useStore(overview);
  return (
    <span class="standing" role="status" data-testid="connection" data-state={link.is}>
      {stands && <span class="mode">{named("mode", stands.mode)}</span>}
      {stands?.paused && <Badge tone="warn">{t("status.paused")}</Badge>}
      <span class={`link ${link.is}`}>
        <span class="dot" aria-hidden="true" />
        {link.is === "open" ? t("status.live") : link.is === "connecting" ? t("status.connecting") : t("status.lost")}
      </span>
    </span>
  );
}

function Banners(): JSX.Element {
  const { t, duration } = useWords();
  const link = useStore(connection);
  const stands = useStore(overview);
  return (
    <div class="banners">
      {link.is === "lost" && <Lost link={link} />}
      {link.is === "refused" && (
        <div class="banner bad" role="alert" data-testid="refused">
          <span aria-hidden="true">✕</span>
          <p>
            <strong>{link.status === 401 ? t("status.refused") : t("status.forbidden")}</strong> {link.message}{" "}
            {link.wayOut}
          </p>
        </div>
      )}
      {stands?.blind.map((each) => (
        <div class="banner warn" role="alert" key={each.resource} data-testid="blind">
          <span aria-hidden="true">▲</span>
          <p>{t("status.blindTo", { resource: each.resource, time: duration(each.seconds), reason: each.reason })}</p>
        </div>
      ))}
      {stands?.role === "standing by" && !stands.leader && (
        <div class="banner warn" role="status">
          <span aria-hidden="true">▲</span>
          <p>{t("status.noLeader")}</p>
        </div>
      )}
      {stands?.configurationError && (
        <div class="banner bad" role="alert">
          <span aria-hidden="true">✕</span>
          <p>{t("status.fileError", { message: stands.configurationError })}</p>
        </div>
      )}
      {stands?.paused && (
        <div class="banner warn" role="status">
          <span aria-hidden="true">‖</span>
          <p>
            <strong>{t("status.paused")}:</strong> {stands.paused.words}
          </p>
        </div>
      )}
      {stands && stands.moves.breakerSeconds > 0 && (
        <div class="banner warn" role="status">
          <span aria-hidden="true">▲</span>
          <p>{t("status.breaker", { time: duration(stands.moves.breakerSeconds) })}</p>
        </div>
      )}
      {stands?.window && (
        <div class="banner" role="status">
          <span aria-hidden="true">○</span>
          <p>{t("status.window", { window: stands.window })}</p>
        </div>
      )}
    </div>
  );
}

function Lost(of: { link: Extract<Connection, { is: "lost" }> }): JSX.Element {
  const { t, time } = useWords();
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  const wait = Math.max(0, Math.ceil((of.link.again - now) / 1000));
  return (
    <div class="banner bad" role="alert" data-testid="lost">
      <span aria-hidden="true">✕</span>
      <p>
        {t("status.lostSince", { time: time(of.link.since) })}{" "}
        <span class="muted" aria-live="off">
          {t("status.again", { seconds: wait })}
        </span>
      </p>
      <button type="button" onClick={connectNow}>
        {t("status.now")}
      </button>
    </div>
  );
}

function TokenMenu(): JSX.Element | null {
  const { t } = useWords();
  const stands = useStore(overview);
  const refused = useStore(trouble);
  const link = useStore(connection);
  const held = useStore(token);
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState("");
  const needed = refused?.status === 401 || (link.is === "refused" && link.status === 401);
  useEffect(() => {
    if (needed && !token.get() && !dialog.current?.open) dialog.current?.showModal();
  }, [needed]);
  const viewer = stands?.viewer;
  if (viewer && !viewer.maySignIn && !held) return null;
  const name = held ? (viewer?.name ?? t("token.menu")) : t("token.menu");
  const use = (event: Event): void => {
    event.preventDefault();
    token.set(text.trim());
    setText("");
    dialog.current?.close();
  };
  return (
    <>
      <button
        type="button"
        class="quiet"
        data-testid="token"
        aria-label={`${name}: ${t("token.title")}`}
        onClick={() => dialog.current?.showModal()}
      >
        <svg class="key-icon" viewBox="0 0 16 16" aria-hidden="true">
          <circle cx="5" cy="8" r="3" />
          <path d="M8 8h6.5M12 8v3M14.5 8v2" />
        </svg>
        <span class="token-text">{name}</span>
      </button>
      <dialog ref={dialog} aria-labelledby="token-title">
        <form onSubmit={use}>
          <h2 id="token-title">{t("token.title")}</h2>
          {held && viewer && (
            <p>
              {t("token.asName", { name: viewer.name ?? "–" })},{" "}
              {viewer.mayAct ? t("token.mayAct") : t("token.mayNot")}
            </p>
          )}
          <label class="field">
            <span>{t("token.label")}</span>
            <input
              type="password"
              autocomplete="off"
              spellcheck={false}
              value={text}
              data-testid="token-input"
              onInput={(event) => setText(event.currentTarget.value)}
            />
          </label>
          <p class="muted">{t("token.hint")}</p>
          <div class="dialog-buttons">
            <button type="button" onClick={() => dialog.current?.close()}>
              {t("common.cancel")}
            </button>
            {held && (
              <button
                type="button"
                onClick={() => {
                  token.set("");
                  dialog.current?.close();
                }}
              >
                {t("token.forget")}
              </button>
            )}
            <button type="submit" class="primary" disabled={!text.trim()}>
              {t("token.use")}
            </button>
          </div>
        </form>
      </dialog>
    </>
  );
}

function Preferences(): JSX.Element {
  const { t, language } = useWords();
  const wish = useStore(theme);
  return (
    <>
      <label class="bare">
        <span class="unseen">{t("theme.label")}</span>
        <select
          value={wish}
          data-testid="theme"
          onChange={(event) => {
            const found = THEMES.find((each) => each === event.currentTarget.value);
            if (found) chooseTheme(found);
          }}
        >
          {THEMES.map((each) => (
            <option key={each} value={each}>
              {t(`theme.${each}`)}
            </option>
          ))}
        </select>
      </label>
      <label class="bare">
        <span class="unseen">{t("language.label")}</span>
        <select
          value={language}
          data-testid="language"
          onChange={(event) => {
            const found = LANGUAGES.find((each) => each === event.currentTarget.value);
            if (found) chooseLanguage(found);
          }}
        >
          {LANGUAGES.map((each) => (
            <option key={each} value={each} lang={each}>
              {LANGUAGE_NAMES[each]}
            </option>
          ))}
        </select>
      </label>
    </>
  );
}
