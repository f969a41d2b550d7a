/** Lines over time or over numbers, by uPlot, in the colours of the theme; beside it the same as a table. */

import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { useWords, type Words } from "../i18n";
import { useStore } from "../store";
import { colours } from "../theme";

export interface Line {
  readonly name: string;
  /** The name of a token of the theme. */
  readonly colour: string;
  readonly values: readonly (number | null)[];
  readonly dashed?: boolean;
  readonly bars?: boolean;
  readonly fill?: boolean;
}

/** Whole numbers, as what is counted has. */
const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 100_000, 1_000_000];

export function Chart(of: {
  label: string;
  x: readonly number[];
  lines: readonly Line[];
  /** Whether x is seconds since 1970. */
  time: boolean;
  height?: number;
  unit?: string;
  marks?: readonly { at: number; text: string }[];
}): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const theme = useStore(colours);
  const words = useWords();
  const plot = useRef<uPlot | null>(null);
  const data = [of.x, ...of.lines.map((line) => line.values)] as unknown as uPlot.AlignedData;
  const latest = useRef(data);
  latest.current = data;
  // What a chart is made anew for; what is only longer is drawn into it.
  const shape = JSON.stringify(of.lines.map((line) => ({ ...line, values: undefined })));
  const few = of.x.length < 40;
  useEffect(() => {
    const element = place.current;
    if (!element) return undefined;
    const style = getComputedStyle(element);
    const token = (name: string): string => style.getPropertyValue(`--${name}`).trim();
    const axis = {
      stroke: token("muted"),
      grid: { stroke: token("line"), width: 1 },
      ticks: { stroke: token("line"), width: 1 },
      font: `11px ${style.fontFamily}`,
    };
    const height = of.height ?? 220;
    const made = new uPlot(
      {
        width: Math.max(200, element.clientWidth),
        height,
        legend: { show: false },
        cursor: { y: false, points: { size: 7 } },
        scales: { x: { time: of.time }, y: { range: (_, __, most) => [0, Math.max(1, most * 1.08)] } },
        axes: [
          { ...axis, ...(of.time ? { values: (_: uPlot, ticks: number[]) => clocked(ticks, words) } : { incrs: STEPS }) },
          { ...axis, size: 48, incrs: STEPS, values: (_, ticks) => ticks.map((tick) => `${words.number(tick)}${of.unit ?? ""}`) },
        ],
        series: [
          {},
          ...of.lines.map((line) => ({
            label: line.name,
            stroke: token(line.colour),
            width: 2,
            points: { show: few, size: 5 },
            ...(line.dashed ? { dash: [6, 4] } : {}),
            ...(line.fill ? { fill: token(`${line.colour}-wash`) } : {}),
          })),
        ],
        hooks: { draw: [(self: uPlot) => drawMarks(self, of.marks ?? [], token("muted"), axis.font)] },
      },
      latest.current,
      element,
    );
    plot.current = made;
    const watch = new ResizeObserver(() => made.setSize({ width: Math.max(200, element.clientWidth), height }));
    watch.observe(element);
    return () => {
      watch.disconnect();
      plot.current = null;
      made.destroy();
    };
  }, [shape, few, of.time, of.unit, of.height, of.marks, theme, words]);
  useEffect(() => {
    if (plot.current && plot.current.data !== latest.current) plot.current.setData(latest.current);
  }, [of.x, of.lines]);
  return (
    <figure class="chart">
      <div ref={place} role="img" aria-label={of.label} />
      <figcaption class="keys">
        {of.lines.map((line) => (
          <span key={line.name} class="key">
            <span class={`key-line ${line.colour} ${line.dashed ? "dashed" : ""}`} aria-hidden="true" />
            {line.name}
          </span>
        ))}
      </figcaption>
    </figure>
  );
}

/** With seconds where ticks are less than a minute apart. */
function clocked(ticks: readonly number[], words: Words): string[] {
  const [first = 0, second = Infinity] = ticks;
  return ticks.map((tick) => (second - first < 60 ? words.time(tick * 1000) : words.clock(tick * 1000)));
}

function drawMarks(plot: uPlot, marks: readonly { at: number; text: string }[], colour: string, font: string): void {
  const { ctx, bbox } = plot;
  const ratio = devicePixelRatio || 1;
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = colour;
  ctx.lineWidth = ratio;
  ctx.font = font.replace("11px", `${11 * ratio}px`);
  for (const mark of marks) {
    const x = plot.valToPos(mark.at, "x", true);
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.setLineDash([3 * ratio, 3 * ratio]);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    const right = x + 160 * ratio > bbox.left + bbox.width;
    ctx.textAlign = right ? "right" : "left";
    ctx.fillText(mark.text, x + (right ? -5 : 5) * ratio, bbox.top + 12 * ratio);
  }
  ctx.restore();
}
