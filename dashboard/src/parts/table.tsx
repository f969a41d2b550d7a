/** A table that sorts by its heads, shows a page at a time, and becomes cards on a phone. */

import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { useWords } from "../i18n";

export interface Column<Row> {
  readonly key: string;
  readonly title: string;
  readonly numeric?: boolean;
  readonly cell: (row: Row) => ComponentChildren;
  /** Without it nobody sorts by this column. */
  readonly by?: (row: Row) => string | number | null;
  readonly wide?: boolean;
}

const PAGE = 100;
const names = new Intl.Collator("en", { numeric: true });

export function Table<Row>(of: {
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  /** What a row leads to; its first cell is the link. */
  open?: (row: Row) => void;
  href?: (row: Row) => string;
  chosen?: string;
  first?: string;
  id?: string;
}): JSX.Element {
  const { t, number } = useWords();
  const [order, setOrder] = useState<{ key: string; down: boolean } | null>(
    of.first ? { key: of.first, down: true } : null,
  );
  const [shown, setShown] = useState(PAGE);
  const by = order && of.columns.find((column) => column.key === order.key)?.by;
  const rows = by ? [...of.rows].sort((a, b) => compared(by(a), by(b)) * (order.down ? -1 : 1)) : of.rows;
  return (
    <div class="table-frame">
      <table data-testid={of.id} aria-label={of.label}>
        <thead>
          <tr>
            {of.columns.map((column) => (
              <th
                key={column.key}
                scope="col"
                class={column.numeric ? "numeric" : ""}
                aria-sort={order?.key === column.key ? (order.down ? "descending" : "ascending") : undefined}
              >
                {column.by ? (
                  <button
                    type="button"
                    class="sorter"
                    onClick={() =>
                      setOrder({ key: column.key, down: order?.key === column.key ? !order.down : Boolean(column.numeric) })
                    }
                  >
                    {column.title}
                    <span aria-hidden="true" class="arrow">
                      {order?.key === column.key ? (order.down ? "↓" : "↑") : ""}
                    </span>
                  </button>
                ) : (
                  column.title
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, shown).map((row) => {
            const key = of.keyOf(row);
            return (
              <tr key={key} class={`${key === of.chosen ? "chosen" : ""} ${of.open ? "opens" : ""}`}>
                {of.columns.map((column, at) => (
                  <td
                    key={column.key}
                    data-label={column.title}
                    class={`${column.numeric ? "numeric" : ""} ${column.wide ? "wide" : ""}`}
                  >
                    {at === 0 && of.open && of.href ? (
                      <a
                        href={of.href(row)}
                        aria-current={key === of.chosen ? "true" : undefined}
                        onClick={(event) => follow(event, () => of.open?.(row))}
                      >
                        {column.cell(row)}
                      </a>
                    ) : (
                      column.cell(row)
                    )}
                  </td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
      {rows.length > shown && (
        <p class="more">
          <span>{t("common.of", { shown: number(shown), total: number(rows.length) })}</span>
          <button type="button" onClick={() => setShown(shown + 5 * PAGE)}>
            {t("common.more")}
          </button>
        </p>
      )}
    </div>
  );
}

/** A plain click stays in the page; with a key held it is a link like any other. */
export function follow(event: MouseEvent, go: () => void): void {
  if (event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  go();
}

function compared(a: string | number | null, b: string | number | null): number {
  if (a === b) return 0;
  if (a === null) return -1;
  if (b === null) return 1;
  return typeof a === "number" && typeof b === "number" ? a - b : names.compare(String(a), String(b));
}
