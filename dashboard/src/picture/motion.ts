/** What moves in the picture: pods on their way, and where one has arrived. Pure. */

import type { ClusterState, Move } from "../state/cluster";

export interface Flight {
  readonly from: number;
  readonly to: number;
  readonly workload: number;
  readonly begins: number;
  readonly lasts: number;
}

export interface Pulse {
  readonly node: number;
  readonly begins: number;
}

export const PULSE = 1200;
const FLIGHT = 1100;
/** Many at once would be a flicker that nobody reads, and a burden. */
const MOST_FLIGHTS = 120;

/** What became of moves between two states, as it is to be seen. */
export function happened(
  before: ClusterState | null,
  after: ClusterState,
  now: number,
): { flights: Flight[]; pulses: Pulse[] } {
  if (!before || before.moves === after.moves) return { flights: [], pulses: [] };
  const was = new Map(before.moves.map((move) => [move.key, move]));
  const is = new Map(after.moves.map((move) => [move.key, move]));
  const begun = after.moves.filter((move) => {
    const old = was.get(move.key);
    return isUnderWay(move) && (!old || !isUnderWay(old));
  });
  const ended = before.moves.filter((move) => isUnderWay(move) && !is.has(move.key));
  return {
    flights: begun.slice(0, MOST_FLIGHTS).map((move, at) => flight(move, now + at * 40)),
    pulses: ended.slice(0, MOST_FLIGHTS).map((move) => ({ node: move.to, begins: now })),
  };
}

/** All moves of the plan, one after the other, when somebody looks at what it comes to. */
export function rehearsed(state: ClusterState, now: number): Flight[] {
  const moves = state.moves.filter((move) => move.from >= 0 && move.to >= 0).slice(0, MOST_FLIGHTS);
  const step = Math.min(60, 1500 / Math.max(1, moves.length));
  return moves.map((move, at) => flight(move, now + at * step));
}

export function eased(part: number): number {
  const t = Math.min(1, Math.max(0, part));
  return t < 0.5 ? 4 * t * t * t : 1 - (-2 * t + 2) ** 3 / 2;
}

/** A point of the arc between two others, which rises sideways of the line. */
export function onArc(
  a: { x: number; y: number },
  b: { x: number; y: number },
  part: number,
): { x: number; y: number } {
  const c = control(a, b);
  const rest = 1 - part;
  return {
    x: rest * rest * a.x + 2 * rest * part * c.x + part * part * b.x,
    y: rest * rest * a.y + 2 * rest * part * c.y + part * part * b.y,
  };
}

export function control(a: { x: number; y: number }, b: { x: number; y: number }): { x: number; y: number } {
  const dx = b.x - a.x;
  const dy = b.y - a.y;
  const bend = 0.18;
  return { x: (a.x + b.x) / 2 + dy * bend, y: (a.y + b.y) / 2 - Math.abs(dx) * bend };
}

function isUnderWay(move: Move): boolean {
  return move.underWay && move.from >= 0 && move.to >= 0;
}

function flight(move: Move, begins: number): Flight {
  return { from: move.from, to: move.to, workload: move.workload, begins, lasts: FLIGHT };
}
