/** The picture at work: it draws when something has changed, and only that, once a frame. */

import type { ClusterState, Pods } from "../state/cluster";
import { after, type After } from "../state/after";
import { filterOf } from "../state/filter";
import { between, fitted, kept, onto, toPicture, zoomed, type Camera, type Size } from "./camera";
import { draw, forgetColours, type Names, type Scene } from "./draw";
import { BOX, layout, neighbour, nodeAt, type Grouping, type Layout, type Order, type Resource } from "./layout";
import { happened, PULSE, rehearsed, type Flight, type Pulse } from "./motion";
import { drawOver, podAt } from "./overlay";
import { paletteOf, type Colouring, type Palette } from "./palette";
import { tilesOf, type Tiles } from "./tiles";

export interface Look {
  readonly grouping: Grouping;
  readonly order: Order;
  readonly resource: Resource;
  readonly colouring: Colouring;
  readonly planned: boolean;
  readonly plans: boolean;
  readonly filter: string;
  readonly chosen: string;
  readonly chosenRow: number;
  readonly chosenMove: string;
  readonly thresholds: Readonly<Record<string, number>>;
  readonly names: Names | null;
  titleOf(key: string): string;
}

const NO_PODS: Pods = new Uint32Array(0);
const GLIDE = 320;
/** Between two pictures of what merely travels along its arrow: half of what a screen could show. */
const TRAVEL = 30;
/** Narrower boxes are far away. */
const FAR = 60;
/** Of a node that is gone to: pods are told apart. */
const NEAR = 420;

/** What a frame has cost, for whoever measures; the longest since it was last asked for. */
export const frames = { longest: 0, drawn: 0 };

