/** What was measured after a plan, held against what it promised. Pure. */

export interface Observed {
  readonly verdict: string;
  readonly message: string;
  readonly imbalance: readonly { resource: string; predicted: number | null; measured: number | null }[];
}

/** As it stands in the status of a ReschedulePlan, where shares are texts; null: nothing yet. */
export function observedOf(status: Readonly<Record<string, unknown>> | null): Observed | null {
  if (!status) return null;
  const rows: unknown[] = Array.isArray(status.imbalance) ? status.imbalance : [];
  return {
    verdict: text(status.verdict),
    message: text(status.message),
    imbalance: rows.flatMap((row) => {
      if (typeof row !== "object" || row === null) return [];
      const { resource, predicted, measured } = row as Record<string, unknown>;
      return [{ resource: text(resource), predicted: share(predicted), measured: share(measured) }];
    }),
  };
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function share(value: unknown): number | null {
  const number = typeof value === "string" && value ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : null;
}
