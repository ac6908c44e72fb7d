import { MAX_SENDER_WORK } from "@tradewind/core/net/sender-work.ts";
import { trimmedEnd } from "@tradewind/core/values/trimmed-end.ts";

/** What an agent does when nothing is said. Shared by the command line and the schema, so that they cannot differ. */
export const DEFAULTS = {
  listen: "127.0.0.1:9810",
  procfs: "/proc",
  sysfs: "/sys",
  cgroupfs: "/sys/fs/cgroup",
  kubernetes: "auto",
  containerSeries: "all",
  inventory: true,
  windowSeconds: 15,
  costBudgetRatio: 0.005,
  maxSenderWork: MAX_SENDER_WORK,
  maxOpenFiles: 16_384,
  logLevel: "info",
} as const;

/** A DNS name of 253 characters, a colon and a port. */
const LONGEST_ADDRESS = 259;

/** `host:port`, `[::1]:port`; port 0 takes a free one. */
export function isAddress(text: string): boolean {
  const port = /^(?:\[[0-9a-fA-F:.]+\]|[^:\s[\]]+):(\d{1,5})$/.exec(text)?.[1];
  return port !== undefined && Number(port) <= 65_535 && text.length <= LONGEST_ADDRESS;
}
export const ADDRESS_RULE = "must be host:port, for example 127.0.0.1:9810";

export function isFolder(text: string): boolean {
  return text.startsWith("/") && !text.includes("\0") && text.length <= 4096;
}
export const FOLDER_RULE = "must be an absolute path";

/** Without slashes at its end: paths are made by appending. */
export function tidyFolder(path: string): string {
  return path.charAt(0) + trimmedEnd(path.slice(1), "/");
}
