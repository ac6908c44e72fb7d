import { MOST_PATTERNS, PATTERN_KINDS, PATTERNS_SCHEMA } from "@tradewind/core/contract/pattern.ts";
import type { Pattern, PatternKind, PatternList } from "@tradewind/core/contract/pattern.ts";
import { describeError } from "@tradewind/core/values/errors.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import { Gauge } from "prom-client";
import type { Registry } from "prom-client";
import { FailureWatch } from "../../answers/patterns/failure-watch.ts";
import { loadPatterns } from "../../answers/patterns/load-patterns.ts";
import type { PolicyOutcome } from "../../decide/inputs.ts";
import { entriesPerSecond } from "../../decide/facts/user-flows.ts";
import type { PolicyState } from "../../decide/state.ts";
import type { DecidedWindow } from "./explaining.ts";

const MINUTE_MS = 60_000;
/** Failures come first. */
const LOAD: ReadonlySet<PatternKind> = new Set(["shift", "trend", "season", "anomaly"]);

/** A window that was decided on, and what is remembered after it. */
export interface WatchedWindow extends Pick<DecidedWindow, "application" | "windowSet"> {
  readonly outcome: Pick<PolicyOutcome, "slo" | "state">;
}

/** What windows and the load of an application show, by name. Nothing of it decides. */
export class PatternWatch {
  readonly #failures = new FailureWatch();
  readonly #log: Logger;
  #latest: PatternList | undefined;
  /** Patterns of the load change with its steps and its past only: what they were found in. */
  #load: { readonly of: string; readonly found: readonly Pattern[] } = { of: "", found: [] };

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Takes a window that was decided on. Never throws: what fails is logged, and nothing is shown. */
  window({ application, outcome, windowSet }: WatchedWindow): void {
    try {
      const { name, namespace } = application;
      const windows = windowSet.windows.filter((each) => each.namespace === namespace);
      const failures = this.#failures.window({
        startMs: windowSet.startMs,
        endMs: windowSet.endMs,
        windows,
        severity: outcome.slo?.ratio,
      });
      const found = [...failures, ...this.#loadOf(outcome.state)];
      const requestsPerSecond = entriesPerSecond(windows, application);
      this.#latest = {
        schema: PATTERNS_SCHEMA,
        application: name,
        namespace,
        atMs: windowSet.endMs,
        ...(requestsPerSecond !== undefined && { requestsPerSecond }),
        patterns: found.toSorted((a, b) => rankOf(a) - rankOf(b)).slice(0, MOST_PATTERNS),
      };
    } catch (error) {
      this.#latest = undefined;
      this.#log.error({ problem: describeError(error) }, "no patterns of this window");
    }
  }

  /** The wall clock was set: windows of before have other times. */
  clockStepped(): void {
    this.#failures.clear();
    this.#latest = undefined;
    this.#load = { of: "", found: [] };
  }

  /** Undefined before the first window. */
  latest(): PatternList | undefined {
    return this.#latest;
  }

  /** Those of the last window; the surest failures first. */
  patterns(): readonly Pattern[] {
    return this.#latest?.patterns ?? [];
  }

  #loadOf({ cost }: PolicyState): readonly Pattern[] {
    const foresight = cost?.outlook.foresight;
    if (foresight === undefined) return [];
    const minute = Math.floor((foresight[0]?.series.endMs ?? 0) / MINUTE_MS);
    // The past is put in front of what was measured once it was read.
    const coarse = foresight.slice(1).map(({ isServed, series }) => [series.values.length, isServed]);
    const of = JSON.stringify([minute, coarse, foresight[0]?.isServed]);
    if (of !== this.#load.of) this.#load = { of, found: loadPatterns(foresight) };
    return this.#load.found;
  }
}

const rankOf = ({ confidence, kind }: Pattern): number => (LOAD.has(kind) ? 1 : 0) - confidence;

/** Series of what is seen now; kinds without one are 0, so that alerts find them. */
export function registerPatternMetrics(registry: Registry, watch: Pick<PatternWatch, "patterns">): void {
  const gauge = new Gauge({
    name: "tradewind_pattern_confidence_ratio",
    help: "Confidence in the surest pattern of each kind that the last window and the load show; 0 where none does.",
    labelNames: ["kind"],
    registers: [registry],
    collect() {
      for (const kind of PATTERN_KINDS) {
        const all = watch.patterns().filter((each) => each.kind === kind);
        this.set({ kind }, Math.max(0, ...all.map(({ confidence }) => confidence)));
      }
    },
  });
  for (const kind of PATTERN_KINDS) gauge.set({ kind }, 0);
}
