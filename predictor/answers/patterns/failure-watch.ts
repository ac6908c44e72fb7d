import { percent } from "@tradewind/core/values/amounts.ts";
import type { ContainerWindow, Window } from "@tradewind/core/contract/window.ts";
import { mainContainers } from "@tradewind/core/measure/main-containers.ts";
import type { Pattern, PatternKind } from "@tradewind/core/contract/pattern.ts";
import { callRates, interferenceOf, throttledOf } from "./call-rates.ts";
import type { CallRates, PatternWindow } from "./call-rates.ts";
import { confidenceOfRun, LEAST_RUN, Runs } from "./run.ts";
import type { Run } from "./run.ts";
import { UsualValues } from "./usual.ts";

/** Names beyond so many are not followed. */
const MOST_NAMES = 20_000;
/** Calls for each request, and self time, that rise by this factor are unusual. */
const RISE = 1.5;
/** Failed requests that go with more calls make a retry storm of them. */
const FAILING = 0.05;
/** Throttled periods that are high, and cores that the node must have left for more. */
const THROTTLED = 0.2;
const FREE_CORES = 0.2;
/** Windows that a kill for lack of memory is spoken of. */
const KILLED_WINDOWS = 20;
/** Interference on a crowded node, and on one that is not. */
const CROWDED = 0.3;
const QUIET = 0.15;

/**
 * Failure patterns by name (InfraLLM, section II; formulas in docs/patterns.md). Holds what is usual of each call and service and
 * how long each pattern has shown: a bounded memory. A lag and throttling count while the objective is missed.
 */
export class FailureWatch {
  readonly #usual = new UsualValues(MOST_NAMES);
  readonly #runs = new Runs(MOST_NAMES);
  readonly #kills = new Map<string, { readonly sinceMs: number; count: number; windows: number }>();

  /** The clock was set, or nothing is known of the windows before. */
  clear(): void {
    this.#usual.clear();
    this.#runs.clear();
    this.#kills.clear();
  }

  /** Takes one more window. @returns what it shows, in the order of its services */
  window(taken: PatternWindow): readonly Pattern[] {
    const seen = new Set<string>();
    const errors = new Map(taken.windows.map(({ errorRatio, service }) => [service, errorRatio]));
    const isMissed = taken.severity === undefined ? undefined : taken.severity > 1;
    const quiet = quietNodes(taken.windows);
    const found: Pattern[] = [];
    for (const window of taken.windows) {
      const note = (kind: PatternKind, shows: boolean | undefined, other = ""): Run | undefined => {
        const key = `${kind}\n${window.service}\n${other}`;
        seen.add(key);
        const run = this.#runs.note(key, shows, taken.startMs);
        return run !== undefined && run.windows >= LEAST_RUN ? run : undefined;
      };
      found.push(
        ...this.#calls(window, errors, note),
        ...scalingLag(window, isMissed, note),
        ...this.#throttling(window, isMissed, note),
        ...this.#killing(window),
        ...this.#coLocation(window, quiet, note),
      );
    }
    this.#runs.keepOnly(seen);
    this.#usual.turn();
    return found;
  }

