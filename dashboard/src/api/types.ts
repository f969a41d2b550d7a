/* Written by `make generate` from docs/openapi.json. */

export interface Acted {
  /** Its name; of an undo, that of the new plan. */
  plan: string;
  message: string;
  /** False: it was so before. */
  changed: boolean;
}

export interface ActionRequest {
  /** Of the plan that was looked at: a namesake is left alone. Empty: whichever has the name. */
  uid?: string;
}

export interface BeforeAfter {
  now: number | null;
  /** When the latest plan is done; null: nothing is left to be done. */
  planned: number | null;
}

export interface Blind {
  resource: string;
  reason: string;
  /** Since nothing is heard of it. */
  seconds: number;
}

export interface Change {
  kind: string;
  of: string;
  words: string;
  amount: number | null;
  details: Record<string, unknown>;
}

export interface Cluster {
  /** Names this state; patches say which one they are against. */
  version: string;
  takenAt: string;
  /** What loads and shares are of: `requests` or `usage`. */
  loads: string;
  zones: string[];
  pools: string[];
  namespaces: string[];
  kinds: string[];
  nodes: NodeColumns;
  workloads: WorkloadColumns;
  pods: PodColumns;
  moves: MoveMark[];
}

/** Applies to the state of version `since` and gives that of `version`; on any other state, load
    `cluster` anew. */
export interface ClusterPatch {
  since: string;
  version: string;
  takenAt: string;
  /** Appended to the list of zones; the same for the next three. */
  zones: string[];
  pools: string[];
  namespaces: string[];
  kinds: string[];
  nodes: NodeChanges | null;
  /** Appended. */
  workloads: WorkloadColumns | null;
  removed: PodRows | null;
  added: PodRows | null;
  /** All of them, where any has changed; null: as before. */
  moves: MoveMark[] | null;
}

/** As in `rescheduler plan --curve -o json`. */
export interface Curve {
  loads: string;
  /** In force; 0: no limit. */
  maxReschedulePods: number;
  inFlight: number;
  now: CurvePoint;
  points: CurvePoint[];
  /** More than the last limit would move nothing more. */
  isWhole: boolean;
  decidedAt: string | null;
  command: string;
}

export interface CurvePoint {
  /** As maxReschedulePods; 0: none is moved. */
  limit: number;
  moves: number;
  asked: number;
  strategies: Record<string, number>;
  imbalance: Record<string, number | null>;
  overloaded: number;
}

export interface Error {
  error: ErrorBody;
}

export interface ErrorBody {
  /** In one word, for programs. */
  code: string;
  /** In words, with nothing of what the asker may not see. */
  message: string;
  /** The parameter, header or field that is wrong. */
  field?: string | null;
  /** What to do about it. */
  wayOut?: string | null;
}

/** The field names the event, its type is what its data is. A comment comes every ten seconds
    when nothing else does. */
export interface Events {
  hello: Hello | null;
  overview: Overview | null;
  cluster: ClusterPatch | null;
  migrations: MigrationChanges | null;
  plans: PlanChanges | null;
  plan: PlanNews | null;
  history: HistoryPoint | null;
  goodbye: Goodbye | null;
}

export interface Goodbye {
  /** `slow`, `access`, `stopping` or `other`: connect again, after a while. */
  reason: string;
}

export interface Hello {
  /** Of the state of `cluster` that the first patch is against: load it when yours is another. */
  version: string;
  serverVersion: string;
}

export interface History {
  /** The oldest first: one a pass, at most some thousand; older ones are thinned out. */
  points: HistoryPoint[];
  /** That have ended, the youngest first. */
  plans: PlanOutcome[];
  /** By the records that are kept; the same for the next two. */
  moved: number;
  failed: number;
  /** Somebody had other plans with the pod. */
  gaveWay: number;
  /** Pods of these plans that moved again within an hour; null: of none that is known yet. */
  bounces: number | null;
  successPercent: number | null;
}

export interface HistoryPoint {
  at: string;
  /** By resource, in points. */
  imbalance: Record<string, number | null>;
  overloaded: number;
  nodes: number;
  pods: number;
  /** Since the process began; the same for the next. */
  moved: number;
  failed: number;
}

export interface ImbalanceNote {
  before: number | null;
  after: number | null;
  most: string;
  least: string;
}

export interface LastPassNote {
  endedAt: string;
  seconds: number | null;
  nodes: number;
  pods: number;
  /** That it decided. */
  moves: number;
  /** Pods that stay, by kind of reason. */
  refused: Record<string, number>;
}

