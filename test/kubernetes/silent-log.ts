import { createLog } from "@tradewind/core/log.ts";

export const silentLog = createLog("test", "silent");
