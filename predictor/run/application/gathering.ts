import { withinTime } from "@tradewind/core/process/within-time.ts";
import type { Application } from "@tradewind/core/contract/application.ts";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import type { Clock } from "@tradewind/core/process/clock.ts";
import { describeError, TradewindError } from "@tradewind/core/values/errors.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import { combineResources } from "../../sources/combine-windows.ts";
import type { FailedSource, Gathered } from "../../sources/combine-windows.ts";
import type { EndpointHealth } from "@tradewind/core/net/endpoint/health.ts";
import { makeSources } from "../../sources/make-sources.ts";
import type { MadeSources } from "../../sources/make-sources.ts";
import type { PrometheusSource } from "../../sources/prometheus/prometheus-source.ts";
import type { SpanOrigins } from "../../sources/span-origins.ts";
import type { PullResult, SpanSource } from "../../sources/source.ts";
import type { AskedSources } from "../../sources/sources-config.ts";
import { traceOptions } from "../../sources/trace-sources.ts";
import type { Interval } from "../../window/interval.ts";
import { NO_RESOURCES } from "../../window/resources.ts";
import type { ResourceView } from "../../window/resources.ts";
import type { SpanBatch } from "../../window/span.ts";
import type { WindowBuilder } from "../../window/window-builder.ts";

export interface GatheringOptions {
  readonly config: AskedSources;
  /** At the start; its namespace stays. */
  readonly application: Application;
  /** As of now; undefined once it was deleted. */
  readonly current: () => Application | undefined;
  readonly windowSeconds: number;
  readonly builder: WindowBuilder;
  /** Told which source tells of which services. */
  readonly origins: SpanOrigins;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Nothing is gathered: no source is configured that would have to be asked. */
export const NOTHING_GATHERED: Gathered = {
  sets: [],
  resources: NO_RESOURCES,
  failed: [],
};

/** Share of a window that asking about it may take: the next one must not have to wait. */
const TIME_SHARE = 0.8;
const MIN_SECONDS = 2;
const MOST_REMARKS = 100;

/** Asks the configured sources about each window, all at once, before it is decided on. */
export class Gathering {
  readonly sources: MadeSources;
  private readonly options: GatheringOptions;
  private readonly failing = new Set<string>();
  private readonly remarked = new Set<string>();
  private readonly stopping = new AbortController();

  constructor(options: GatheringOptions) {
    this.options = options;
    this.sources = makeSources(options.config, options.application, options.current);
  }

  /** How long after a window all sources can know about it, at least `graceSeconds`. */
  static graceSeconds(sources: AskedSources, graceSeconds: number): number {
    const asked = [...sources.prometheus, ...traceOptions(sources)];
    return Math.max(graceSeconds, ...asked.map((source) => source.graceSeconds));
  }

  health(): EndpointHealth[] {
    return [...this.sources.prometheus, ...this.sources.spans].map(({ endpoint }) => endpoint.health);
  }

  /** What the sources know about one window. Never throws; a source that fails is named in the log once. */
  async gather(interval: Interval): Promise<Gathered> {
    const { prometheus, spans } = this.sources;
    const seconds = Math.max(MIN_SECONDS, this.options.windowSeconds * TIME_SHARE);
    const asked = prometheus.filter(({ options }) => options.metrics !== "none");
    const [sets, resources, pulls] = await withinTime(seconds * 1_000, this.stopping.signal, async (signal) =>
      Promise.all([
        Promise.all(asked.map(async (source) => this.windows(source, interval, signal))),
        Promise.all(prometheus.map(async (source) => this.resources(source, interval, signal))),
        Promise.all(spans.map(async (source) => this.pull(source, interval, signal))),
      ]),
    );
    return {
      sets: sets.flatMap((set) => (isFailure(set) ? [] : [set])),
      resources: resources.reduce(combineResources, NO_RESOURCES),
      failed: [
        ...spans.flatMap(({ name }, index) => failedSource("spans", name, pulls[index])),
        ...asked.flatMap(({ name }, index) => failedSource("metrics", name, sets[index])),
      ],
    };
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await Promise.all(
      [...this.sources.prometheus, ...this.sources.spans].map(async (source) => source.close()),
    );
  }

  private async windows(
    source: PrometheusSource,
    interval: Interval,
    signal: AbortSignal,
  ): Promise<WindowSet | Failure> {
    const set = await this.attempt(source.name, signal, async () =>
      source.windows(interval, NO_RESOURCES, signal),
    );
    this.remark(source);
    return set;
  }

  /** Says in the log what is odd about a source's series, each thing once. */
  private remark(source: PrometheusSource): void {
    const { name } = source;
    for (const { message, remedy } of source.remarks()) {
      const words = `${name}: ${message}`;
      if (this.remarked.has(words) || this.remarked.size >= MOST_REMARKS) continue;
      this.remarked.add(words);
      this.options.log.warn(
        { source: name, message, remedy },
        "the series of a source are not as they should be",
      );
    }
  }

  private async resources(
    source: PrometheusSource,
    interval: Interval,
    signal: AbortSignal,
  ): Promise<ResourceView> {
    if (!source.options.resources) return NO_RESOURCES;
    const view = await this.attempt(`${source.name} resources`, signal, async () =>
      source.resources(interval, signal),
    );
    return isFailure(view) ? NO_RESOURCES : view;
  }

  /** Hands all spans of the interval to the builder. */
  private async pull(
    source: SpanSource,
    interval: Interval,
    signal: AbortSignal,
  ): Promise<PullResult | Failure> {
    const { builder, clock, origins } = this.options;
    const take = (batch: SpanBatch): void => {
      builder.add(batch, clock.nowMs());
      origins.note(source.name, batch, clock.monotonicMs());
    };
    const result = await this.attempt(source.name, signal, async () => source.pull(interval, take, signal));
    return isFailure(result) || result.missing === undefined ? result : { problem: result.missing };
  }

  private async attempt<Result extends object>(
    name: string,
    signal: AbortSignal,
    work: () => Promise<Result>,
  ): Promise<Result | Failure> {
    const { log } = this.options;
    try {
      const result = await inTime(work(), signal);
      if (this.failing.delete(name)) log.info({ source: name }, "the source answers again");
      return result;
    } catch (error) {
      if (!this.failing.has(name) && !this.stopping.signal.aborted) {
        log.warn({ source: name, problem: describeError(error) }, "a source gave nothing for this window");
        this.failing.add(name);
      }
      const isOurs = error instanceof TradewindError && OF_THE_DATA.has(error.code);
      return { problem: isOurs ? error.message : undefined };
    }
  }
}

/** A source of which a window lacks all, or a part. */
interface Failure {
  /** Undefined where it could not be read. */
  readonly problem: string | undefined;
}

const isFailure = (result: object): result is Failure => "problem" in result;

/** Errors that say what is wrong with the data of a server that answers. */
const OF_THE_DATA: ReadonlySet<string> = new Set(["no-series", "several-clusters"]);

function failedSource(
  kind: FailedSource["kind"],
  name: string,
  result: object = { problem: undefined },
): readonly FailedSource[] {
  return isFailure(result) ? [{ name, kind, problem: result.problem }] : [];
}

/** What `work` comes to, if that is before the signal: not all that it may wait for is ended by one. */
async function inTime<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const abort = (): void =>
    reject(new TradewindError("cancelled", "no answer in the time that a window has"));
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  try {
    return await Promise.race([work, late]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
