import type { Window, WindowSet } from "@tradewind/core/contract/window.ts";
import type {
  StoredFlow,
  StoreHealth,
  WindowQuery,
  WindowStore,
} from "@tradewind/predictor/store/window-store.ts";

const HEALTHY: StoreHealth = {
  state: "memory",
  path: undefined,
  problem: undefined,
  remedy: undefined,
  bytes: 0,
  maxBytes: Infinity,
  pendingWindows: 0,
  writtenWindowsTotal: 0,
  lostWindowsTotal: 0,
  writeErrorsTotal: 0,
  unreadableRowsTotal: 0,
  damagedFilesTotal: 0,
  fileLossesTotal: 0,
};

/** The predictor's memory for one simulated run: everything in arrays, nothing grows old, no file and no timer. */
export class MemoryStore implements WindowStore {
  private readonly kept: Window[] = [];
  private readonly keptFlows: StoredFlow[] = [];

  append({ endMs, flows, startMs, windows }: WindowSet): void {
    this.kept.push(...windows);
    for (const flow of flows) this.keptFlows.push({ ...flow, startMs, endMs });
  }

  appendDecision(): void {}

  markDone(): void {}

  windows({ fromMs, namespace, service, toMs }: WindowQuery): Window[] {
    return this.kept.filter(
      (window) =>
        window.startMs >= fromMs &&
        window.startMs < toMs &&
        (service === undefined || window.service === service) &&
        (namespace === undefined || window.namespace === namespace),
    );
  }

  flows({ fromMs, toMs }: Pick<WindowQuery, "fromMs" | "toMs">): StoredFlow[] {
    return this.keptFlows.filter(({ startMs }) => startMs >= fromMs && startMs < toMs);
  }

  decisions(): [] {
    return [];
  }

  doneChunks(): [] {
    return [];
  }

  liveStretches(): [] {
    return [];
  }

  async maintain(): Promise<void> {}

  async flush(): Promise<void> {}

  health(): StoreHealth {
    return HEALTHY;
  }

  async close(): Promise<void> {}
}
