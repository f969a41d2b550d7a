/** The picture in the page: what hands, wheels and keys do to it, and what a screen reader hears of it. */

import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useWords } from "../i18n";
import { countOf, has, podOf, workloadName, type ClusterState } from "../state/cluster";
import { useStore } from "../store";
import { colours, isStill } from "../theme";
import { Picture, type Look } from "./picture";

interface Under {
  readonly x: number;
  readonly y: number;
  readonly node: number;
  readonly row: number;
}

/** A hand that moves less than this has clicked. */
const SLOP = 5;
const KEY_PAN = 60;
const KEY_ZOOM = 1.35;

export function Canvas(of: {
  state: ClusterState;
  look: Look;
  open: (node: string, row: number) => void;
  said: (index: number) => string;
}): JSX.Element {
  const { t, number } = useWords();
  const frame = useRef<HTMLDivElement>(null);
  const base = useRef<HTMLCanvasElement>(null);
  const over = useRef<HTMLCanvasElement>(null);
  const picture = useRef<Picture | null>(null);
  const [under, setUnder] = useState<Under | null>(null);
  const [heard, setHeard] = useState("");
  const theme = useStore(colours);
  const latest = useRef(of);
  latest.current = of;

  useEffect(() => {
    const [element, low, high] = [frame.current, base.current, over.current];
    if (!element || !low || !high) return undefined;
    const made = new Picture(low, high, isStill);
    picture.current = made;
    const measure = (): void => made.resize(element.clientWidth, element.clientHeight);
    measure();
    const watch = new ResizeObserver(measure);
    watch.observe(element);
    const hands = new Hands(high, made, {
      over: setUnder,
      click: (hit) => {
        const node = latest.current.state.nodes[hit.node];
        if (node) latest.current.open(node.name, hit.row);
        else latest.current.open("", -1);
      },
    });
    return () => {
      hands.stop();
      watch.disconnect();
      made.stop();
      picture.current = null;
    };
  }, []);
  useEffect(() => picture.current?.show(of.state, of.look), [of.state, of.look]);
  useEffect(() => picture.current?.recolour(), [theme]);

  const key = (event: KeyboardEvent): void => {
    const made = picture.current;
    if (!made || event.ctrlKey || event.metaKey || event.altKey) return;
    const step = STEPS[event.key];
    if (step && event.shiftKey) made.pan(-step[0] * KEY_PAN, -step[1] * KEY_PAN);
    else if (step) setHeard(of.said(made.step(...step)));
    else if (event.key === "+" || event.key === "=") made.zoom(KEY_ZOOM);
    else if (event.key === "-") made.zoom(1 / KEY_ZOOM);
    else if (event.key === "0") made.fit();
    else if (event.key === "Enter" || event.key === " ") {
      const node = of.state.nodes[made.focused];
      if (!node) return;
      made.goTo(node.index);
      of.open(node.name, -1);
    } else if (event.key === "Escape") {
      made.focus(-1);
      of.open("", -1);
    } else return;
    event.preventDefault();
  };
  const shown = of.state.nodes.filter((node) => !has(node, "gone")).length;
  return (
    <div class="picture" ref={frame}>
      <canvas ref={base} class="layer" aria-hidden="true" />
      <canvas
        ref={over}
        class="layer hands"
        tabIndex={0}
        role="application"
        data-testid="picture"
        aria-label={t("cluster.pictureLabel", { nodes: number(shown), pods: number(of.state.podCount) })}
        onKeyDown={key}
        onFocus={() => {
          const made = picture.current;
          if (made && made.focused < 0 && over.current?.matches(":focus-visible")) made.focus(made.first);
        }}
        onBlur={() => picture.current?.focus(-1)}
      />
      <p class="unseen" role="status" aria-live="polite" data-testid="picture-said">
        {heard}
      </p>
      <div class="zoomer" role="group" aria-label={t("cluster.zoom")}>
        <button type="button" aria-label={t("cluster.zoomIn")} title={t("cluster.zoomIn")} onClick={() => picture.current?.zoom(1.5)}>
          +
        </button>
        <button type="button" aria-label={t("cluster.zoomOut")} title={t("cluster.zoomOut")} onClick={() => picture.current?.zoom(1 / 1.5)}>
          −
        </button>
        <button type="button" aria-label={t("cluster.fit")} title={t("cluster.fit")} data-testid="fit" onClick={() => picture.current?.fit()}>
          ⤢
        </button>
      </div>
      {under && under.node >= 0 && <Tip state={of.state} under={under} planned={of.look.planned} />}
    </div>
  );
}

const STEPS: Readonly<Record<string, readonly [-1 | 0 | 1, -1 | 0 | 1]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

