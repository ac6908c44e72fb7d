import { isIPv6 } from "node:net";

/** Wrong tokens of one address within {@link WINDOW_MS}; then it waits. */
const MOST_TRIES = 10;
const WINDOW_MS = 60_000;
/** About 1 MB; the address that failed first of all makes way. */
const MOST_ADDRESSES = 4_096;

interface Tries {
  readonly sinceMs: number;
  count: number;
}

/** Counts wrong tokens by address, so that nobody tries them in numbers. Of IPv6 the first 64 bits are one address: a host has them all. */
export class TokenTries {
  readonly #monotonicMs: () => number;
  /** Oldest first. */
  readonly #byAddress = new Map<string, Tries>();

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
  }

  /** How long the address must wait before it may show a token again; 0: not at all. s */
  waitSeconds(address: string): number {
    const tries = this.#byAddress.get(networkOf(address));
    if (tries === undefined || tries.count < MOST_TRIES) return 0;
    return Math.max(0, Math.ceil((tries.sinceMs + WINDOW_MS - this.#monotonicMs()) / 1e3));
  }

  failed(address: string): void {
    const nowMs = this.#monotonicMs();
    for (const [oldest, { sinceMs }] of this.#byAddress) {
      if (nowMs - sinceMs < WINDOW_MS && this.#byAddress.size < MOST_ADDRESSES) break;
      this.#byAddress.delete(oldest);
    }
    const network = networkOf(address);
    const tries = this.#byAddress.get(network) ?? { sinceMs: nowMs, count: 0 };
    tries.count += 1;
    this.#byAddress.set(network, tries);
  }
}

function networkOf(address: string): string {
  const inIpv6 = /^::ffff:([\d.]+)$/i.exec(address)?.[1];
  if (inIpv6 !== undefined || !isIPv6(address)) return inIpv6 ?? address;
  const [head = "", tail = ""] = address.split("::");
  const groups = [head, tail].map((part) => part.split(":").filter((group) => group !== ""));
  const [left = [], right = []] = groups;
  const zeros = Array.from({ length: Math.max(0, 8 - left.length - right.length) }, () => "0");
  return [...left, ...zeros, ...right].slice(0, 4).join(":");
}
