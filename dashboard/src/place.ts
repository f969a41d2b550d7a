/** The place in the address bar, and how to go to another. */

import { store, useStore } from "./store";
import { addressOf, changed, placeOf, type Changes, type Place, type View } from "./url";

/** The page's own address, with a slash at its end: its files are below `assets/`, or `src/`. */
export const BASE = new URL("../", import.meta.url).pathname;

const here = store<Place>(placeOf(location.pathname, location.search));
addEventListener("popstate", () => here.set(placeOf(location.pathname, location.search)));

export const place = here;

export function usePlace(): Place {
  return useStore(here);
}

export function href(to: Place): string {
  return BASE + addressOf(to);
}

export function go(to: Place, replace = false): void {
  const address = href(to);
  if (address === location.pathname + location.search) return;
  if (replace) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  here.set(to);
}

/** Stays in the view: a selection is a place of its own, what is typed replaces the last. */
export function choose(changes: Changes, replace = false): void {
  go(changed(here.get(), changes), replace);
}

export function visit(view: View, query: Record<string, string> = {}): void {
  go({ view, query });
}
