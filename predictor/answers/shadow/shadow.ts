import type { Application } from "@tradewind/core/contract/application.ts";
import { serviceSpecs } from "@tradewind/core/contract/application.ts";
import { costPerHour } from "@tradewind/core/contract/prices.ts";
import type { ShadowComparison } from "@tradewind/core/contract/shadow.ts";
import type { Window, WindowSet } from "@tradewind/core/contract/window.ts";
import { mainContainers } from "@tradewind/core/measure/main-containers.ts";
import { mean } from "@tradewind/core/values/statistics.ts";
import type { WhatIf } from "../../decide/cost/price/what-if.ts";
import { containerSize } from "../../decide/facts/size.ts";
import type { ContainerSize } from "../../decide/facts/size.ts";
import { overWindow, shadowHpa, startingWith } from "./replicas.ts";
import type { ShadowReplicas, ShadowUse } from "./replicas.ts";
import { BAND_QUANTILE, requestsOver } from "./requests-over.ts";
import type { ShadowSizes } from "./requests-over.ts";
import { MOST_BLOCKS, MOST_HOURS, MOST_SERVICES } from "./state.ts";
import type { ShadowState } from "./state.ts";
import { summedUp, withWindow } from "./sums.ts";

/** A window that was decided on. */
interface ShadowedWindow {
  readonly application: Application;
  readonly windowSet: Pick<WindowSet, "endMs" | "flows" | "startMs" | "windows">;
  /** Undefined where no live models decided: then nothing is compared. */
  readonly models: WhatIf | undefined;
  /** From the order of a replica until it serves, as measured; absent: not known. */
  readonly startSeconds?: number | undefined;
  /** Whether decisions resize containers: then those of the shadow stay as they were before. */
  readonly isResized: boolean;
}

type Kept = ShadowState["services"][number];
type Variants = readonly [fewest: ShadowReplicas, middle: ShadowReplicas, most: ShadowReplicas];

/** Windows of which the errors of the models count as one: windows one after the other are off alike. */
const BLOCK_WINDOWS = 20;
/** What is assumed of the models' error before it was measured, as a standard deviation of ln, and for how many blocks that counts. */
const PRIOR_LOG = 0.2;
const PRIOR_BLOCKS = 4;
/** By how much the CPU that an HPA would have seen may be off: use per request at other replicas. Chosen. */
const USE_ERROR = 0.06;
/** Error of a cost beside that: when pods come and go. Chosen. */
const COST_ERROR = 0.04;
const WEEK_MS = 7 * 86_400_000;
const DEFAULT_START_SECONDS = 45;
/** Pods of which no use is known for longer than this are not new. */
const START_MS = 120_000;

/** Decides each window as the HPA before would have, on the same load, and adds up what it would have come to. */
export class Shadow {
  #state: ShadowState;
  #windows = 0;
  readonly #keep: (state: ShadowState) => void;
  readonly #replicas = new Map<string, Variants>();
  /** CPU of all pods of a service in the last window in which it was known of each. */
  readonly #lastUse = new Map<string, { readonly atMs: number; readonly usedCores: number }>();
  #block: number[] = [];

  /** @param keep writes it down */
  constructor(restored: ShadowState, keep: (state: ShadowState) => void = () => undefined) {
    this.#state = restored;
    this.#keep = keep;
    for (const { replicas, service } of restored.services) {
      const [fewest, middle, most] = replicas;
      this.#replicas.set(service, [startingWith(fewest), startingWith(middle), startingWith(most)]);
    }
  }

  get state(): ShadowState {
    return this.#state;
  }

