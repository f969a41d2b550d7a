/** What colours and shapes mean. */

import type { JSX } from "preact";
import { useWords } from "../i18n";

export function Legend(): JSX.Element {
  const { t } = useWords();
  return (
    <details class="legend">
      <summary>{t("cluster.legend")}</summary>
      <ul>
        <li><span class="swatch hot" aria-hidden="true">▲</span> {t("legend.hot")}</li>
        <li><span class="swatch warm" aria-hidden="true" /> {t("legend.warm")}</li>
        <li><span class="swatch calm" aria-hidden="true" /> {t("legend.calm")}</li>
        <li><span class="swatch low" aria-hidden="true" /> {t("legend.low")}</li>
        <li><span class="swatch other" aria-hidden="true" /> {t("legend.other")}</li>
        <li><span class="swatch line under-way" aria-hidden="true" /> {t("legend.underWay")}</li>
        <li><span class="swatch line planned" aria-hidden="true" /> {t("legend.planned")}</li>
        <li><span class="swatch tick" aria-hidden="true" /> {t("legend.tick")}</li>
        <li><span class="swatch copy" aria-hidden="true" /> {t("legend.copy")}</li>
        <li><span class="swatch leaving" aria-hidden="true" /> {t("legend.leaving")}</li>
        <li><span class="swatch striped" aria-hidden="true" /> {t("legend.notReady")}</li>
        <li><span class="swatch crossed" aria-hidden="true">✕</span> {t("legend.ending")}</li>
        <li><span class="glyph" aria-hidden="true">⊘</span> {t("legend.cordoned")}</li>
        <li><span class="glyph" aria-hidden="true">◆</span> {t("legend.maintenance")}</li>
        <li><span class="glyph" aria-hidden="true">✕</span> {t("legend.nodeNotReady")}</li>
        <li><span class="glyph" aria-hidden="true">↓</span> {t("legend.deleting")}</li>
      </ul>
    </details>
  );
}
