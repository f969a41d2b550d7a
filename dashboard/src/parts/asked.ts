/** What a view asks of the API, and what came of it. */

import { useCallback, useEffect, useState } from "preact/hooks";
import { get, Refused, token, type Query } from "../api/client";
import { useStore } from "../store";

export interface Asked<T> {
  /** The last answer to this very question. */
  readonly data: T | null;
  readonly error: Refused | null;
  readonly loading: boolean;
  again: () => void;
}

/**
 * A path of null asks nothing; `news` that changes asks again, and keeps what is shown meanwhile. Whoever
 * comes with another token asks anew, and sees nothing of what the one before was answered.
 */
export function useAsked<T>(path: readonly string[] | null, query: Query = {}, news: unknown = 0): Asked<T> {
  const held = useStore(token);
  const key = path ? JSON.stringify([path, query, held]) : "";
  const [state, setState] = useState<{ key: string; data: T | null; error: Refused | null; loading: boolean }>({
    key: "",
    data: null,
    error: null,
    loading: false,
  });
  const [count, setCount] = useState(0);
  useEffect(() => {
    if (!path) return undefined;
    const aborted = new AbortController();
    setState((old) => (old.key === key ? { ...old, loading: true } : { key, data: null, error: null, loading: true }));
    get<T>(path, query, aborted.signal).then(
      (data) => setState({ key, data, error: null, loading: false }),
      (error: unknown) => {
        if (aborted.signal.aborted) return;
        const refused =
          error instanceof Refused ? error : new Refused(0, { code: "Unreadable", message: String(error) });
        setState((old) => ({ key, data: old.key === key ? old.data : null, error: refused, loading: false }));
      },
    );
    return () => aborted.abort();
  }, [key, news, count]);
  const again = useCallback(() => setCount((old) => old + 1), []);
  if (state.key !== key) return { data: null, error: null, loading: Boolean(path), again };
  return { data: state.data, error: state.error, loading: state.loading, again };
}
