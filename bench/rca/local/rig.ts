import { setTimeout as delay } from "node:timers/promises";
import { systemClock } from "@tradewind/core/process/clock.ts";
import { readWith } from "@tradewind/core/values/config.ts";
import { Explanation } from "@tradewind/core/contract/explanation.ts";
import { Plan } from "@tradewind/core/contract/plan.ts";
import { WindowSet } from "@tradewind/core/contract/window.ts";
import { seededRng } from "@tradewind/core/values/rng.ts";
import { applicationOf } from "@tradewind/local/application/applications.ts";
import { createHttpClient } from "@tradewind/local/application/call.ts";
import { arrivals } from "@tradewind/local/load/arrivals.ts";
import { startLoad } from "@tradewind/local/load/generator.ts";
import { LocalOptions } from "@tradewind/local/options.ts";
import { startPlatform } from "@tradewind/local/platform.ts";
import type { Platform } from "@tradewind/local/platform.ts";
import { NAMESPACE } from "@tradewind/local/supervise/workloads.ts";
import { SignalHistory } from "@tradewind/predictor/answers/reason/signal-history.ts";
import type { z } from "zod";

const LOOK_EVERY_MILLIS = 500;
const ANSWER_WITHIN_MILLIS = 2_000;

/** An application of the local platform under a constant load, planned by `auto`; nobody carries the plans out. */
export interface Rig {
  readonly platform: Platform;
  readonly objectiveSeconds: number;
  /** Latency over the objective, or failed requests over those that may be late; by window, oldest first. NaN: not known. */
  readonly severities: readonly number[];
  /** What the windows so far say. */
  readonly signals: SignalHistory;
  /** Resolves after the next window. */
  nextWindow(): Promise<void>;
  /** What the predictor says of its last window. */
  explanation(): Promise<Explanation | undefined>;
  stop(): Promise<void>;
}

export interface RigOptions {
  readonly application: string;
  readonly requestsPerSecond: number;
  readonly objective: string;
  readonly seed: number;
  readonly calibration: string;
  readonly say: (text: string) => void;
}

/** @throws TradewindError where the platform does not start */
export async function startRig(options: RigOptions): Promise<Rig> {
  const { application, calibration, objective, requestsPerSecond, say, seed } = options;
  const local = LocalOptions.parse({ application, objective, calibration, ports: "free", logLevel: "warn" });
  const failed = new AbortController();
  // Counterfactuals start from what runs, not from plans that nobody carries out.
  const platform = await startPlatform(
    { ...local, mode: "recommend" },
    {
      say,
      onFailure: (error) => failed.abort(error),
      signal: failed.signal,
    },
  );
  const client = createHttpClient();
  const load = startLoad({
    arrivals: arrivals([requestsPerSecond], 3_600, applicationOf(application).flows, seededRng(seed)),
    balancer: platform.entryBalancer,
    client,
    clock: systemClock,
    onOutcome: () => undefined,
  });
  const { predictor } = platform.processes.addresses;
  const signals = new SignalHistory();
  const severities: number[] = [];
  let lastEndMs = 0;

  /** @returns whether there was a new one */
  const takeWindow = async (): Promise<boolean> => {
    const [windows, plan] = await Promise.all([
      ask(`${predictor}/v1/windows`, WindowSet),
      ask(`${predictor}/v1/plan`, Plan),
    ]);
    if (
      windows === undefined ||
      plan?.wishes[0]?.inputs.windowEndMs !== windows.endMs ||
      windows.endMs === lastEndMs
    )
      return false;
    lastEndMs = windows.endMs;
    const severity = plan.wishes[0]?.evidence["tailOverObjective"];
    signals.add(windows, severity, NAMESPACE);
    severities.push(severity ?? Number.NaN);
    return true;
  };
  return {
    platform,
    objectiveSeconds: local.objective,
    severities,
    signals,
    async nextWindow() {
      while (!(await takeWindow())) {
        failed.signal.throwIfAborted();
        await delay(LOOK_EVERY_MILLIS);
      }
    },
    explanation: async () => ask(`${predictor}/v1/explain`, Explanation),
    async stop() {
      await load.stop();
      client.close();
      await platform.stop();
    },
  };
}

/** Undefined where there is no answer yet. */
async function ask<Schema extends z.ZodType>(
  url: string,
  schema: Schema,
): Promise<z.output<Schema> | undefined> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(ANSWER_WITHIN_MILLIS) });
    return response.ok ? readWith(schema, await response.json(), url) : undefined;
  } catch {
    return undefined;
  }
}