export interface Migration {
  namespace: string;
  name: string;
  uid: string;
  pod: PodName;
  from: string;
  /** Empty: none is chosen yet. */
  to: string;
  way: string;
  strategy: string;
  /** Pending, InProgress, Completed or Failed. */
  phase: string;
  step: string;
  reason: string;
  message: string;
  /** Why it is to move. */
  why: string;
  /** The ReschedulePlan that it is of; empty: of none. */
  plan: string;
  newPod: string;
  attempt: number;
  createdAt: string | null;
  startedAt: string | null;
  endedAt: string | null;
  /** When the step began. */
  stepAt: string | null;
}

export interface MigrationChanges {
  changed: Migration[];
  /** namespace/name. */
  removed: string[];
}

export interface MigrationDocument {
  migration: Migration;
  /** As far as they were seen: a replica that has just begun knows the last one. */
  steps: TimelineStep[];
  /** kind/name of the controller of the pod; empty: nobody, or not known yet. */
  owner: string;
  settings: Record<string, string>;
  /** Which process carries it out, or has. */
  holder: string;
  commands: Record<string, string>;
}

export interface MigrationList {
  /** The youngest first. */
  items: Migration[];
  continue: string;
  total: number;
  /** How many there are of each phase. */
  phases: Record<string, number>;
}

/** An arrow: a pod on its way, or one that the latest plan would send. */
export interface MoveMark {
  namespace: string;
  pod: string;
  uid: string;
  /** Place in `workloads`; -1: not known. */
  workload: number;
  /** Place in `nodes`; -1: that node is not there any more. */
  from: number;
  /** -1: none is chosen yet. */
  to: number;
  /** `planned`, or the phase of its migration in lower case: `pending`, `inProgress`. */
  state: string;
  step: string;
  /** Name of its PodMigration. */
  migration: string;
}

export interface MovesNote {
  inProgress: number;
  /** Their copies serve, and the originals are told to end. */
  ending: number;
  waiting: number;
  allowed: number;
  /** For which none begins, as too many failed in a row. */
  breakerSeconds: number;
}

export interface NodeBeforeAfter {
  name: string;
  eligible: boolean;
  /** Per cent by resource, and `pods`. */
  before: Record<string, number | null>;
  after: Record<string, number | null>;
}

/** Rows of nodes that are new or different, whole; `number` says which. */
export interface NodeChanges {
  name: string[];
  /** Place in `zones`. */
  zone: number[];
  /** Place in `pools`. */
  pool: number[];
  /** Sum of 1: cordoned, 2: in maintenance, 4: not Ready, 8: takes no part in balancing, 16: gone, 32: being deleted, 64: overloaded. */
  flags: number[];
  /** Allocatable, in thousandths of a core. */
  cpu: number[];
  /** The same, in MiB. */
  memory: number[];
  /** Pods that it may have. */
  capacity: number[];
  /** In tenths of a per cent of allocatable; -1: unknown. */
  cpuLoad: number[];
  memoryLoad: number[];
  /** The same, when the latest plan is done. */
  cpuPlanned: number[];
  memoryPlanned: number[];
  /** Pods of namespaces that the viewer may not see. */
  otherPods: number[];
  /** Their share, in tenths of a per cent. */
  otherCpu: number[];
  otherMemory: number[];
  number: number[];
}

/** A row is a node, and keeps its number as long as the version's epoch lasts. */
export interface NodeColumns {
  name: string[];
  /** Place in `zones`. */
  zone: number[];
  /** Place in `pools`. */
  pool: number[];
  /** Sum of 1: cordoned, 2: in maintenance, 4: not Ready, 8: takes no part in balancing, 16: gone, 32: being deleted, 64: overloaded. */
  flags: number[];
  /** Allocatable, in thousandths of a core. */
  cpu: number[];
  /** The same, in MiB. */
  memory: number[];
  /** Pods that it may have. */
  capacity: number[];
  /** In tenths of a per cent of allocatable; -1: unknown. */
  cpuLoad: number[];
  memoryLoad: number[];
  /** The same, when the latest plan is done. */
  cpuPlanned: number[];
  memoryPlanned: number[];
  /** Pods of namespaces that the viewer may not see. */
  otherPods: number[];
  /** Their share, in tenths of a per cent. */
  otherCpu: number[];
  otherMemory: number[];
}

export interface NodeDocument {
  name: string;
  zone: string;
  pool: string;
  labels: Record<string, string>;
  taints: Taint[];
  ready: boolean;
  unschedulable: boolean;
  maintenance: boolean;
  allocatable: Record<string, number>;
  /** Per cent by resource; empty: unknown. */
  load: Record<string, number | null>;
  planned: Record<string, number | null>;
  thresholds: Record<string, number>;
  loads: string;
  /** Why its load is not known; empty: it is. */
  unknown: string;
  pods: PodRow[];
  continue: string;
  total: number;
  /** Of namespaces that the viewer may not see. */
  otherPods: number;
  commands: Record<string, string>;
}

