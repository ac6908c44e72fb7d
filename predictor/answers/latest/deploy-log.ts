import type { Deploy } from "@tradewind/core/contract/measured.ts";
import type { Window } from "@tradewind/core/contract/window.ts";

const MOST_DEPLOYS = 1_000;

/** New programs of services, told by the revisions of their windows, in memory. */
export class DeployLog {
  readonly #revisions = new Map<string, string>();
  readonly #deploys: Deploy[] = [];

  /** Windows of one time; the first revision of a service is no deploy. */
  look(windows: readonly Pick<Window, "revision" | "service" | "startMs">[]): void {
    for (const { revision, service, startMs } of windows) {
      const before = this.#revisions.get(service);
      if (revision === undefined || revision === before) continue;
      this.#revisions.set(service, revision);
      if (before === undefined) continue;
      this.#deploys.push({ service, atMs: startMs, from: before, to: revision });
      if (this.#deploys.length > MOST_DEPLOYS) this.#deploys.shift();
    }
  }

  /** Oldest first. */
  get deploys(): readonly Deploy[] {
    return this.#deploys;
  }
}
