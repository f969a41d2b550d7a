/** Keeps how somebody likes to see the page, and nothing of what is seen. */

type Name = "language" | "theme";

export function remembered(name: Name): string | null {
  try {
    return localStorage.getItem(`kube-rescheduler-${name}`);
  } catch {
    return null; // a browser that keeps nothing
  }
}

export function remember(name: Name, value: string): void {
  try {
    localStorage.setItem(`kube-rescheduler-${name}`, value);
  } catch {
    // It is asked for again next time.
  }
}