export interface NodeVerdict {
  name: string;
  fits: boolean;
  reasons: string[];
}

export interface Overview {
  /** The name of the cluster where it has one, else what tells it from others. */
  cluster: string;
  kubernetesVersion: string;
  version: string;
  role: string;
  /** Who holds the Lease; empty: nobody, or nobody knows. */
  leader: string;
  mode: string;
  /** Acting is switched on at all (`dashboard.actions`). */
  actions: boolean;
  paused: PauseNote | null;
  intervalSeconds: number;
  lastPass: LastPassNote | null;
  /** What loads are of: `requests` or `usage`. */
  loads: string;
  nodes: number;
  pods: number;
  /** By resource, in points: the most loaded node minus the least. */
  imbalance: Record<string, BeforeAfter>;
  /** Nodes above a threshold. */
  overloaded: BeforeAfter;
  thresholds: Record<string, number>;
  moves: MovesNote;
  blind: Blind[];
  /** When the next one opens; empty: one is open, or there is none. */
  window: string;
  configurationError: string;
  /** Null in the stream, which many share. */
  viewer: Viewer | null;
  story: Story | null;
  /** By the clock of the cluster, which may be virtual. */
  now: string;
}

export interface PauseNote {
  by: string;
  reason: string;
  since: string | null;
  /** All of it, as the command `status` says it. */
  words: string;
}

/** What the last pass decided; null fields: there was none yet. */
export interface Plan {
  decidedAt: string | null;
  loads: string;
  moves: PlannedMove[];
  strategies: StrategyReport[];
  imbalance: Record<string, ImbalanceNote>;
  nodes: NodeBeforeAfter[];
  /** Those of the most pods first. */
  refusals: RefusalGroup[];
  notes: string[];
  steps: number;
  seed: number;
  /** Of its ReschedulePlan; empty: none was written. */
  name: string;
  phase: string;
  /** Which shows or carries out the same in a terminal. */
  command: string;
  /** Of pods that the viewer may not see. */
  hiddenMoves: number;
}

export interface PlanChanges {
  changed: PlanRow[];
  removed: string[];
}

export interface PlanDocument {
  plan: PlanRow;
  loads: string;
  imbalance: Record<string, Predicted>;
  overloaded: Predicted | null;
  nodes: NodeBeforeAfter[];
  moves: PlanMove[];
  hiddenMoves: number;
  /** What was measured afterwards, as in status.observed of the ReschedulePlan; null: nothing yet. */
  observed: Record<string, unknown> | null;
  /** By `approve`, `reject`, `undo`, `show`: the same in a terminal. */
  commands: Record<string, string>;
}

export interface PlanList {
  items: PlanRow[];
  continue: string;
  total: number;
}

export interface PlanMove {
  move: PlannedMove;
  /** Running, Moved, Failed, Skipped, or empty: nothing has become of it yet. */
  state: string;
  migration: string;
  reason: string;
  message: string;
  successor: Successor | null;
}

/** A pass has decided: load `plan` anew, if it is looked at. */
export interface PlanNews {
  decidedAt: string;
  moves: number;
  refusals: number;
}

export interface PlanOutcome {
  name: string;
  endedAt: string | null;
  phase: string;
  reason: string;
  total: number;
  moved: number;
  failed: number;
  skipped: number;
  /** By resource: `before` and `after`. */
  predicted: Record<string, Record<string, number | null>>;
  observed: Record<string, unknown> | null;
}

export interface PlanRow {
  name: string;
  uid: string;
  origin: string;
  mode: string;
  phase: string;
  reason: string;
  message: string;
  summary: string;
  total: number;
  moved: number;
  failed: number;
  skipped: number;
  createdAt: string | null;
  startedAt: string | null;
  endedAt: string | null;
  expiresAt: string | null;
  /** `approved`, `rejected` or empty. */
  decision: string;
  decidedBy: string;
  undoes: string;
  supersededBy: string;
  /** What it would make sense to ask for now: `approve`, `reject`, `undo`. */
  may: string[];
}

/** As in `rescheduler plan -o json`. */
export interface PlannedMove {
  pod: PodName;
  from: string;
  to: string;
  strategy: string;
  reason: string;
  way: string;
  wave: number;
  asked: boolean;
  group: string;
}

