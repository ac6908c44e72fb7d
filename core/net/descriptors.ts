import { readdirSync, readFileSync } from "node:fs";
import type { ConnectionLimits } from "./connection-limits.ts";

/** A port gets this share of the descriptors that are free when it is opened. */
const SHARE = 1 / 4;
const LEAST_CONNECTIONS = 4;

/** How many more files and sockets this process may open now; undefined where the system does not say (not Linux). */
export function freeDescriptors(): number | undefined {
  try {
    const limits = readFileSync("/proc/self/limits", "utf8");
    const most = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
    return most === undefined ? undefined : Number(most) - readdirSync("/proc/self/fd").length;
  } catch {
    return undefined;
  }
}

/**
 * The limits, lowered where the process may open few files: a port that runs out of descriptors can neither take a connection
 * nor refuse one, and everything else in the process fails with it.
 */
export function withinDescriptors(limits: ConnectionLimits, free = freeDescriptors()): ConnectionLimits {
  const maxConnections = Math.max(LEAST_CONNECTIONS, Math.floor((free ?? Infinity) * SHARE));
  if (maxConnections >= limits.maxConnections) return limits;
  return { ...limits, maxConnections, maxPerAddress: Math.min(limits.maxPerAddress, maxConnections - 1) };
}
