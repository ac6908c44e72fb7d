import type { Application } from "@tradewind/core/contract/application.ts";
import type { Plan } from "@tradewind/core/contract/plan.ts";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import type { WorkloadList } from "@tradewind/core/contract/workload.ts";
import { Deciding } from "@tradewind/predictor/run/application/deciding.ts";
import type { DecidingOptions } from "@tradewind/predictor/run/application/deciding.ts";
import { NodeRoom } from "@tradewind/predictor/nodes/node-room.ts";
import type { PolicyChoice } from "@tradewind/core/contract/policy-choice.ts";
import { PolicySettings } from "@tradewind/predictor/decide/facts/settings.ts";
import type { PolicyInputs } from "@tradewind/predictor/decide/inputs.ts";
import { emptyState } from "@tradewind/predictor/decide/state.ts";
import { NOTHING_GATHERED } from "@tradewind/predictor/run/application/gathering.ts";
import { SurgeWatch } from "@tradewind/predictor/run/application/surge-watch.ts";
import type { CountedArrivals } from "@tradewind/predictor/window/surge.ts";
import { Published } from "@tradewind/predictor/run/application/published.ts";
import { SpanOrigins } from "@tradewind/predictor/sources/span-origins.ts";

/** Metrics, log and archive of a run that nobody reads: every method exists and does nothing. */
const SILENT: unknown = new Proxy({}, { get: () => () => undefined });

export interface PredictorOptions {
  readonly application: Application;
  readonly choice: PolicyChoice;
  /** From the end of a window until it is decided on, ms. */
  readonly graceMs: number;
  readonly startedAtMs: number;
  readonly workloads: () => WorkloadList;
  /** See `CostSettings`. */
  readonly network: boolean;
  readonly seasons: boolean;
  readonly nodeSpeeds: boolean;
  /** What spans tell of requests between two windows. */
  readonly arrivals: CountedArrivals;
  /** See `DecidingOptions`. */
  readonly shadow?: DecidingOptions["shadow"];
  /** Told the inputs of every decision that is published; absent where nobody records them. */
  readonly onInputs?: ((inputs: PolicyInputs) => void) | undefined;
}

/**
 * The predictor from a closed window to the published plan: its own `Deciding`, with its own ladder and models, around windows
 * that the simulator's sources formed.
 */
export class PredictorAtWork {
  private readonly deciding: Deciding;
  private readonly published: Published;
  private readonly watch: SurgeWatch;
  private windowSet: WindowSet | undefined;
  private problem: string | undefined;
  private nowMs: number;

  constructor(options: PredictorOptions) {
    const { application, choice, startedAtMs, workloads } = options;
    this.nowMs = startedAtMs;
    const clock = { nowMs: () => this.nowMs, monotonicMs: () => this.nowMs };
    const log = this.logOf();
    const { namespace } = application;
    const settings = PolicySettings.parse({
      cost: { network: options.network, seasons: options.seasons, nodeSpeeds: options.nodeSpeeds },
    });
    this.published = new Published(clock);
    this.deciding = new Deciding({
      application: () => application,
      options: { choice, settings },
      state: emptyState(application.name, namespace),
      builder: {
        build: () => this.windowSet,
        totals: () => ({ drops: {}, spansAccepted: 0 }),
        doubts: () => [],
      } as unknown as DecidingOptions["builder"],
      origins: new SpanOrigins(),
      rates: { over: () => new Map() },
      workloads,
      nodes: new NodeRoom(),
      published: this.published,
      archive: { add: (_hash, inputs) => options.onInputs?.(inputs) },
      metrics: SILENT as DecidingOptions["metrics"],
      ...(options.shadow && { shadow: options.shadow }),
      surgeSince: (window) => this.watch.since(window),
      clock,
      log,
      onState: () => undefined,
    });
    this.watch = new SurgeWatch({
      arrivals: options.arrivals,
      lastWindow: () => this.deciding.lastWindow,
      onSurge: (ratio) => this.deciding.surge(ratio),
      graceMs: options.graceMs,
      clock,
    });
  }

  /** A window without a plan is a mistake of the simulation, or of ours: it must not pass for a decision to hold. */
  private logOf(): DecidingOptions["log"] {
    const error = (facts: { readonly problem?: string }): void => {
      this.problem = facts.problem ?? "unknown";
    };
    const silent = SILENT as Record<string, unknown>;
    return new Proxy(silent, {
      get: (target, name) => (name === "error" ? error : (Reflect.get(target, name) as unknown)),
    }) as unknown as DecidingOptions["log"];
  }

  /** Decides on a closed window. @throws Error when that fails, which the predictor itself would log and survive */
  close(set: WindowSet, nowMs: number): void {
    this.windowSet = set;
    this.nowMs = nowMs;
    const { endMs, startMs } = set;
    const times = { startMs, endMs, fromMs: startMs, toMs: endMs };
    this.deciding.close({ ...times, era: 0, repeated: false, stoodStillMs: 0 }, NOTHING_GATHERED, []);
    if (this.problem !== undefined) throw new Error(`no plan for a simulated window: ${this.problem}`);
  }

  /** Looks for a surge since the last window; decides once more where there is one. */
  look(nowMs: number): void {
    this.nowMs = nowMs;
    this.watch.look();
  }

  /** The newest plan, read and as JSON, as `GET /v1/plan` gives it; undefined while there is none. */
  get newest(): { readonly plan: Plan; readonly text: string } | undefined {
    const plan = this.published.plan();
    const text = this.published.planText();
    return text === undefined || plan === undefined ? undefined : { text, plan };
  }
}