function Tip(of: { state: ClusterState; under: Under; planned: boolean }): JSX.Element | null {
  const { t, percent, named } = useWords();
  const node = of.state.nodes[of.under.node];
  if (!node) return null;
  const load = of.planned ? node.planned : node.load;
  const pods = of.state.pods[node.index];
  const pod = !of.planned && of.under.row >= 0 && pods && of.under.row < countOf(pods) ? podOf(pods, of.under.row) : null;
  const left = of.under.x > innerWidth / 2;
  return (
    <div
      class={`tip ${left ? "left" : ""}`}
      aria-hidden="true"
      style={{ insetInlineStart: `${of.under.x}px`, insetBlockStart: `${of.under.y}px` }}
    >
      <strong>{node.name}</strong>
      <span>
        {t("resource.cpu")} {percent(load.cpu < 0 ? null : load.cpu)} · {t("resource.memory")}{" "}
        {percent(load.memory < 0 ? null : load.memory)}
      </span>
      {pod && (
        <>
          <strong>{workloadName(of.state.workloads[pod.workload])}</strong>
          <span>
            {named("podState", pod.state)} · {t("resource.cpu")} {percent(pod.cpu)} · {t("resource.memory")} {percent(pod.memory)}
          </span>
        </>
      )}
    </div>
  );
}

/** Pointers, alone or as a pair, and the wheel. */
class Hands {
  private readonly pointers = new Map<number, { x: number; y: number }>();
  private begun: { x: number; y: number } | null = null;
  private moved = false;
  private readonly stopper = new AbortController();

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly picture: Picture,
    private readonly tells: { over: (under: Under | null) => void; click: (hit: { node: number; row: number }) => void },
  ) {
    const { signal } = this.stopper;
    canvas.addEventListener("pointerdown", (event) => this.down(event), { signal });
    canvas.addEventListener("pointermove", (event) => this.move(event), { signal });
    canvas.addEventListener("pointerup", (event) => this.up(event), { signal });
    canvas.addEventListener("pointercancel", (event) => this.drop(event), { signal });
    canvas.addEventListener("pointerleave", () => this.leave(), { signal });
    canvas.addEventListener("wheel", (event) => this.wheel(event), { signal, passive: false });
    canvas.addEventListener("dblclick", (event) => this.twice(event), { signal });
  }

  stop(): void {
    this.stopper.abort();
  }

  private at(event: MouseEvent): { x: number; y: number } {
    const rect = this.canvas.getBoundingClientRect();
    return { x: event.clientX - rect.left, y: event.clientY - rect.top };
  }

  private down(event: PointerEvent): void {
    const at = this.at(event);
    this.pointers.set(event.pointerId, at);
    this.canvas.setPointerCapture(event.pointerId);
    if (this.pointers.size === 1) {
      this.begun = at;
      this.moved = false;
    }
  }

  private move(event: PointerEvent): void {
    const at = this.at(event);
    const before = this.pointers.get(event.pointerId);
    if (!before) {
      const hit = this.picture.hit(at.x, at.y);
      this.picture.hover(hit.node);
      this.canvas.classList.toggle("over-node", hit.node >= 0);
      this.tells.over(hit.node < 0 ? null : { ...at, ...hit });
      return;
    }
    if (this.begun && Math.hypot(at.x - this.begun.x, at.y - this.begun.y) > SLOP) this.moved = true;
    const other = [...this.pointers].find(([id]) => id !== event.pointerId)?.[1];
    if (other) {
      const [was, is] = [distance(before, other), distance(at, other)];
      if (was > 0) this.picture.zoom(is / was, (at.x + other.x) / 2, (at.y + other.y) / 2);
      this.picture.pan((at.x - before.x) / 2, (at.y - before.y) / 2);
    } else if (this.moved) {
      this.picture.pan(at.x - before.x, at.y - before.y);
      this.tells.over(null);
    }
    this.pointers.set(event.pointerId, at);
  }

  private up(event: PointerEvent): void {
    const alone = this.pointers.size === 1;
    this.drop(event);
    if (!alone || this.moved) return;
    const at = this.at(event);
    this.tells.over(null);
    this.tells.click(this.picture.hit(at.x, at.y));
  }

  private drop(event: PointerEvent): void {
    this.pointers.delete(event.pointerId);
    if (!this.pointers.size) this.begun = null;
  }

  private leave(): void {
    this.picture.hover(-1);
    this.tells.over(null);
  }

  private wheel(event: WheelEvent): void {
    event.preventDefault();
    const at = this.at(event);
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
    // A pinch on a touchpad comes as a wheel with the key held, in small steps.
    const speed = event.ctrlKey ? 0.01 : 0.0016;
    this.picture.zoom(Math.exp(-event.deltaY * lines * speed), at.x, at.y);
  }

  private twice(event: MouseEvent): void {
    const at = this.at(event);
    const { node } = this.picture.hit(at.x, at.y);
    if (node >= 0) this.picture.goTo(node);
    else this.picture.fit();
  }
}

function distance(a: { x: number; y: number }, b: { x: number; y: number }): number {
  return Math.hypot(a.x - b.x, a.y - b.y);
}
