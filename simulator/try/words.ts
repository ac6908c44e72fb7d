import type { RunResult } from "../contenders/run.ts";
import { milliseconds, money, percent, time, trustOf } from "../backtest/report/words.ts";
import type { BacktestReport } from "../backtest/backtest.ts";
import { FOLDERS } from "./files.ts";
import type { Insight } from "./insight.ts";

const NAMES: Readonly<Record<string, string>> = {
  "hpa-cpu": "an HPA at 60 % CPU",
  "tradewind-auto": "Tradewind",
};

/** One way of running the application, in words. */
export interface Outcome {
  readonly what: string;
  readonly source: "measured" | "simulated";
  readonly slow: string;
  readonly cost: string;
  readonly pods: string;
}

/** `0.4 % (0.2 to 0.9 %)`: what the replay gave, and between which figures the models' hourly errors put it. */
function ranged(
  { range, result }: BacktestReport["policies"][number],
  value: (result: RunResult) => number,
  words: (value: number) => string,
): string {
  const middle = value(result);
  if (range === undefined) return words(middle);
  const all = [middle, ...range.map((each) => value(each))];
  return `${words(middle)} (${words(Math.min(...all))} to ${words(Math.max(...all))})`;
}

/** What ran, and what each policy would have made of the same requests. */
export function outcomes({ policies, recorded }: BacktestReport): Outcome[] {
  return [
    {
      what: "as it ran",
      source: "measured",
      slow: percent(recorded.requestsOver, 2),
      cost: money(recorded.costPerHour),
      pods: `${recorded.starts} started, ${recorded.stops} stopped`,
    },
    ...policies.map((each): Outcome => {
      const { policy, result } = each;
      return {
        what: NAMES[policy] ?? policy,
        source: "simulated",
        slow: ranged(
          each,
          ({ requestsOver }) => requestsOver,
          (ratio) => percent(ratio, 2),
        ),
        cost: ranged(each, ({ costPerHour }) => costPerHour, money),
        pods: `${result.starts} started, ${result.stops} stopped`,
      };
    }),
  ];
}

/** The one sentence at the top. */
export function verdict({ application, report, unreplayed }: Insight): string {
  if (report === undefined) return `Nothing could be replayed: ${unreplayed ?? ""}.`;
  const ours = report.policies.find(({ policy }) => policy === "tradewind-auto");
  if (ours === undefined) return "Nothing was replayed.";
  const { recorded, routes } = report;
  const [route] = routes;
  const trusted = route !== undefined && route.all.meanRatio <= route.constant.meanRatio;
  const { milliseconds: limit } = application.objective;
  const change = recorded.costPerHour > 0 ? ours.result.costPerHour / recorded.costPerHour - 1 : Number.NaN;
  const cost = Number.isFinite(change)
    ? `at ${percent(Math.abs(change), 0)} ${change < 0 ? "less" : "more"} cost`
    : "at an unknown change of cost";
  const figures = `${percent(ours.result.requestsOver, 2)} of the requests over ${limit} ms instead of ${percent(recorded.requestsOver, 2)}, ${cost}`;
  return trusted
    ? `Tradewind, moving replicas alone, would have had ${figures}.`
    : `Do not believe it yet: the models are worse than a constant here. They say ${figures}.`;
}

/** How far the models were off, a line for each route. */
export const errorLines = ({ routes }: BacktestReport): string[] =>
  routes.map((route) => `${route.route}: ${trustOf(route)}`);

/** The time that was replayed. */
export const replayedTime = ({ replayFromMs, replayToMs, windowSeconds }: BacktestReport): string =>
  `${time(replayFromMs)} to ${time(replayToMs)} UTC, the stretch with most requests, in windows of ${windowSeconds} s`;

export const objectiveWords = ({ application, objectiveFrom, proposed }: Insight): string => {
  const { milliseconds: limit, percentile } = application.objective;
  const from = {
    given: "as you said",
    slo: `as ${proposed.slo?.from ?? ""} has it`,
    measured: "what nine of ten intervals kept: set your own with --objective",
    default: "nothing was measured: set your own with --objective",
  }[objectiveFrom];
  return `p${100 * percentile} within ${milliseconds(limit / 1e3)} (${from})`;
};

/** Steps to apply what was written and to undo that, each with its command. */
export function steps(
  folder: string,
  namespace: string,
  hasBack: boolean,
): { readonly what: string; readonly command: string }[] {
  return [
    {
      what: "Install, in mode recommend: nothing changes",
      command: `helm upgrade --install tradewind charts/tradewind --namespace tradewind --create-namespace --values ${folder}/values.yaml`,
    },
    { what: "Say what is promised to users", command: `kubectl apply -k ${folder}/${FOLDERS.observe}` },
    { what: "Read what it recommends, for days", command: "kubectl tradewind status" },
    {
      what: "Let it act, once you agree",
      command: `kubectl --namespace ${namespace} patch application.tradewind.dev ${namespace === "default" ? "app" : namespace} --type merge --patch '{"spec":{"mode":"act"}}'`,
    },
    { what: "Give KEDA the replicas", command: `kubectl apply -k ${folder}/${FOLDERS.act}` },
    {
      what: "The way back: the ScaledObjects go, and what scaled before returns",
      command: `kubectl delete -k ${folder}/${FOLDERS.act}${hasBack ? ` && kubectl apply -k ${folder}/${FOLDERS.back}` : ""}`,
    },
  ];
}
