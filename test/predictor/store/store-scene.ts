import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import type { ProposedChange } from "@tradewind/core/contract/proposed-change.ts";
import { createLog } from "@tradewind/core/process/log.ts";
import { SqliteStore } from "@tradewind/predictor/store/sqlite-store.ts";
import { wishOf } from "../../exporter/wish.ts";
import { aSet } from "./windows-of.ts";

export const ALL = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER };
export const SERVICES = ["cart", "stock", "front"];

/** A directory of its own for each test, and stores in it that end with the test. */
export interface StoreScene {
  readonly directory: string;
  /** Where a store is unless it is said otherwise. */
  readonly path: string;
  open(settings?: Partial<ConstructorParameters<typeof SqliteStore>[0]>): SqliteStore;
}

export function storeScene(): StoreScene {
  const log = createLog("test", "silent");
  const open: SqliteStore[] = [];
  let directory = "";
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), "tradewind-store-"));
  });
  afterEach(async () => {
    for (const store of open.splice(0)) await store.close();
    rmSync(directory, { recursive: true, force: true });
  });
  return {
    get directory() {
      return directory;
    },
    get path() {
      return join(directory, "history.sqlite");
    },
    open(settings = {}) {
      const store = new SqliteStore({ path: this.path, log, ...settings });
      open.push(store);
      return store;
    },
  };
}

export const aChange = (service: string, decidedAtMs: number): ProposedChange => ({
  id: `${decidedAtMs}-${service}`,
  application: "hotel",
  namespace: "shop",
  service,
  decidedAtMs,
  before: { replicas: 3 },
  proposal: wishOf({ service }),
  policyReason: "p95 is 412 ms, objective 300 ms (137 %)",
});

/** A file of so many sets of windows, closed. */
export async function filled(scene: StoreScene, sets: number): Promise<void> {
  const store = scene.open();
  for (let index = 0; index < sets; index += 1) store.append(aSet(index * 15_000, SERVICES));
  await store.close();
}
