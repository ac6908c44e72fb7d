import { choosePort } from "@tradewind/local/supervise/ports.ts";

/** A loopback port that was free a moment ago, for programs that cannot be asked which one they took. */
export const freePort = async (): Promise<number> => (await choosePort(0)).port;
