/** Where one is, as the address says it: the view is one segment of the path, all else its query. Pure but for `location`. */

export const VIEWS = ["cluster", "plan", "migrations", "why", "history", "settings"] as const;
export type View = (typeof VIEWS)[number];

export interface Place {
  readonly view: View;
  readonly query: Readonly<Record<string, string>>;
}

/** An undefined or empty value takes the key out of the address. */
export type Changes = Readonly<Record<string, string | undefined>>;

export function placeOf(pathname: string, search: string): Place {
  const last = pathname.split("/").at(-1) ?? "";
  const view = VIEWS.find((each) => each === last) ?? "cluster";
  const query: Record<string, string> = {};
  for (const [key, value] of new URLSearchParams(search)) if (value) query[key] = value;
  return { view, query };
}

/** Keys in a fixed order, so that the same place has one address. */
export function addressOf(place: Place): string {
  const parameters = new URLSearchParams();
  for (const key of Object.keys(place.query).sort()) {
    const value = place.query[key];
    if (value) parameters.set(key, value);
  }
  const text = parameters.toString();
  return text ? `${place.view}?${text}` : place.view;
}

export function changed(place: Place, changes: Changes): Place {
  const query: Record<string, string> = { ...place.query };
  for (const [key, value] of Object.entries(changes)) {
    if (value) query[key] = value;
    else Reflect.deleteProperty(query, key);
  }
  return { view: place.view, query };
}

/** Only what a key may be; anything else is what it is by default. */
export function choice<T extends string>(
  place: Place,
  key: string,
  values: readonly T[],
  otherwise: T,
): T {
  return values.find((each) => each === place.query[key]) ?? otherwise;
}
