/** Opens a damaged store and is killed as it takes over the 300th window. */
import { createLog } from "@tradewind/core/process/log.ts";
import { SqliteStore } from "@tradewind/predictor/store/sqlite-store.ts";
import { Tables } from "@tradewind/predictor/store/tables.ts";

const put = Tables.prototype.putWindow;
let count = 0;
Tables.prototype.putWindow = function putWindow(...given): void {
  count += 1;
  if (count === 300) process.kill(process.pid, "SIGKILL");
  put.apply(this, given);
};
void new SqliteStore({ path: process.argv[2] ?? "", log: createLog("salvage", "silent") });