  /** Writes down what it knows. */
  keep(): void {
    if (this.#windows > 0) this.#keep(this.#state);
  }

  /** What was compared of the last week, by whole hours; undefined where nothing was. */
  lastWeek(): ShadowComparison | undefined {
    const { toMs = 0 } = this.#state.hours.at(-1) ?? {};
    return this.comparison(toMs - WEEK_MS, toMs);
  }

  /** What was compared of a time, by whole hours; undefined where nothing was. */
  comparison(fromMs: number, toMs: number): ShadowComparison | undefined {
    return summedUp(this.#state.hours, fromMs, toMs);
  }

  adopt(window: ShadowedWindow): void {
    const { models, windowSet } = window;
    const known = new Map(this.#state.services.map((each) => [each.service, each]));
    const services = windowSet.windows.flatMap((each) => seenOf(each, known.get(each.service), window) ?? []);
    const moved = services.map((service) => this.#moved(service, window));
    for (const { after, kept } of moved) {
      const [fewest, middle, most] = after;
      this.#replicas.set(kept.service, after);
      // What was not seen in this window goes on as it was.
      known.delete(kept.service);
      known.set(kept.service, { ...kept, replicas: [fewest.replicas, middle.replicas, most.replicas] });
    }
    const { hours } = this.#state;
    const compared = models && this.#compared(moved, { ...window, models });
    this.#state = {
      ...this.#state,
      services: [...known.values()].slice(-MOST_SERVICES),
      hours: compared === undefined ? hours : withWindow(hours, compared, MOST_HOURS),
    };
    for (const service of this.#replicas.keys()) {
      if (known.has(service)) continue;
      this.#replicas.delete(service);
      this.#lastUse.delete(service);
    }
    this.#windows += 1;
    if (this.#windows % BLOCK_WINDOWS === 0) this.keep();
  }

  /** While pods start the others still did all the work: then the use is that of the window before. */
  #useOf({ isWhole, kept, usedCores }: Seen, { endMs }: ShadowedWindow["windowSet"]): number {
    const last = this.#lastUse.get(kept.service);
    if (!isWhole && last !== undefined && endMs - last.atMs <= START_MS) return last.usedCores;
    this.#lastUse.set(kept.service, { atMs: endMs, usedCores });
    return usedCores;
  }

  #moved(seen: Seen, window: ShadowedWindow): Moved {
    const { kept, ready, size } = seen;
    const { application, startSeconds = DEFAULT_START_SECONDS, windowSet } = window;
    const hpa = shadowHpa(serviceSpecs(application)(kept.service));
    const before = this.#replicas.get(kept.service);
    const usedCores = this.#useOf(seen, windowSet);
    const variants = ([1 - USE_ERROR, 1, 1 + USE_ERROR] as const).map((factor, place) => {
      const use: ShadowUse = { ...kept, usedCores: factor * usedCores };
      return overWindow(before?.[place] ?? startingWith(ready), hpa, use, windowSet, startSeconds);
    }) as [Over, Over, Over];
    const [fewest, middle, most] = variants;
    return {
      kept,
      actual: { ...size, replicas: ready },
      means: [fewest.meanReady, middle.meanReady, most.meanReady],
      after: [fewest.after, middle.after, most.after],
    };
  }

  #compared(
    moved: readonly Moved[],
    { application, models, windowSet }: ShadowedWindow & { readonly models: WhatIf },
  ): ShadowComparison | undefined {
    if (moved.length === 0) return undefined;
    const hours = (windowSet.endMs - windowSet.startMs) / 3_600_000;
    const priced = (replicasOf: (each: Moved) => number, sizeOf: (each: Moved) => ContainerSize): number =>
      moved.reduce((sum, each) => {
        const { cpuCores, memoryBytes } = sizeOf(each);
        const size = { cpuCores, memoryBytes, replicas: replicasOf(each) };
        return sum + hours * costPerHour(size, application.prices);
      }, 0);
    const shadowCost = (place: 0 | 1 | 2): number =>
      priced(
        ({ means }) => means[place],
        ({ kept }) => kept,
      );
    const costs = [shadowCost(0), shadowCost(1), shadowCost(2)] as const;
    const sizes = new Map(moved.map((each) => [each.kept.service, sizesOf(each)]));
    const over = requestsOver(application, windowSet, models, sizes, this.#bandLog());
    this.#learn(over.logError);
    return {
      fromMs: windowSet.startMs,
      toMs: windowSet.endMs,
      seconds: 3_600 * hours,
      requests: over.requests,
      requestsOver: over.measured,
      cost: priced(
        ({ actual }) => actual.replicas,
        ({ actual }) => actual,
      ),
      hpaRequestsOver: { low: over.low, middle: over.middle, high: over.high },
      hpaCost: {
        low: Math.min(...costs) * (1 - COST_ERROR),
        middle: costs[1],
        high: Math.max(...costs) * (1 + COST_ERROR),
      },
    };
  }

  /** How far ln(predicted) may be off, by the errors that were measured. */
  #bandLog(): number {
    const { blocks } = this.#state;
    const squares = blocks.reduce((sum, each) => sum + each ** 2, PRIOR_BLOCKS * PRIOR_LOG ** 2);
    return BAND_QUANTILE * Math.sqrt(squares / (blocks.length + PRIOR_BLOCKS));
  }

  #learn(logError: number | undefined): void {
    if (logError === undefined) return;
    this.#block.push(logError);
    if (this.#block.length < BLOCK_WINDOWS) return;
    const blocks = [...this.#state.blocks, mean(this.#block)].slice(-MOST_BLOCKS);
    this.#block = [];
    this.#state = { ...this.#state, blocks };
  }
}

type Over = ReturnType<typeof overWindow>;

/** A service of which everything is known that an HPA needs. */
interface Seen {
  readonly kept: Kept;
  readonly ready: number;
  /** Of all ready pods, where the use of some is not known as much as of the others. */
  readonly usedCores: number;
  /** The use of every pod is known: not of one that has just started. */
  readonly isWhole: boolean;
  /** Of a container as it ran. */
  readonly size: ContainerSize;
}

interface Moved {
  readonly kept: Kept;
  readonly actual: ContainerSize & { readonly replicas: number };
  readonly means: readonly [number, number, number];
  readonly after: Variants;
}

const sizesOf = ({ actual, kept: { cpuCores, memoryBytes }, means }: Moved): ShadowSizes => {
  const shadow = (replicas: number) => ({ cpuCores, memoryBytes, replicas: Math.max(1, replicas) });
  return { actual, shadow: [shadow(means[0]), shadow(means[1]), shadow(means[2])] };
};

const sumOf = <Item>(items: readonly Item[], valueOf: (item: Item) => number): number =>
  items.reduce((total, item) => total + valueOf(item), 0);

/** @param known what is kept of it @returns undefined where an HPA would have failed to read its metric */
function seenOf(
  window: Window,
  known: Kept | undefined,
  { application, isResized }: ShadowedWindow,
): Seen | undefined {
  const { namespace, replicasReady: ready, service } = window;
  const size = containerSize(window);
  if (namespace !== application.namespace || ready === undefined || ready === 0 || size === undefined)
    return undefined;
  const pods = mainContainers(window).length;
  const containers = window.containers.filter(({ cpuUsageCores }) => cpuUsageCores !== undefined);
  const counted = mainContainers({ containers }).length;
  // Where only a limit is stated, it is requested too.
  const requestedCores =
    sumOf(window.containers, ({ cpuLimitCores = 0, cpuRequestCores = cpuLimitCores }) => cpuRequestCores) /
    pods;
  if (!(requestedCores > 0) || counted === 0) return undefined;
  const isLimited = window.containers.every(({ cpuLimitCores }) => cpuLimitCores !== undefined);
  const limitCores = sumOf(window.containers, ({ cpuLimitCores = 0 }) => cpuLimitCores) / pods;
  const usedCores = sumOf(containers, ({ cpuUsageCores = 0 }) => cpuUsageCores) * (ready / counted);
  const isWhole = containers.length === window.containers.length;
  const replicas: Kept["replicas"] = known?.replicas ?? [ready, ready, ready];
  const now: Kept = { service, replicas, ...size, requestedCores, ...(isLimited && { limitCores }) };
  return { kept: isResized && known !== undefined ? known : now, ready, usedCores, isWhole, size };
}
