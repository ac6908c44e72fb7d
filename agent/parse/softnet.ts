import { malformed } from "./malformed.ts";
import { fields } from "./number.ts";

/** One CPU's receive queue, 32-bit counters that wrap. */
export interface SoftNet {
  /** Number of the CPU; undefined where the kernel does not say. */
  readonly cpu: number | undefined;
  readonly processed: number;
  readonly dropped: number;
  /** Times the softirq ran out of budget or time with work left. */
  readonly timesSqueezed: number;
}

/**
 * `/proc/net/softnet_stat`: a row of hexadecimal 32-bit numbers for each CPU; 9 to 15 columns by kernel version. The
 * 13th is the CPU's number since Linux 5.14, before that rows are those of the online CPUs in order.
 *
 *     0000961d 00000000 00000000 … 00000000 00000001 00000000 00000000
 * @throws TradewindError `malformed-file` naming the row
 */
export function parseSoftNet(text: string): SoftNet[] {
  const rows = text.split("\n").filter((line) => line !== "");
  if (rows.length === 0) throw malformed("/proc/net/softnet_stat", text);
  return rows.map((row) => {
    const columns = fields(row).map((field) =>
      /^[0-9a-f]{8}$/i.test(field) ? parseInt(field, 16) : Number.NaN,
    );
    const [processed, dropped, timesSqueezed] = columns;
    if (
      processed === undefined ||
      dropped === undefined ||
      timesSqueezed === undefined ||
      columns.some(Number.isNaN)
    ) {
      throw malformed("/proc/net/softnet_stat", row);
    }
    return { cpu: columns[12], processed, dropped, timesSqueezed };
  });
}
