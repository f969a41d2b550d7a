/** A value that parts of the page look at, and what they need to hear of a new one. */

import { useEffect, useReducer, useState } from "preact/hooks";

export interface Store<T> {
  get(): T;
  set(value: T): void;
  update(change: (value: T) => T): void;
  listen(listener: () => void): () => void;
}

export function store<T>(first: T): Store<T> {
  let value = first;
  const listeners = new Set<() => void>();
  const set = (next: T): void => {
    if (Object.is(next, value)) return;
    value = next;
    for (const each of [...listeners]) each();
  };
  return {
    get: () => value,
    set,
    update: (change) => set(change(value)),
    listen: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

/** Draws whoever calls it anew when there is a new value. */
export function useStore<T>(from: Store<T>): T {
  const [, again] = useReducer((count: number) => count + 1, 0);
  const value = from.get();
  useEffect(() => {
    // What came between drawing and listening.
    if (!Object.is(from.get(), value)) again(undefined);
    return from.listen(() => again(undefined));
  }, [from]);
  return value;
}

/** The same, at most once in so many milliseconds: for what is dear to draw, and may change many times a second. */
export function useCalmStore<T>(from: Store<T>, rest: number): T {
  const [shown, show] = useState(() => ({ value: from.get() }));
  useEffect(() => {
    let timer: number | undefined;
    const draw = (): void => {
      timer = undefined;
      show({ value: from.get() });
    };
    const hear = (): void => {
      timer ??= window.setTimeout(draw, rest);
    };
    // What came between drawing and listening.
    if (!Object.is(from.get(), shown.value)) hear();
    const stop = from.listen(hear);
    return () => {
      stop();
      window.clearTimeout(timer);
    };
  }, [from, rest]);
  return shown.value;
}
