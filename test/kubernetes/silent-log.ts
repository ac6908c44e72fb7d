import { createLog } from "@tradewind/core/process/log.ts";

export const silentLog = createLog("test", "silent");
