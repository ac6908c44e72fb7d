import { malformed } from "./malformed.ts";
import { fields, unsigned } from "./number.ts";

/** One network interface, cumulative. */
export interface NetDev {
  readonly device: string;
  readonly receivedBytes: number;
  readonly receivedPackets: number;
  readonly receiveErrors: number;
  readonly receiveDrops: number;
  readonly sentBytes: number;
  readonly sentPackets: number;
  readonly sendErrors: number;
  readonly sendDrops: number;
}

function deviceOf(line: string): string {
  return line.slice(0, Math.max(0, line.lastIndexOf(":"))).trim();
}

function parseLine(line: string): NetDev {
  const colon = line.lastIndexOf(":");
  const device = deviceOf(line);
  const numbers = fields(line.slice(colon + 1)).map(unsigned);
  if (device === "" || numbers.length < 12 || numbers.some(Number.isNaN)) {
    throw malformed("/proc/net/dev", line);
  }
  const at = (index: number): number => numbers[index] ?? Number.NaN;
  return {
    device,
    receivedBytes: at(0),
    receivedPackets: at(1),
    receiveErrors: at(2),
    receiveDrops: at(3),
    sentBytes: at(8),
    sentPackets: at(9),
    sendErrors: at(10),
    sendDrops: at(11),
  };
}

/**
 * `/proc/net/dev` (proc(5)): two header lines, then
 *
 *     eth0: 1343598388   38417    0    0    0     0          0         0  3305719   25310    0    0    0     0       0          0
 * @param wanted interfaces to read; undefined: all
 * @throws TradewindError `malformed-file` naming the line
 */
export function parseNetDev(text: string, wanted?: ReadonlySet<string>): NetDev[] {
  const lines = text.split("\n");
  if (!lines[0]?.startsWith("Inter-|")) throw malformed("/proc/net/dev", text);
  return lines
    .slice(2)
    .filter((line) => line.trim() !== "" && (wanted === undefined || wanted.has(deviceOf(line))))
    .map(parseLine);
}
