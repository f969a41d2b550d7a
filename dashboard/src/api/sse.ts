/** Reads server-sent events out of pieces of text, however they are cut. Pure. */

export interface ServerEvent {
  readonly name: string;
  readonly id: string;
  readonly data: string;
}

/** Longer than any event that is meant; a stream that says more without an end is broken. */
const MOST = 64 * 1024 * 1024;

export class EventReader {
  private begun: string[] = [];
  private length = 0;
  private name = "";
  private id = "";
  private data: string[] = [];

  /** The events that are whole with this piece. Lines end with \n or \r\n. */
  take(piece: string): ServerEvent[] {
    const events: ServerEvent[] = [];
    let from = 0;
    for (let end = piece.indexOf("\n"); end >= 0; end = piece.indexOf("\n", from)) {
      const event = this.line(this.begun.join("") + piece.slice(from, end));
      if (event) events.push(event);
      this.begun = [];
      this.length = 0;
      from = end + 1;
    }
    if (from < piece.length) {
      this.begun.push(piece.slice(from));
      this.length += piece.length - from;
      if (this.length > MOST) throw new RangeError("an event without an end");
    }
    return events;
  }

  private line(raw: string): ServerEvent | undefined {
    const line = raw.endsWith("\r") ? raw.slice(0, -1) : raw;
    if (!line) return this.end();
    const colon = line.indexOf(":");
    if (colon === 0) return undefined; // a heartbeat
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") this.name = value;
    else if (field === "data") this.data.push(value);
    else if (field === "id") this.id = value;
    return undefined;
  }

  private end(): ServerEvent | undefined {
    const { name, data } = this;
    this.name = "";
    this.data = [];
    return data.length ? { name: name || "message", id: this.id, data: data.join("\n") } : undefined;
  }
}
