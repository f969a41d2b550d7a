/** Listens to what changes, for ever: connects again, later and later, and says how it stands. */

import { store } from "../store";
import { address, Refused, request } from "./client";
import { pause } from "./backoff";
import { EventReader, type ServerEvent } from "./sse";

/** Heartbeats come each ten seconds. */
const SILENCE = 25_000;

export type Connection =
  | { readonly is: "connecting" }
  | { readonly is: "open" }
  | { readonly is: "lost"; readonly since: number; readonly again: number }
  | { readonly is: "refused"; readonly status: number; readonly message: string; readonly wayOut: string };

export const connection = store<Connection>({ is: "connecting" });

export interface Hears {
  /** Whole pieces of what came, in order; what it throws ends the connection. */
  event(event: ServerEvent): Promise<void>;
  /** Whatever was known may be old: a new connection begins. */
  opened(): void;
}

export class Stream {
  private stopped = new AbortController();
  private failures = 0;
  private wake: (() => void) | undefined;
  private last = "";

  constructor(private readonly hears: Hears) {}

  start(): void {
    this.stopped = new AbortController();
    void this.run(this.stopped.signal);
  }

  /** With another token, or because somebody does not want to wait. */
  restart(): void {
    this.stopped.abort();
    this.failures = 0;
    this.last = "";
    this.start();
  }

  soon(): void {
    this.wake?.();
  }

  private async run(stopped: AbortSignal): Promise<void> {
    let since = 0;
    for (;;) {
      const outcome = await this.once(stopped);
      if (stopped.aborted) return;
      if (outcome === "heard") {
        this.failures = 0;
        since = 0;
      }
      since ||= Date.now();
      const wait = pause(this.failures++, Math.random());
      if (outcome instanceof Refused && (outcome.status === 401 || outcome.status === 403)) {
        const { message, wayOut } = outcome.body;
        connection.set({ is: "refused", status: outcome.status, message, wayOut: wayOut ?? "" });
      } else connection.set({ is: "lost", since, again: Date.now() + wait });
      await this.rest(wait, stopped);
    }
  }

  private rest(wait: number, stopped: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        removeEventListener("online", done);
        this.wake = undefined;
        resolve();
      };
      const timer = setTimeout(done, wait);
      stopped.addEventListener("abort", done, { once: true });
      addEventListener("online", done);
      this.wake = done;
    });
  }

  private async once(stopped: AbortSignal): Promise<"heard" | "failed" | Refused> {
    const silent = new AbortController();
    const signal = AbortSignal.any([stopped, silent.signal]);
    let timer = setTimeout(() => silent.abort(), SILENCE);
    let heard = false;
    try {
      const headers: Record<string, string> = { Accept: "text/event-stream" };
      if (this.last) headers["Last-Event-ID"] = this.last;
      const response = await request(address(["events"]), { signal, headers });
      if (!response.body) return "failed";
      this.hears.opened();
      const reader = new EventReader();
      const pieces = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await pieces.read();
        if (done) return heard ? "heard" : "failed";
        clearTimeout(timer);
        timer = setTimeout(() => silent.abort(), SILENCE);
        for (const event of reader.take(value)) {
          if (event.id) this.last = event.id;
          await this.hears.event(event);
          heard = true;
        }
      }
    } catch (error) {
      if (error instanceof Refused) return error;
      return heard ? "heard" : "failed";
    } finally {
      clearTimeout(timer);
      silent.abort();
    }
  }
}
