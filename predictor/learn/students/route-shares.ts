import type { FlowWindow } from "@tradewind/core/contract/window.ts";
import type { RouteCounts } from "@tradewind/core/students/notifier.ts";

/** Requests of the last quarter of an hour count as recent: the least time between two trainings. ms */
const RECENT_MS = 900_000;

interface Counted {
  readonly endMs: number;
  readonly counts: RouteCounts;
}

/** Which routes users asked for while students were taught, and of late. */
export class RouteShares {
  #windows: Counted[] = [];
  #taught: RouteCounts = new Map();

  add(
    flows: readonly FlowWindow[],
    { endMs, startMs }: { readonly startMs: number; readonly endMs: number },
  ): void {
    if (this.#windows.at(-1)?.endMs === endMs) return;
    const seconds = (endMs - startMs) / 1e3;
    const counts = new Map<string, number>();
    for (const { entryService, flow, requestsPerSecond } of flows) {
      const route = `${entryService} ${flow}`;
      counts.set(route, (counts.get(route) ?? 0) + requestsPerSecond * seconds);
    }
    this.#windows = this.#windows.filter((each) => each.endMs > endMs - RECENT_MS && each.endMs < endMs);
    this.#windows.push({ endMs, counts });
  }

  /** Requests of the last quarter of an hour, by route. */
  recent(): RouteCounts {
    const sum = new Map<string, number>();
    for (const { counts } of this.#windows) {
      for (const [route, requests] of counts) sum.set(route, (sum.get(route) ?? 0) + requests);
    }
    return sum;
  }

  /** The same when students were last taught; empty before. */
  taught(): RouteCounts {
    return this.#taught;
  }

  taughtNow(): void {
    this.#taught = this.recent();
  }
}
