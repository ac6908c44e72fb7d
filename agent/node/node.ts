import { describeError } from "@tradewind/core/values/errors.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import type { Collector, CollectorDefinition, Sink, Source } from "../collectors/collector.ts";
import type { SampleTime } from "../sampling/sample-time.ts";
import { Table } from "../expose/table.ts";
import { AbsentSource, readFailure } from "../read/file-error.ts";
import { NONE } from "../sampling/signal.ts";
import type { SignalId } from "../sampling/signal.ts";
import type { Schedule } from "../read/schedule.ts";

const COLUMNS = [
  {
    name: "tradewind_agent_collector_supported",
    help: "1 when this node has the collector's source, 0 when it has not.",
    kind: "gauge",
  },
  {
    name: "tradewind_agent_collector_success",
    help: "1 when the last sample succeeded; absent when the source is not supported.",
    kind: "gauge",
  },
  {
    name: "tradewind_agent_collector_failures_total",
    help: "Samples that failed although the source is there.",
    kind: "counter",
  },
  { name: "tradewind_agent_collector_duration_seconds", help: "Duration of the last sample.", kind: "gauge" },
  {
    name: "tradewind_agent_collector_sampling_interval_seconds",
    help: "Time between samples now asked for by the sampling controller.",
    kind: "gauge",
  },
  {
    name: "tradewind_agent_collector_last_sample_timestamp_seconds",
    help: "Unix time of the last sample.",
    kind: "gauge",
  },
  { name: "tradewind_agent_collector_samples_total", help: "Samples taken.", kind: "counter" },
  {
    name: "tradewind_agent_collector_misses_total",
    help: "Samples that differed from the held value by more than the tolerance.",
    kind: "counter",
  },
  {
    name: "tradewind_agent_collector_cost_seconds_total",
    help: "Time spent on samples, as an upper bound of their CPU time.",
    kind: "counter",
  },
] as const;
const [SUPPORTED, SUCCESS, FAILURES, DURATION, INTERVAL, LAST, SAMPLES, MISSES, COST] = [
  0, 1, 2, 3, 4, 5, 6, 7, 8,
] as const;

interface OpenCollector {
  readonly definition: CollectorDefinition;
  readonly collector: Collector;
  readonly values: Float64Array;
  signalId: SignalId;
  /** Monotonic time at which an absent source is looked for again. */
  lookAgainSeconds: number;
}

/** A source this node does not have will not come soon: a module is loaded, a file system mounted. */
const LOOK_AGAIN_SECONDS = 60;

/** The node's own collectors: opens them, samples them, contains their failures and tells how they fare. */
export class NodeCollectors {
  readonly #opened: OpenCollector[];
  readonly #self = new Table(COLUMNS);
  readonly #schedule: Schedule;
  readonly #sink: Sink;
  readonly #log: Logger;

  constructor(
    definitions: readonly CollectorDefinition[],
    source: Source,
    schedule: Schedule,
    sink: Sink,
    log: Logger,
  ) {
    this.#schedule = schedule;
    this.#sink = sink;
    this.#log = log;
    this.#opened = definitions.map((definition) => this.#open(definition, source));
  }

  get tables(): Table[] {
    return [...this.#opened.flatMap(({ collector }) => collector.tables), this.#self];
  }

  /** Looks again for sources that were not there. */
  lookAgain(seconds: number): void {
    for (const opened of this.#opened) {
      if (seconds < opened.lookAgainSeconds) continue;
      opened.lookAgainSeconds = Number.POSITIVE_INFINITY;
      opened.signalId = this.#add(opened);
    }
  }

  /** Brings what the controller knows of every collector into the self metrics. */
  refresh(): void {
    for (const { signalId, values } of this.#opened) {
      const state = this.#schedule.state(signalId);
      if (state === undefined) continue;
      values[INTERVAL] = state.intervalSeconds;
      values[SAMPLES] = state.samplesTotal;
      values[MISSES] = state.missesTotal;
      values[COST] = state.costSecondsTotal;
    }
  }

  close(): void {
    for (const { collector, signalId } of this.#opened) {
      this.#schedule.remove(signalId);
      collector.close();
    }
  }

  #open(definition: CollectorDefinition, source: Source): OpenCollector {
    const { name } = definition;
    const { values } = this.#self.row(name, { collector: name });
    values[FAILURES] = 0;
    const lookAgainSeconds = Number.POSITIVE_INFINITY;
    const opened = {
      definition,
      collector: definition.open(source),
      values,
      signalId: NONE,
      lookAgainSeconds,
    };
    opened.signalId = this.#add(opened);
    return opened;
  }

  #add(opened: OpenCollector): SignalId {
    return this.#schedule.add(opened.definition.schedule, {
      read: (time) => this.#sample(opened, time),
      failed: (error) => this.#failed(opened, error),
    });
  }

  #sample({ collector, values }: OpenCollector, time: SampleTime): number {
    const value = collector.sample(time, this.#sink);
    values[DURATION] = Math.max(0, this.#schedule.now().seconds - time.seconds);
    values[SUPPORTED] = 1;
    values[SUCCESS] = 1;
    values[LAST] = time.nowMs / 1e3;
    return value;
  }

  /** What was read before is no longer true: its series go, so that nothing stale is served. */
  #failed(opened: OpenCollector, error: unknown): void {
    const { definition, collector, values } = opened;
    const absent = error instanceof AbsentSource || readFailure(error) === "absent";
    const wasFine = values[SUCCESS] === 1 || Number.isNaN(values[SUPPORTED]);
    for (const table of collector.tables) table.clear();
    values[SUPPORTED] = absent ? 0 : 1;
    values[SUCCESS] = absent ? Number.NaN : 0;
    if (absent) {
      // Slots are handed out again: what a probe does in this one is not this collector's.
      this.#schedule.remove(opened.signalId);
      opened.signalId = NONE;
      for (const column of [INTERVAL, SAMPLES, MISSES, COST]) values[column] = Number.NaN;
      opened.lookAgainSeconds = this.#schedule.now().seconds + LOOK_AGAIN_SECONDS;
    } else {
      values[FAILURES] = (values[FAILURES] ?? 0) + 1;
    }
    if (!wasFine) return;
    const which = { collector: definition.name };
    if (absent) this.#log.debug(which, describeError(error));
    else this.#log.warn(which, `cannot read: ${describeError(error)}`);
  }
}
