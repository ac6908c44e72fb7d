import { lookup as dnsLookup } from "node:dns/promises";
import { isIPv6 } from "node:net";
import { systemClock } from "../process/clock.ts";
import { describeError } from "../values/errors.ts";
import { LastingProblem } from "../process/lasting-problem.ts";
import type { Logger } from "../process/log.ts";
import { trimmedEnd } from "../values/trimmed-end.ts";

/** All addresses of a host name, A and AAAA. */
export type Lookup = (host: string) => Promise<readonly string[]>;

const systemLookup: Lookup = async (host) => {
  const found = await dnsLookup(host, { all: true, order: "verbatim" });
  return found.map(({ address }) => address);
};

const PREFIX = "dns+";
const MAX_ADDRESSES = 10_000;

/** What is wrong with `http://host:port` or `dns+http://name:port`; undefined when it is one of them. */
export function targetProblem(text: string): string | undefined {
  const plain = text.startsWith(PREFIX) ? text.slice(PREFIX.length) : text;
  if (!URL.canParse(plain) || !/^https?:\/\//.test(plain)) {
    return `'${text.slice(0, 200)}' must be http://host:port, or dns+http://name:port for every address of the name`;
  }
  const { username, password } = new URL(plain);
  return username === "" && password === "" ? undefined : "an address must not hold a user or password";
}

export interface AddressFollowerOptions {
  /** `http://host:port` as it is, `dns+http://name:port` once for every address of the name. */
  readonly targets: readonly string[];
  readonly everyMs: number;
  readonly log: Logger;
  readonly lookup?: Lookup | undefined;
  /** Default: that of the system. */
  readonly monotonicMs?: () => number;
  /** Called with the whole list after every change of it. */
  readonly onChange?: (addresses: readonly string[]) => void;
}

/**
 * Turns targets into addresses, and names into addresses again and again: pods behind a headless Service come and go. A
 * name that cannot be resolved keeps its last addresses, since DNS fails more often than all pods at once.
 */
export class AddressFollower {
  private readonly options: AddressFollowerOptions;
  private readonly lookup: Lookup;
  private readonly resolved = new Map<string, readonly string[]>();
  private readonly problems = new Map<string, LastingProblem>();
  private timer: NodeJS.Timeout | undefined;
  private stopped = false;
  private last: readonly string[] = [];
  private names: ReadonlyMap<string, string | undefined> = new Map();

  constructor(options: AddressFollowerOptions) {
    this.options = options;
    this.lookup = options.lookup ?? systemLookup;
    this.last = this.collect();
  }

  /** Base addresses without a trailing slash, in the order of the targets and sorted within a name. */
  current(): readonly string[] {
    return this.last;
  }

  /** The name that an address was resolved from: a certificate names it, not the address. Undefined where none was. */
  nameOf(address: string): string | undefined {
    return this.names.get(address);
  }

  /** True while the last look-up of some name failed. */
  get isFailing(): boolean {
    return this.problems.size > 0;
  }

  /** Resolves all names once and then follows them. Never rejects. */
  async start(): Promise<void> {
    await this.resolveAll();
    this.schedule();
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
  }

  private schedule(): void {
    if (this.stopped || !this.options.targets.some((target) => target.startsWith(PREFIX))) return;
    this.timer = setTimeout(() => {
      void this.resolveAll().then(() => this.schedule());
    }, this.options.everyMs);
    this.timer.unref();
  }

  private async resolveAll(): Promise<void> {
    const names = this.options.targets.filter((target) => target.startsWith(PREFIX));
    await Promise.all(names.map(async (target) => this.resolve(target)));
    const next = this.collect();
    if (this.stopped || next.join() === this.last.join()) return;
    this.last = next;
    this.options.onChange?.(next);
  }

  private async resolve(target: string): Promise<void> {
    const { log } = this.options;
    const { hostname } = new URL(target.slice(PREFIX.length));
    try {
      const found = await this.lookup(hostname.replace(/^\[(.*)\]$/, "$1"));
      this.resolved.set(target, [...new Set(found)].sort());
      if (this.problems.delete(target)) log.info({ target }, "the name can be resolved again");
    } catch (error) {
      const problem = describeError(error);
      const kept = this.resolved.get(target)?.length ?? 0;
      const facts = { target, problem, kept };
      this.problemOf(target).found(problem, facts, "the name cannot be resolved; keeping its last addresses");
    }
  }

  private problemOf(target: string): LastingProblem {
    const { log, monotonicMs = () => systemClock.monotonicMs() } = this.options;
    const known = this.problems.get(target) ?? new LastingProblem(log, monotonicMs);
    this.problems.set(target, known);
    return known;
  }

  private collect(): readonly string[] {
    const all = this.options.targets.flatMap((target): [string, string | undefined][] => {
      if (!target.startsWith(PREFIX)) return [[trimmedEnd(target, "/"), undefined]];
      const url = new URL(target.slice(PREFIX.length));
      return (this.resolved.get(target) ?? []).map((address) => [withHost(url, address), url.hostname]);
    });
    this.names = new Map(all.slice(0, MAX_ADDRESSES));
    return [...this.names.keys()];
  }
}

function withHost({ pathname, port, protocol }: URL, address: string): string {
  const host = isIPv6(address) ? `[${address}]` : address;
  return `${protocol}//${host}${port === "" ? "" : `:${port}`}${trimmedEnd(pathname, "/")}`;
}
