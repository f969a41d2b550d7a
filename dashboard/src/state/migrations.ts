/** PodMigrations as the list shows them: what was loaded, and what the stream says of it. Pure. */

import type { Migration, MigrationChanges } from "../api/types";

/** The page keeps no more than these, however long it is open. */
export const KEPT = 2000;

export function keyOf(migration: Pick<Migration, "namespace" | "name">): string {
  return `${migration.namespace}/${migration.name}`;
}

export function isOver(migration: Pick<Migration, "phase">): boolean {
  return migration.phase === "Completed" || migration.phase === "Failed";
}

/** The youngest first; of too many the oldest that are over are left out. */
export function merged(known: readonly Migration[], changes: MigrationChanges): Migration[] {
  const byKey = new Map(known.map((each) => [keyOf(each), each]));
  for (const key of changes.removed) byKey.delete(key);
  for (const each of changes.changed) byKey.set(keyOf(each), each);
  const all = [...byKey.values()].sort(youngestFirst);
  if (all.length <= KEPT) return all;
  let spare = all.length - KEPT;
  for (let at = all.length - 1; at >= 0 && spare > 0; at--) {
    const each = all[at];
    if (each && isOver(each)) {
      all.splice(at, 1);
      spare--;
    }
  }
  return all.slice(0, KEPT);
}

function youngestFirst(a: Migration, b: Migration): number {
  const [left, right] = [a.createdAt ?? "", b.createdAt ?? ""];
  if (left !== right) return left < right ? 1 : -1;
  return keyOf(a) < keyOf(b) ? -1 : 1;
}
