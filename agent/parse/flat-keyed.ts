import { unsignedAt } from "./number.ts";

/**
 * The value of `key` in a flat keyed file (`KEY VALUE` a line: cpu.stat, memory.stat, memory.events, vmstat), or
 * undefined when the kernel has no such key.
 *
 *     usage_usec 5124
 *     nr_throttled 3
 */
export function flatValue(text: string, key: string): number | undefined {
  const pattern = `${key} `;
  let at = text.startsWith(pattern) ? 0 : text.indexOf(`\n${pattern}`) + 1;
  if (at === 0 && !text.startsWith(pattern)) return undefined;
  at += pattern.length;
  const value = unsignedAt(text, at);
  return Number.isNaN(value) ? undefined : value;
}
