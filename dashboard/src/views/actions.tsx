/** Approve, reject and undo, with what each does, the command that does the same, and who may. */

import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { post, Refused } from "../api/client";
import type { Acted, PlanRow } from "../api/types";
import { overview } from "../live";
import { useWords } from "../i18n";
import { choose } from "../place";
import { Command, Trouble } from "../parts/basics";
import { useStore } from "../store";

const ACTS = ["approve", "reject", "undo"] as const;
type Act = (typeof ACTS)[number];

export function Actions(of: {
  plan: PlanRow;
  commands: Readonly<Record<string, string>>;
  done: () => void;
}): JSX.Element | null {
  const { t, n } = useWords();
  const stands = useStore(overview);
  const dialog = useRef<HTMLDialogElement>(null);
  const [act, setAct] = useState<Act | null>(null);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Refused | null>(null);
  const [said, setSaid] = useState("");
  const offered = ACTS.filter((each) => of.plan.may.includes(each));
  const mayAct = Boolean(stands?.viewer?.mayAct);
  const why = !stands?.actions
    ? t("plan.actionsOff")
    : stands.viewer?.name === null
      ? t("plan.needsToken")
      : (stands.viewer?.whyNot ?? "");

  const ask = (what: Act): void => {
    setAct(what);
    setError(null);
    dialog.current?.showModal();
  };
  const send = async (what: Act): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      const acted = await post<Acted>(["plans", of.plan.name, what], { uid: of.plan.uid });
      setSaid(t("plan.acted", { plan: acted.plan, message: acted.message }));
      dialog.current?.close();
      of.done();
      if (what === "undo" && acted.plan !== of.plan.name) choose({ plan: acted.plan });
    } catch (reason) {
      if (reason instanceof Refused) setError(reason);
      else throw reason;
    } finally {
      setBusy(false);
    }
  };
  if (!offered.length && !said) return null;
  return (
    <section class="actions" data-testid="actions" aria-label={t("plan.phase")}>
      {offered.map((each) => (
        <div class="action" key={each}>
          <button
            type="button"
            class={each === "approve" ? "primary" : each === "reject" ? "danger" : ""}
            disabled={!mayAct}
            onClick={() => ask(each)}
          >
            {t(`plan.${each}`)}
          </button>
          <Command text={of.commands[each] ?? ""} label={`${t(`plan.${each}`)}: ${t("common.inTerminal")}`} />
        </div>
      ))}
      {!mayAct && offered.length > 0 && <p class="muted">{t("plan.readOnly", { reason: why })}</p>}
      <p class="said" role="status" data-testid="acted">
        {said}
      </p>
      <dialog ref={dialog} aria-labelledby="act-title" onClose={() => setAct(null)}>
        {act && (
          <>
            <h2 id="act-title">{t(`plan.${act}Sure`, { name: of.plan.name })}</h2>
            <p>
              {act === "approve" ? n("plan.approveTells", of.plan.total) : t(act === "reject" ? "plan.rejectTells" : "plan.undoTells")}
            </p>
            <Command text={of.commands[act] ?? ""} />
            {error && <Trouble error={error} />}
            <div class="dialog-buttons">
              <button type="button" onClick={() => dialog.current?.close()}>
                {t("common.cancel")}
              </button>
              <button
                type="button"
                class={act === "reject" ? "danger" : "primary"}
                disabled={busy}
                data-testid="confirm"
                onClick={() => void send(act)}
              >
                {t(`plan.${act}`)}
              </button>
            </div>
          </>
        )}
      </dialog>
    </section>
  );
}
