/** A view that fails says so, and leaves the rest of the page at work. */

import { Component, type ComponentChildren, type JSX } from "preact";

interface Props {
  readonly children: ComponentChildren;
  readonly told: (reason: string) => JSX.Element;
}

export class Boundary extends Component<Props, { failed: string | null }> {
  override state: { failed: string | null } = { failed: null };

  static override getDerivedStateFromError(error: unknown): { failed: string } {
    return { failed: error instanceof Error ? error.message : String(error) };
  }

  override render(): ComponentChildren {
    return this.state.failed === null ? this.props.children : this.props.told(this.state.failed);
  }
}