  /** More calls for each request than usual: retries where requests fail, else fan-out. */
  #calls(window: Window, errors: ReadonlyMap<string, number | undefined>, note: Note): Pattern[] {
    const { callees, service } = window;
    const rates = callRates(window);
    const most = rates && this.#mostRisen(service, rates);
    const ends = most?.callee === undefined ? callees.map(({ callee }) => callee) : [most.callee];
    const failed = Math.max(...[service, ...ends].map((name) => errors.get(name) ?? 0));
    const rose = rates === undefined ? undefined : most !== undefined;
    const storm = note("retry-storm", rose && failed > FAILING);
    const fanOut = note("fan-out", rose && failed <= FAILING);
    const run = storm ?? fanOut;
    return run === undefined || most === undefined
      ? []
      : [callPattern(service, most, { run, failed: storm === undefined ? undefined : failed })];
  }

  /** The edge whose calls for each request rose most, beyond {@link RISE}; all calls together count as one. */
  #mostRisen(service: string, { all, byCallee }: CallRates): RisenCalls | undefined {
    let most: RisenCalls | undefined;
    for (const [callee, rate] of [...byCallee, [undefined, all] as const]) {
      const name = `calls\n${service}\n${callee ?? ""}`;
      const usual = this.#usual.of(name) ?? 0;
      const ratio = usual > 0 ? rate / usual : 1;
      this.#usual.note(name, rate, ratio < RISE);
      if (ratio >= RISE && ratio > (most?.ratio ?? 0))
        most = { ratio, usual, ...(callee !== undefined && { callee }) };
    }
    return most;
  }

  /** Containers wait for their own limit on nodes that have CPU left, though load is usual and no replica is on its way. */
  #throttling(window: Window, isMissed: boolean | undefined, note: Note): Pattern[] {
    const { nodeRoomCores, replicasReady = 0, replicasWanted = 0, requestsPerSecond, service } = window;
    const throttled = throttledOf(window);
    const name = `load\n${service}`;
    const usual = this.#usual.of(name);
    const isUsual =
      usual === undefined || requestsPerSecond === undefined || requestsPerSecond < RISE * usual;
    if (requestsPerSecond !== undefined) this.#usual.note(name, requestsPerSecond, isUsual);
    const isCause = isUsual && replicasWanted <= replicasReady;
    const shows =
      throttled === undefined || nodeRoomCores === undefined || usual === undefined
        ? undefined
        : isMissed && isCause && throttled >= THROTTLED && nodeRoomCores >= FREE_CORES;
    const run = note("limits", shows);
    if (run === undefined || throttled === undefined || nodeRoomCores === undefined) return [];
    const words = `'${service}' is throttled in ${percent(throttled)} of periods by its own CPU limit, on nodes with ${nodeRoomCores.toFixed(1)} cores left`;
    return [
      {
        kind: "limits",
        service,
        sinceMs: run.sinceMs,
        size: throttled,
        confidence: confidenceOfRun(run),
        words,
      },
    ];
  }

  #killing(window: Window): Pattern[] {
    const { service } = window;
    const kills = mainContainers(window).reduce((sum, { oomKills = 0 }) => sum + oomKills, 0);
    const known = this.#kills.get(service);
    if (kills > 0 && (known !== undefined || this.#kills.size < MOST_NAMES))
      this.#kills.set(service, {
        sinceMs: known?.sinceMs ?? window.startMs,
        count: (known?.count ?? 0) + kills,
        windows: 0,
      });
    const killed = this.#kills.get(service);
    if (killed === undefined) return [];
    killed.windows += 1;
    if (killed.windows > KILLED_WINDOWS) {
      this.#kills.delete(service);
      return [];
    }
    const { count, sinceMs } = killed;
    const words = `${count} containers of '${service}' were killed for lack of memory${limitInWords(window)}`;
    return [{ kind: "limits", service, sinceMs, size: count, confidence: 0.99, words }];
  }

  /** Slow on crowded nodes, and nowhere else. */
  #coLocation(window: Window, quiet: ReadonlySet<string>, note: Note): Pattern[] {
    const { service } = window;
    const p95 = window.worstPodOwnLatency?.latency.p95Seconds ?? window.ownLatency?.p95Seconds;
    const name = `self-time\n${service}`;
    const usual = this.#usual.of(name);
    const ratio = p95 === undefined || usual === undefined || !(usual > 0) ? undefined : p95 / usual;
    if (p95 !== undefined) this.#usual.note(name, p95, ratio === undefined || ratio < RISE);
    const where = crowding(window, quiet);
    const shows =
      ratio === undefined || where === undefined ? undefined : ratio >= RISE && where.nodes.length > 0;
    const run = note("co-location", shows);
    if (run === undefined || ratio === undefined || where === undefined) return [];
    const nodes = where.nodes
      .slice(0, 3)
      .map((node) => `'${node}'`)
      .join(", ");
    const words = `'${service}' takes ${ratio.toFixed(1)} times as long as usual on ${nodes}, where others take ${percent(where.most)}; other nodes are quiet`;
    return [
      {
        kind: "co-location",
        service,
        sinceMs: run.sinceMs,
        size: ratio,
        confidence: confidenceOfRun(run),
        words: words.slice(0, 300),
      },
    ];
  }
}

