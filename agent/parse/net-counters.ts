import { malformed } from "./malformed.ts";

/**
 * Named counters of `/proc/net/snmp` and `/proc/net/netstat`: a line of names and a line of values with the same
 * prefix. Columns differ between kernels, so they are found by name.
 *
 *     Tcp: RtoAlgorithm RtoMin … RetransSegs InErrs OutRsts
 *     Tcp: 1 200 … 0 0 476
 * @returns the values of `names` that are there
 * @throws TradewindError `malformed-file` when the pair of lines is missing or of unequal length
 */
export function parseNetCounters(
  text: string,
  prefix: string,
  names: readonly string[],
): Map<string, number> {
  const start = text.startsWith(`${prefix}: `) ? 0 : text.indexOf(`\n${prefix}: `) + 1;
  const lines = text.slice(start).split("\n", 2);
  const header = lines[0]?.split(" ") ?? [];
  const values = lines[1]?.split(" ") ?? [];
  if (header[0] !== `${prefix}:` || values[0] !== `${prefix}:` || header.length !== values.length) {
    throw malformed(`the ${prefix} counters of /proc/net`, text);
  }
  const found = new Map<string, number>();
  for (const name of names) {
    const at = header.indexOf(name);
    const value = at < 1 ? Number.NaN : Number(values[at]);
    if (Number.isFinite(value) && value >= 0) found.set(name, value);
  }
  return found;
}
