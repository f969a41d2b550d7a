import { expect, test } from "vitest";
import { EventReader, type ServerEvent } from "../src/api/sse";

const TEXT = 'event: hello\nid: 7\ndata: {"version":"1"}\n\n: heartbeat\n\nevent: plan\r\ndata: a\r\ndata: b\r\n\r\n';
const EVENTS: ServerEvent[] = [
  { name: "hello", id: "7", data: '{"version":"1"}' },
  { name: "plan", id: "7", data: "a\nb" },
];

test.each([1, 2, 3, 7, 1000])("events are the same in pieces of %i", (size) => {
  const reader = new EventReader();
  const found: ServerEvent[] = [];
  for (let at = 0; at < TEXT.length; at += size) found.push(...reader.take(TEXT.slice(at, at + size)));
  expect(found).toEqual(EVENTS);
});

test("a heartbeat is no event, and neither is one without data", () => {
  expect(new EventReader().take(": alive\n\nevent: overview\n\n")).toEqual([]);
});

test("what has not ended is not told yet", () => {
  const reader = new EventReader();
  expect(reader.take("data: x\n")).toEqual([]);
  expect(reader.take("\n")).toEqual([{ name: "message", id: "", data: "x" }]);
});