interface RisenCalls {
  /** Absent where it is all calls of the service together. */
  readonly callee?: string;
  readonly ratio: number;
  readonly usual: number;
}

/** @param failed share of failed requests where the calls are retries */
function callPattern(
  service: string,
  { callee, ratio, usual }: RisenCalls,
  { failed, run }: { readonly run: Run; readonly failed: number | undefined },
): Pattern {
  const to = callee === undefined ? "others" : `'${callee}'`;
  const calls = `'${service}' calls ${to} ${(ratio * usual).toFixed(2)} times for each request, usual is ${usual.toFixed(2)}`;
  const why =
    failed === undefined
      ? ""
      : `, while ${percent(failed)} fail: less load or fewer retries end it, more pods do not`;
  return {
    kind: failed === undefined ? "fan-out" : "retry-storm",
    service,
    ...(callee !== undefined && { callee }),
    sinceMs: run.sinceMs,
    size: ratio,
    confidence: confidenceOfRun(run),
    words: `${calls}${why}`.slice(0, 300),
  };
}

type Note = (kind: PatternKind, shows: boolean | undefined, other?: string) => Run | undefined;

/** Fewer replicas serve than are wanted, while the objective is missed. */
function scalingLag(window: Window, isMissed: boolean | undefined, note: Note): Pattern[] {
  const { podsUnscheduled = 0, replicasReady: ready, replicasWanted: wanted, service } = window;
  const shows = ready === undefined || wanted === undefined ? undefined : isMissed && wanted > ready;
  const run = note("scaling-lag", shows);
  if (run === undefined || ready === undefined || wanted === undefined) return [];
  const seconds = Math.round((window.endMs - run.sinceMs) / 1e3);
  const pending = podsUnscheduled > 0 ? `; no node has taken ${podsUnscheduled} of them yet` : "";
  const words = `'${service}' has waited ${seconds} s for replicas: ${wanted} are wanted and ${ready} ready${pending}`;
  return [
    {
      kind: "scaling-lag",
      service,
      sinceMs: run.sinceMs,
      size: wanted / Math.max(1, ready),
      confidence: confidenceOfRun(run),
      words,
    },
  ];
}

interface Crowding {
  /** Crowded nodes of the service's slow containers. */
  readonly nodes: readonly string[];
  readonly most: number;
}

/** Nodes of the application on which others take little. */
function quietNodes(windows: readonly Window[]): ReadonlySet<string> {
  const quiet = new Set<string>();
  for (const { containers } of windows)
    for (const container of containers)
      if (container.node !== undefined && (interferenceOf(container) ?? 1) < QUIET) quiet.add(container.node);
  return quiet;
}

/** Undefined where interference is not known of the service, or no quiet node is known to compare with. */
function crowding(window: Window, quiet: ReadonlySet<string>): Crowding | undefined {
  const containers = mainContainers(window).flatMap((container) => {
    const share = interferenceOf(container);
    return share === undefined || container.node === undefined ? [] : [{ container, share }];
  });
  if (containers.length === 0 || quiet.size === 0) return undefined;
  const slow = window.worstPodOwnLatency?.podName;
  const isSlow = ({ podName }: ContainerWindow): boolean => slow === undefined || podName === slow;
  const crowded = containers.filter(({ container, share }) => share >= CROWDED && isSlow(container));
  const nodes = [...new Set(crowded.flatMap(({ container }) => container.node ?? []))];
  return { nodes, most: Math.max(0, ...crowded.map(({ share }) => share)) };
}

function limitInWords(window: Window): string {
  const limits = mainContainers(window).flatMap(({ memoryLimitBytes }) => memoryLimitBytes ?? []);
  return limits.length === 0 ? "" : `, at a limit of ${Math.round(Math.min(...limits) / 2 ** 20)} MiB`;
}
