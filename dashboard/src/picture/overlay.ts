/** Draws what lies over the nodes: arrows, pods on their way, where one has arrived, what is chosen. */

import type { Move } from "../state/cluster";
import { bodyOf, boxOf, colourFor, type Context, type Scene } from "./draw";
import { control, eased, onArc, PULSE, type Flight, type Pulse } from "./motion";
import { tileAt } from "./tiles";

export interface Over {
  readonly flights: readonly Flight[];
  readonly pulses: readonly Pulse[];
  readonly chosen: number;
  readonly chosenPod: { readonly node: number; readonly row: number } | null;
  readonly focused: number;
  readonly hovered: number;
  /** Planned moves are drawn, too. */
  readonly plans: boolean;
  readonly still: boolean;
  readonly chosenMove: string;
}

/** More would hide what they are about; those of the chosen node are always drawn. */
const MOST_ARROWS = 250;
const PERIOD = 1600;

/** Whether the next frame will look different by itself. */
export function drawOver(context: Context, scene: Scene, over: Over, now: number): boolean {
  context.clearRect(0, 0, scene.view.width, scene.view.height);
  const moving = arrows(context, scene, over, now);
  for (const pulse of over.pulses) ring(context, scene, pulse, now);
  for (const flight of over.flights) fly(context, scene, flight, now);
  if (over.hovered >= 0 && over.hovered !== over.chosen)
    frame(context, scene, over.hovered, scene.palette.muted, 1.5, 1);
  if (over.chosen >= 0) frame(context, scene, over.chosen, scene.palette.accent, 2.5, 2);
  if (over.focused >= 0) {
    context.setLineDash([3, 2]);
    frame(context, scene, over.focused, scene.palette.text, 2, 5);
    context.setLineDash([]);
  }
  if (over.chosenPod) podFrame(context, scene, over.chosenPod);
  return moving || over.flights.length > 0 || over.pulses.length > 0;
}

function centre(scene: Scene, index: number): { x: number; y: number } {
  const body = bodyOf(scene, index);
  return { x: body.x + body.w / 2, y: body.y + body.h / 2 };
}

function arrows(context: Context, scene: Scene, over: Over, now: number): boolean {
  let moving = false;
  let drawn = 0;
  for (const move of scene.state.moves) {
    if (move.from < 0 || move.to < 0) continue;
    const close = [move.from, move.to].some((each) => each === over.chosen || each === over.hovered);
    if (!close && move.planned && !over.plans) continue;
    if (!close && drawn >= MOST_ARROWS) continue;
    const a = centre(scene, move.from);
    const b = centre(scene, move.to);
    if (Number.isNaN(a.x) || Number.isNaN(b.x) || isOutside(scene, a, b)) continue;
    drawn++;
    const strong = close || move.key === over.chosenMove;
    arrow(context, scene, move, a, b, strong, over.chosen >= 0 && !strong);
    if (move.underWay) {
      moving = !over.still;
      const part = over.still ? 0.5 : ((now + drawn * 137) % PERIOD) / PERIOD;
      traveller(context, scene, move, onArc(a, b, eased(part)));
    }
  }
  return moving;
}

function isOutside(scene: Scene, a: { x: number; y: number }, b: { x: number; y: number }): boolean {
  const { width, height } = scene.view;
  return (
    Math.max(a.x, b.x) < 0 || Math.min(a.x, b.x) > width || Math.max(a.y, b.y) < 0 || Math.min(a.y, b.y) > height
  );
}

function arrow(
  context: Context,
  scene: Scene,
  move: Move,
  a: { x: number; y: number },
  b: { x: number; y: number },
  strong: boolean,
  faint: boolean,
): void {
  const { palette } = scene;
  const c = control(a, b);
  context.globalAlpha = faint ? 0.15 : strong ? 1 : move.planned ? 0.5 : 0.9;
  context.strokeStyle = context.fillStyle = move.planned ? palette.planned : palette.accent;
  context.lineWidth = strong ? 2.2 : move.planned ? 1.1 : 1.8;
  if (move.planned) context.setLineDash([5, 4]);
  context.beginPath();
  context.moveTo(a.x, a.y);
  context.quadraticCurveTo(c.x, c.y, b.x, b.y);
  context.stroke();
  context.setLineDash([]);
  const angle = Math.atan2(b.y - c.y, b.x - c.x);
  const size = strong ? 9 : 6.5;
  context.beginPath();
  context.moveTo(b.x, b.y);
  context.lineTo(b.x - size * Math.cos(angle - 0.45), b.y - size * Math.sin(angle - 0.45));
  context.lineTo(b.x - size * Math.cos(angle + 0.45), b.y - size * Math.sin(angle + 0.45));
  context.closePath();
  context.fill();
  context.globalAlpha = 1;
}

