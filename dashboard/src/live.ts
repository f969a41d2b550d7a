/** All that the page knows of the server, kept by the stream, and how it is loaded anew. */

import { get, Refused, token } from "./api/client";
import type { ServerEvent } from "./api/sse";
import { connection, Stream } from "./api/stream";
import type {
  Cluster,
  ClusterPatch,
  Hello,
  HistoryPoint,
  Migration,
  MigrationChanges,
  MigrationList,
  Overview,
  Viewer,
} from "./api/types";
import { decode, patched, type ClusterState } from "./state/cluster";
import { merged } from "./state/migrations";
import { store } from "./store";

/** The stream is shared by many, and does not say who looks: that is known from the first answer. */
export type Stands = Omit<Overview, "viewer"> & { readonly viewer: Viewer | null };

export const overview = store<Stands | null>(null);
export const cluster = store<ClusterState | null>(null);
/** Null: nobody has looked at them yet. */
export const migrations = store<readonly Migration[] | null>(null);
/** Each counts up when what it names has to be asked for anew. */
export const planNews = store(0);
export const plansNews = store(0);
export const migrationNews = store<readonly string[]>([]);
export const points = store<readonly HistoryPoint[]>([]);
/** Why the first picture does not come. */
export const trouble = store<Refused | null>(null);

/** Of the points that came since the page was opened; History loads the others. */
const MOST_POINTS = 2000;

let clusterLoad: Promise<void> | undefined;
let waitingPatches: ClusterPatch[] = [];

const stream = new Stream({ event, opened: () => undefined });

export function begin(): void {
  token.listen(() => {
    forget();
    stream.restart();
    void loadOverview();
  });
  void loadOverview();
  void loadCluster();
  stream.start();
}

export function connectNow(): void {
  stream.soon();
}

export async function loadMigrations(): Promise<void> {
  const asker = token.get();
  const list = await get<MigrationList>(["migrations"], { limit: 1000 });
  if (token.get() === asker) migrations.set(merged(list.items, { changed: [], removed: [] }));
}

function forget(): void {
  cluster.set(null);
  overview.set(null);
  migrations.set(null);
  points.set([]);
  clusterLoad = undefined;
  waitingPatches = [];
}

async function event(came: ServerEvent): Promise<void> {
  switch (came.name) {
    case "hello": {
      const hello = JSON.parse(came.data) as Hello;
      connection.set({ is: "open" });
      if (cluster.get()?.version !== hello.version) await loadCluster();
      if (migrations.get()) void loadMigrations().catch(() => undefined);
      planNews.update((count) => count + 1);
      plansNews.update((count) => count + 1);
      // What may be done by whoever looks may have changed meanwhile.
      void loadOverview();
      return;
    }
    case "overview":
      heard(JSON.parse(came.data) as Stands);
      return;
    case "cluster":
      await patch(JSON.parse(came.data) as ClusterPatch);
      return;
    case "migrations": {
      const changes = JSON.parse(came.data) as MigrationChanges;
      const known = migrations.get();
      if (known) migrations.set(merged(known, changes));
      migrationNews.set(changes.changed.map((each) => `${each.namespace}/${each.name}`));
      return;
    }
    case "plans":
      plansNews.update((count) => count + 1);
      return;
    case "plan":
      planNews.update((count) => count + 1);
      return;
    case "history":
      points.update((known) =>
        [...known, JSON.parse(came.data) as HistoryPoint].slice(-MOST_POINTS),
      );
  }
}

async function patch(change: ClusterPatch): Promise<void> {
  if (clusterLoad) {
    waitingPatches.push(change);
    return;
  }
  const known = cluster.get();
  const next = known && patched(known, change);
  if (next) cluster.set(next);
  else if (change.version !== known?.version) await loadCluster();
}

/** Whose answer comes when somebody else has signed in is told nothing of any more. */
async function loadOverview(): Promise<void> {
  const asker = token.get();
  try {
    const stands = await get<Stands>(["overview"]);
    if (token.get() !== asker) return;
    heard(stands);
    trouble.set(null);
  } catch (error) {
    if (error instanceof Refused && token.get() === asker) trouble.set(error);
  }
}

function heard(now: Stands): void {
  overview.update((known) => ({ ...now, viewer: now.viewer ?? known?.viewer ?? null }));
}

/** One at a time; patches that come meanwhile are applied behind it where they fit. */
function loadCluster(): Promise<void> {
  const asker = token.get();
  clusterLoad ??= (async () => {
    try {
      let state = decode(await get<Cluster>(["cluster"]));
      if (token.get() !== asker) return;
      for (const each of waitingPatches) state = patched(state, each) ?? state;
      cluster.set(state);
      trouble.set(null);
    } catch (error) {
      if (error instanceof Refused && token.get() === asker) trouble.set(error);
    } finally {
      if (token.get() === asker) {
        waitingPatches = [];
        clusterLoad = undefined;
      }
    }
  })();
  return clusterLoad;
}
