import { malformed } from "./malformed.ts";
import { unsigned } from "./number.ts";

/** Words the kernel writes in place of a number when it has none right now. */
const NO_VALUE = new Set(["Unavailable", "Unassigned", "Error"]);

/**
 * A monitoring file of resctrl (Documentation/filesystems/resctrl.rst): `mbm_total_bytes`, `mbm_local_bytes` or
 * `llc_occupancy`, all in bytes.
 * @returns undefined for `Unavailable` (ask again), `Unassigned` (AMD: no counter given to this group) and `Error`
 * @throws TradewindError `malformed-file` for anything else that is not a number
 */
export function parseMonitored(text: string): number | undefined {
  const trimmed = text.trim();
  if (NO_VALUE.has(trimmed)) return undefined;
  const value = unsigned(trimmed);
  if (Number.isNaN(value)) throw malformed("a monitored value of resctrl", text);
  return value;
}