function traveller(context: Context, scene: Scene, move: Move, at: { x: number; y: number }): void {
  const size = Math.min(14, Math.max(5, scene.camera.scale * 9));
  context.fillStyle = colourFor(scene, move.workload);
  context.strokeStyle = scene.palette.surface;
  context.lineWidth = 1.5;
  context.beginPath();
  context.roundRect(at.x - size / 2, at.y - size / 2, size, size, 2);
  context.fill();
  context.stroke();
}

function fly(context: Context, scene: Scene, flight: Flight, now: number): void {
  const part = (now - flight.begins) / flight.lasts;
  if (part < 0 || part > 1) return;
  const a = centre(scene, flight.from);
  const b = centre(scene, flight.to);
  if (Number.isNaN(a.x) || Number.isNaN(b.x)) return;
  const at = onArc(a, b, eased(part));
  const size = Math.min(40, Math.max(7, scene.camera.scale * 16)) * (1 + 0.35 * Math.sin(part * Math.PI));
  context.globalAlpha = part > 0.9 ? (1 - part) * 10 : 1;
  context.shadowColor = "rgba(0,0,0,.35)";
  context.shadowBlur = 10 * Math.sin(part * Math.PI);
  context.shadowOffsetY = 5 * Math.sin(part * Math.PI);
  context.fillStyle = colourFor(scene, flight.workload);
  context.beginPath();
  context.roundRect(at.x - size / 2, at.y - size / 2, size, size, 3);
  context.fill();
  context.shadowColor = "transparent";
  context.strokeStyle = scene.palette.surface;
  context.lineWidth = 1.5;
  context.stroke();
  context.globalAlpha = 1;
}

function ring(context: Context, scene: Scene, pulse: Pulse, now: number): void {
  const part = (now - pulse.begins) / PULSE;
  if (part < 0 || part > 1) return;
  const box = boxOf(scene, pulse.node);
  if (Number.isNaN(box.x)) return;
  const wide = 2 + 8 * part;
  context.globalAlpha = 1 - part;
  context.strokeStyle = scene.palette.good;
  context.lineWidth = 3;
  context.beginPath();
  context.roundRect(box.x - wide, box.y - wide, box.w + 2 * wide, box.h + 2 * wide, 8);
  context.stroke();
  context.globalAlpha = 1;
}

function frame(context: Context, scene: Scene, index: number, colour: string, wide: number, away: number): void {
  const box = boxOf(scene, index);
  if (Number.isNaN(box.x)) return;
  context.strokeStyle = colour;
  context.lineWidth = wide;
  context.beginPath();
  context.roundRect(box.x - away, box.y - away, box.w + 2 * away, box.h + 2 * away, Math.min(7, box.w * 0.06 + away));
  context.stroke();
}

function podFrame(context: Context, scene: Scene, pod: { node: number; row: number }): void {
  const rect = podRect(scene, pod.node, pod.row);
  if (!rect) return;
  context.strokeStyle = scene.palette.text;
  context.lineWidth = 2;
  context.strokeRect(rect.x - 1, rect.y - 1, rect.w + 1, rect.h + 1);
}

function podRect(scene: Scene, index: number, row: number): { x: number; y: number; w: number; h: number } | null {
  const body = bodyOf(scene, index);
  const tiles = scene.tilesOf(index);
  if (Number.isNaN(body.x) || row * 4 + 3 >= tiles.length) return null;
  return {
    x: body.x + (tiles[row * 4] ?? 0) * body.w,
    y: body.y + (tiles[row * 4 + 1] ?? 0) * body.h,
    w: (tiles[row * 4 + 2] ?? 0) * body.w,
    h: (tiles[row * 4 + 3] ?? 0) * body.h,
  };
}

/** The row of the pod that is drawn there on that node; -1: none. */
export function podAt(scene: Scene, index: number, x: number, y: number): number {
  const body = bodyOf(scene, index);
  return tileAt(scene.tilesOf(index), (x - body.x) / body.w, (y - body.y) / body.h);
}
