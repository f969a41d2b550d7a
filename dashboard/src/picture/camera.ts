/** What part of the picture is seen: pixels are `scale` times the picture, moved by x and y. Pure. */

import { BOX } from "./layout";

export interface Camera {
  readonly scale: number;
  readonly x: number;
  readonly y: number;
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

const MARGIN = 20;
/** A node is never seen wider than this many pixels at first, and never wider than the most. */
const FIRST_BOX = 190;
const MOST_BOX = 1400;
const LEAST_BOX = 2;

export function fitted(picture: Size, view: Size): Camera {
  const scale = Math.min(
    (view.width - 2 * MARGIN) / Math.max(picture.width, 1),
    (view.height - 2 * MARGIN) / Math.max(picture.height, 1),
    FIRST_BOX / BOX.width,
  );
  return {
    scale,
    x: (view.width - picture.width * scale) / 2,
    y: Math.max(MARGIN, (view.height - picture.height * scale) / 2),
  };
}

/** What is under the finger stays there. */
export function zoomed(camera: Camera, factor: number, at: { x: number; y: number }): Camera {
  const scale = Math.min(
    MOST_BOX / BOX.width,
    Math.max(LEAST_BOX / BOX.width, camera.scale * factor),
  );
  const by = scale / camera.scale;
  return { scale, x: at.x - (at.x - camera.x) * by, y: at.y - (at.y - camera.y) * by };
}

/** At least a corner stays in sight. */
export function kept(camera: Camera, picture: Size, view: Size): Camera {
  const within = (at: number, long: number, seen: number): number =>
    Math.min(seen * 0.75, Math.max(seen * 0.25 - long * camera.scale, at));
  return {
    scale: camera.scale,
    x: within(camera.x, picture.width, view.width),
    y: within(camera.y, picture.height, view.height),
  };
}

/** With that box in the middle, and at least so wide. */
export function onto(camera: Camera, corner: { x: number; y: number }, wide: number, view: Size): Camera {
  const scale = Math.max(camera.scale, wide / BOX.width);
  return {
    scale,
    x: view.width / 2 - (corner.x + BOX.width / 2) * scale,
    y: view.height / 2 - (corner.y + BOX.height / 2) * scale,
  };
}

export function between(a: Camera, b: Camera, part: number): Camera {
  // Sizes are seen in proportion, so they grow in proportion.
  const scale = a.scale * (b.scale / a.scale) ** part;
  const done = a.scale === b.scale ? part : (scale - a.scale) / (b.scale - a.scale);
  const mid = (from: number, to: number): number => from + (to - from) * done;
  return { scale, x: mid(a.x, b.x), y: mid(a.y, b.y) };
}

export function toPicture(camera: Camera, x: number, y: number): { x: number; y: number } {
  return { x: (x - camera.x) / camera.scale, y: (y - camera.y) / camera.scale };
}