/** In the order of the nodes; those on no node come last. */
export interface PodColumns {
  /** How many of the rows below are of each node. */
  perNode: number[];
  /** Place in `workloads`. */
  workload: number[];
  /** Share of the node by what loads are of, in tenths of a per cent, rounded to what is seen. */
  cpu: number[];
  memory: number[];
  /** 0: Ready, 1: starting or not Ready, 2: ending, 3: a copy of ours that is on its way, 4: an original whose copy is there, 5: waits for a node. */
  state: number[];
}

/** As `rescheduler explain pod -o json` says it. */
export interface PodExplanation {
  pod: Record<string, string>;
  node: string | null;
  owner: Record<string, string> | null;
  priority: number;
  requests: Record<string, number>;
  usage: Record<string, number | null>;
  mayMove: boolean;
  stays: string[];
  mayMoveWhenAsked: boolean;
  staysWhenAsked: string[];
  way: string;
  recreated: string;
  group: string[];
  nodes: NodeVerdict[];
  move: PlannedMove | null;
  refusals: string[];
  strategies: Record<string, unknown>[];
  /** Each a set of changes that have to be made together. */
  remedies: Change[][];
  /** Why there is none, in words; null: there is, or it may move already. */
  nothingHelps: string | null;
  command: string;
}

export interface PodList {
  items: PodRow[];
  continue: string;
  total: number;
}

export interface PodName {
  namespace: string;
  name: string;
  uid: string;
}

export interface PodRow {
  namespace: string;
  name: string;
  uid: string;
  /** kind/name; empty: nobody controls it. */
  workload: string;
  node: string;
  requests: Record<string, number>;
  /** Measured; empty: nobody has. */
  usage: Record<string, number | null>;
  /** Of its node, per cent by resource, by what loads are of. */
  share: Record<string, number | null>;
  /** ready, notReady, ending, copy, leaving or waiting. */
  state: string;
  /** Why the last pass left it where it is, when it looked at it. */
  refusals: string[];
  move: PlannedMove | null;
  /** The unfinished one; empty: there is none. */
  migration: string;
}

/** Rows that come or go: the same place in each list is one of them. */
export interface PodRows {
  /** -1: on none. */
  node: number[];
  workload: number[];
  cpu: number[];
  memory: number[];
  state: number[];
}

export interface Predicted {
  before: number | null;
  after: number | null;
}

export interface RefusalGroup {
  reason: string;
  /** Of what sort: Budget, NoNode, Cooldown, ... */
  kind: string;
  count: number;
  /** namespace/name, at most 100 of them. */
  pods: string[];
}

export interface RefusalKindCount {
  kind: string;
  count: number;
  /** The most frequent ones, at most 20. */
  reasons: string[];
}

export interface Refusals {
  /** Those of the most pods first. */
  kinds: RefusalKindCount[];
  /** Of the kind that was asked for, else of all. */
  items: RefusedPod[];
  continue: string;
  total: number;
}

export interface RefusedPod {
  namespace: string;
  name: string;
  reasons: string[];
  /** Nothing but time is needed. */
  passing: boolean;
}

export interface Setting {
  /** As in the file, such as migration.readyTimeout. */
  path: string;
  value: unknown;
  /** flag, environment, file or default; of a demo also simulation. */
  source: string;
  /** The file says something else, which a restart would take up. */
  needsRestart: boolean;
}

export interface Settings {
  items: Setting[];
  /** Why the file was refused; empty: it was not. */
  fileError: string;
  command: string;
}

/** What the demo tells, sentence by sentence. */
export interface Story {
  chapter: number;
  sentence: string;
  /** The last sentence: what came of it. Empty: it goes on. */
  ending: string;
}

export interface StrategyReport {
  name: string;
  acted: boolean;
  summary: string;
  figures: Record<string, number | null>;
}

export interface Successor {
  name: string;
  uid: string;
  node: string;
}

export interface Taint {
  key: string;
  value: string;
  effect: string;
}

export interface TimelineStep {
  step: string;
  beganAt: string;
  /** null: it goes on, or nobody saw its end. */
  endedAt: string | null;
  /** What is done in it. */
  words: string;
}

export interface Viewer {
  /** As the API server knows whoever looks; null: nobody asked who that is. */
  name: string | null;
  /** Else pods of some namespaces are not in what is sent, but in the totals of their nodes. */
  seesEverything: boolean;
  /** By what is known now; each act is asked about again. */
  mayAct: boolean;
  /** A token would be taken. */
  maySignIn: boolean;
  /** It may not act, in words. */
  whyNot: string;
}

/** A row is what pods belong to. Rows are only ever appended within an epoch. */
export interface WorkloadColumns {
  /** Place in `namespaces`. */
  namespace: number[];
  /** Place in `kinds`. */
  kind: number[];
  /** Empty: pods that nobody controls. */
  name: string[];
}
