/** Appends sets for as long as it lives and says after each flush how many are on disk. Killed by the test. */
import { createLog } from "@tradewind/core/process/log.ts";
import { SqliteStore } from "@tradewind/predictor/store/sqlite-store.ts";
import { aSet } from "./windows-of.ts";

const store = new SqliteStore({ path: process.argv[2] ?? "", log: createLog("writer", "silent") });
for (let index = 0; index < 1_000_000; index += 1) {
  store.append(aSet(index * 15_000, ["cart", "stock", "front"]));
  await store.flush();
  process.stdout.write(`${index + 1}\n`);
}
