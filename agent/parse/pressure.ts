import { secondsFromMicros } from "@tradewind/core/values/units.ts";
import { malformed } from "./malformed.ts";
import { unsignedAt } from "./number.ts";

/** Pressure stall information of one resource (Documentation/accounting/psi.rst): cumulative seconds. */
export interface Pressure {
  /** Some task waited. */
  readonly someSeconds: number;
  /** Every non-idle task waited at once; absent for CPU before Linux 5.13. */
  readonly fullSeconds: number | undefined;
}

function totalSeconds(text: string, line: string): number | undefined {
  const at = text.startsWith(line) ? 0 : text.indexOf(`\n${line}`);
  if (at < 0) return undefined;
  const end = text.indexOf("\n", at + 1);
  const total = text.indexOf(" total=", at);
  if (total < 0 || (end >= 0 && total > end)) return undefined;
  const micros = unsignedAt(text, total + " total=".length);
  return Number.isNaN(micros) ? undefined : secondsFromMicros(micros);
}

/**
 *     some avg10=1.73 avg60=1.10 avg300=2.86 total=52435528
 *     full avg10=0.00 avg60=0.00 avg300=0.00 total=0
 *
 * `irq` has only the `full` line, which then stands for both.
 * @throws TradewindError `malformed-file` when neither line is there
 */
export function parsePressure(text: string): Pressure {
  const fullSeconds = totalSeconds(text, "full ");
  const someSeconds = totalSeconds(text, "some ") ?? fullSeconds;
  if (someSeconds === undefined) throw malformed("pressure stall information", text);
  return { someSeconds, fullSeconds };
}