export class Picture {
  private readonly base: CanvasRenderingContext2D;
  private readonly over: CanvasRenderingContext2D;
  private state: ClusterState | null = null;
  private look: Look | null = null;
  private layout: Layout = { width: 0, height: 0, groups: [], order: [], corners: new Float64Array(0) };
  private workloads: ReadonlySet<number> | null = null;
  private camera: Camera = { scale: 1, x: 0, y: 0 };
  private view: Size = { width: 1, height: 1 };
  private palette: Palette;
  private tiles: (Tiles | undefined)[] = [];
  private after: After | null = null;
  private all = true;
  private readonly dirty = new Set<number>();
  private overToo = true;
  private asked = 0;
  private drewOver = 0;
  /** Whether what lies over the nodes looks different in the next frame. */
  private travels = false;
  private flights: Flight[] = [];
  private pulses: Pulse[] = [];
  private glide: { from: Camera; to: Camera; begins: number } | null = null;
  private isFitted = true;
  /** The node that was gone to, until somebody moves on by hand. */
  private aim: { readonly index: number; readonly wide: number } | null = null;
  private hovered = -1;
  focused = -1;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly above: HTMLCanvasElement,
    private readonly still: () => boolean,
  ) {
    const base = canvas.getContext("2d", { alpha: false });
    const over = above.getContext("2d");
    if (!base || !over) throw new Error("this browser draws no canvas");
    this.base = base;
    this.over = over;
    this.palette = paletteOf(canvas);
  }

  stop(): void {
    cancelAnimationFrame(this.asked);
  }

  // -------------------------------------------------------------------- what is shown

  show(state: ClusterState, look: Look): void {
    const [oldState, oldLook] = [this.state, this.look];
    this.state = state;
    this.look = look;
    if (state !== oldState) this.take(oldState, state);
    const other = !oldLook || SAME_PLACES.some((key) => oldLook[key] !== look[key]);
    // In an order by load boxes would jump at each change; it is taken anew when it is asked for.
    const lives = state.layoutChanged || !oldState || look.filter !== "" || look.grouping === "load";
    if (other || (state !== oldState && lives)) this.arrange();
    if (oldLook?.resource !== look.resource || oldLook.planned !== look.planned) {
      this.after = look.planned ? after(state) : null;
      this.tiles = [];
      if (oldLook && !oldLook.planned && look.planned && !this.still())
        this.flights.push(...rehearsed(state, performance.now()));
      this.all = true;
    }
    if (SAME_LOOKS.some((key) => oldLook?.[key] !== look[key])) this.all = true;
    if (!oldState && look.chosen) this.find(look.chosen);
    this.overToo = true;
    this.ask();
  }

  /** Of thousands, one that an address names is not seen from afar. */
  private find(name: string): void {
    const index = this.state?.nodes.findIndex((node) => node.name === name) ?? -1;
    if (index >= 0 && this.camera.scale * BOX.width < FAR) this.goTo(index);
  }

  private take(before: ClusterState | null, now: ClusterState): void {
    if (!now.dirty || !before) {
      this.tiles = [];
      this.all = true;
      forgetColours();
    } else {
      for (const index of now.dirty) {
        this.tiles[index] = undefined;
        this.dirty.add(index);
      }
    }
    if (this.look?.planned) {
      // The plan or what it is about has changed.
      this.after = after(now);
      this.tiles = [];
      this.all = true;
    }
    // Nobody would see them, and they would pile up.
    if (this.still() || document.hidden) return;
    const { flights, pulses } = happened(before, now, performance.now());
    this.flights.push(...flights);
    this.pulses.push(...pulses);
  }

  private arrange(): void {
    const { state, look } = this;
    if (!state || !look) return;
    const filter = filterOf(look.filter, state);
    this.workloads = filter.workloads;
    this.layout = layout(state, {
      grouping: look.grouping,
      order: look.order,
      resource: look.resource,
      planned: look.planned,
      aspect: this.view.width / this.view.height,
      shown: filter.isEmpty ? () => true : (node) => filter.node(node),
    });
    if (this.isFitted) this.camera = fitted(this.layout, this.view);
    else this.camera = kept(this.camera, this.layout, this.view);
    this.all = true;
  }

  resize(width: number, height: number): void {
    const ratio = Math.min(2, devicePixelRatio || 1);
    this.view = { width: Math.max(1, width), height: Math.max(1, height) };
    for (const [canvas, context] of [
      [this.canvas, this.base],
      [this.above, this.over],
    ] as const) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
    }
    this.arrange();
    const { aim } = this;
    if (aim) {
      // What somebody went to stays in the middle when a panel opens beside it.
      this.lookAt(aim.index, aim.wide, false);
      this.aim = aim;
    }
    this.overToo = true;
    this.ask();
  }

  recolour(): void {
    this.palette = paletteOf(this.canvas);
    forgetColours();
    this.all = this.overToo = true;
    this.ask();
  }

  // -------------------------------------------------------------------- the camera

  zoom(factor: number, x = this.view.width / 2, y = this.view.height / 2): void {
    this.moveTo(zoomed(this.camera, factor, { x, y }), false);
  }

  pan(dx: number, dy: number): void {
    this.moveTo({ ...this.camera, x: this.camera.x + dx, y: this.camera.y + dy }, false);
  }

  fit(): void {
    this.moveTo(fitted(this.layout, this.view), true);
    this.isFitted = true;
  }

  goTo(index: number, wide = NEAR): void {
    this.lookAt(index, wide, true);
    this.aim = { index, wide };
  }

  private lookAt(index: number, wide: number, gently: boolean): void {
    const x = this.layout.corners[index * 2] ?? NaN;
    const y = this.layout.corners[index * 2 + 1] ?? NaN;
    if (Number.isNaN(x)) return;
    this.moveTo(onto(this.camera, { x, y }, Math.min(wide, this.view.width * 0.8), this.view), gently);
  }

  /** Only as far as is needed to see it. */
  reveal(index: number): void {
    const x = (this.layout.corners[index * 2] ?? NaN) * this.camera.scale + this.camera.x;
    const y = (this.layout.corners[index * 2 + 1] ?? NaN) * this.camera.scale + this.camera.y;
    if (Number.isNaN(x)) return;
    if (x < 10 || y < 10 || x > this.view.width - 60 || y > this.view.height - 60) this.goTo(index, 0);
  }

  private moveTo(camera: Camera, gently: boolean): void {
    const to = kept(camera, this.layout, this.view);
    this.isFitted = false;
    this.aim = null;
    if (gently && !this.still()) this.glide = { from: this.camera, to, begins: performance.now() };
    else {
      this.glide = null;
      this.camera = to;
    }
    this.all = this.overToo = true;
    this.ask();
  }

  // -------------------------------------------------------------------- what is where

  hit(x: number, y: number): { node: number; row: number } {
    const at = toPicture(this.camera, x, y);
    const node = nodeAt(this.layout, at.x, at.y);
    const scene = this.scene();
    return { node, row: node >= 0 && scene ? podAt(scene, node, x, y) : -1 };
  }

  hover(node: number): void {
    if (node === this.hovered) return;
    this.hovered = node;
    this.overToo = true;
    this.ask();
  }

  step(dx: -1 | 0 | 1, dy: -1 | 0 | 1): number {
    this.focus(neighbour(this.layout, this.focused, dx, dy));
    return this.focused;
  }

  focus(index: number): void {
    this.focused = index;
    if (index >= 0) this.reveal(index);
    this.overToo = true;
    this.ask();
  }

  get first(): number {
    return this.layout.order[0] ?? -1;
  }

  /** The middle of that node's box, from the corner of the canvas: for whoever wants to point at it. */
  placeOf(index: number): { x: number; y: number } {
    const { scale, x, y } = this.glide?.to ?? this.camera;
    return {
      x: ((this.layout.corners[index * 2] ?? NaN) + 50) * scale + x,
      y: ((this.layout.corners[index * 2 + 1] ?? NaN) + 42) * scale + y,
    };
  }

  // -------------------------------------------------------------------- frames

  private ask(): void {
    this.asked ||= requestAnimationFrame((now) => this.frame(now));
  }

  private scene(): Scene | null {
    const { state, look } = this;
    if (!state || !look) return null;
    return {
      state,
      layout: this.layout,
      camera: this.camera,
      view: this.view,
      palette: this.palette,
      resource: look.resource,
      planned: look.planned,
      colouring: look.colouring,
      thresholds: look.thresholds,
      workloads: this.workloads,
      names: look.names,
      titleOf: (key) => look.titleOf(key),
      podsOf: (index) => this.podsOf(index),
      tilesOf: (index) => this.tilesOf(index),
    };
  }

  private podsOf(index: number): Pods {
    return this.after?.pods.get(index) ?? this.state?.pods[index] ?? NO_PODS;
  }

  private tilesOf(index: number): Tiles {
    const known = this.tiles[index];
    if (known) return known;
    const { state, look } = this;
    const node = state?.nodes[index];
    if (!node || !look) return new Float32Array(0);
    const load = (look.planned ? node.planned : node.load)[look.resource];
    const own = load < 0 ? 50 : load - node.otherShare[look.resource];
    return (this.tiles[index] = tilesOf(this.podsOf(index), look.resource, own / 100));
  }

  private frame(now: number): void {
    this.asked = 0;
    const began = performance.now();
    if (this.glide) {
      const part = Math.min(1, Math.max(0, (now - this.glide.begins) / GLIDE));
      this.camera = between(this.glide.from, this.glide.to, part * (2 - part));
      if (part >= 1) this.glide = null;
      this.all = this.overToo = true;
    }
    const scene = this.scene();
    if (!scene || !this.look) return;
    if (this.all || this.dirty.size > this.layout.order.length / 3) draw(this.base, scene, null);
    else if (this.dirty.size) draw(this.base, scene, this.dirty);
    const drew = this.all;
    this.all = false;
    this.dirty.clear();
    this.flights = this.flights.filter((each) => now < each.begins + each.lasts);
    this.pulses = this.pulses.filter((each) => now < each.begins + PULSE);
    const travels = this.travels && !this.flights.length && !this.pulses.length;
    if (this.overToo || drew || (this.travels && (!travels || now - this.drewOver >= TRAVEL))) {
      this.travels = this.drawOver(scene, now);
      this.overToo = false;
      this.drewOver = now;
    }
    if (this.travels || this.glide) this.ask();
    if (!frames.drawn) performance.mark("first-picture"); // measured by bench/dashboard_page.py
    frames.drawn++;
    frames.longest = Math.max(frames.longest, performance.now() - began);
  }

  private drawOver(scene: Scene, now: number): boolean {
    const look = this.look;
    if (!look) return false;
    const chosen = look.chosen ? scene.state.nodes.findIndex((node) => node.name === look.chosen) : -1;
    return drawOver(
      this.over,
      scene,
      {
        flights: this.flights,
        pulses: this.pulses,
        chosen,
        chosenPod: chosen >= 0 && look.chosenRow >= 0 ? { node: chosen, row: look.chosenRow } : null,
        focused: this.focused,
        hovered: this.hovered,
        plans: look.plans && !look.planned,
        still: this.still(),
        chosenMove: look.chosenMove,
      },
      now,
    );
  }
}

/** When none of these changes, they look as before. */
const SAME_LOOKS = ["colouring", "thresholds", "names"] as const;
/** When none of these changes, boxes stay where they are. */
const SAME_PLACES = ["grouping", "order", "resource", "planned", "filter"] as const;
