import { expect, test } from "vitest";
import { addressOf, changed, choice, placeOf, VIEWS } from "../src/url";

test.each(VIEWS)("the view %s has an address, below any path", (view) => {
  expect(placeOf(`/some/where/${view}`, "").view).toBe(view);
  expect(addressOf({ view, query: {} })).toBe(view);
});

test("what nobody knows is the cluster", () => {
  expect(placeOf("/", "").view).toBe("cluster");
  expect(placeOf("/nonsense", "?q=x")).toEqual({ view: "cluster", query: { q: "x" } });
});

test("a place comes back from its address, whatever is in it", () => {
  const query = { q: "a&b=c #%ü/<script>", node: "node-1", pod: "shop/web" };
  const address = addressOf({ view: "why", query });
  expect(placeOf("/why", address.slice(address.indexOf("?")))).toEqual({ view: "why", query });
});

test("one place has one address, and what is as usual is not in it", () => {
  expect(addressOf({ view: "cluster", query: { b: "2", a: "1" } })).toBe("cluster?a=1&b=2");
  const place = changed({ view: "cluster", query: { node: "x", pod: "y" } }, { pod: undefined, q: "", group: "pool" });
  expect(place.query).toEqual({ node: "x", group: "pool" });
});

test("a choice is one of those that there are", () => {
  const place = { view: "cluster", query: { group: "pool", size: "__proto__" } } as const;
  expect(choice(place, "group", ["zone", "pool"], "zone")).toBe("pool");
  expect(choice(place, "size", ["cpu", "memory"], "cpu")).toBe("cpu");
});
