import type { Lookup } from "@tradewind/core/net/addresses.ts";
import type { Clock } from "@tradewind/core/process/clock.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import { requireAuthority } from "@tradewind/core/net/reloading-tls.ts";
import { RereadFile } from "@tradewind/core/net/reread-file.ts";
import { TokenFile } from "@tradewind/core/net/token-file.ts";
import type { ExporterOptions } from "../options.ts";
import type { PlanClientOptions } from "./plan-client.ts";
import { OnePredictor } from "./plan-fetcher.ts";
import type { OnePredictorOptions, PlanFetcher } from "./plan-fetcher.ts";
import { PredictorChoice } from "./predictor-choice.ts";

interface FetcherEdges {
  readonly clock: Clock;
  readonly log: Logger;
  readonly lookup: Lookup | undefined;
  /** As {@link PredictorChoice} hears it. */
  readonly onRefused: (problem: string) => void;
}

/**
 * One predictor is asked as it is; several are compared.
 * @throws TradewindError `token-unusable` or `authority-unusable` when a file that predictors are reached with cannot be used
 */
export function makeFetcher(
  options: ExporterOptions,
  edges: FetcherEdges,
  place?: PlanClientOptions["place"],
): PlanFetcher {
  const { predictor } = options;
  const limits = { ...clientOptions(options, edges), place };
  const [only, ...others] = predictor;
  if (only !== undefined && others.length === 0 && !only.startsWith("dns+")) {
    return new OnePredictor(only, limits);
  }
  return new PredictorChoice({ targets: predictor, ...limits, ...edges });
}

/** How every predictor is asked. @throws TradewindError as {@link makeFetcher} */
export function clientOptions(
  options: ExporterOptions,
  edges: Pick<FetcherEdges, "clock" | "log">,
): OnePredictorOptions {
  const { clockTolerance, predictorDeadline, predictorServerName, staleAfter } = options;
  return {
    clock: edges.clock,
    deadlineMs: predictorDeadline * 1e3,
    staleAfterMs: staleAfter * 1e3,
    clockToleranceMs: clockTolerance * 1e3,
    serverName: predictorServerName,
    authorization: bearer(options.predictorTokenFile, edges),
    authority: authority(options.predictorCaFile, edges),
  };
}

function bearer(
  path: string | undefined,
  { clock, log }: Pick<FetcherEdges, "clock" | "log">,
): (() => string) | undefined {
  if (path === undefined) return undefined;
  const token = new TokenFile(path, { monotonicMs: () => clock.monotonicMs(), log });
  return () => `Bearer ${token.current()}`;
}

function authority(
  path: string | undefined,
  { clock, log }: Pick<FetcherEdges, "clock" | "log">,
): (() => Buffer) | undefined {
  if (path === undefined) return undefined;
  const file = new RereadFile(
    path,
    { what: "file of the predictors' authority", code: "authority-unusable", parse: requireAuthority },
    { monotonicMs: () => clock.monotonicMs(), log },
  );
  return () => file.current();
}
