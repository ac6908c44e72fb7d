import type { Application } from "@tradewind/core/contract/application.ts";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import { parseApplication } from "@tradewind/kubernetes/application/file.ts";
import type { Found } from "@tradewind/kubernetes/init/found.ts";
import { initialise, InitRefusal } from "@tradewind/kubernetes/init/init.ts";
import type { InitOptions, InitResult } from "@tradewind/kubernetes/init/init.ts";
import { parse } from "yaml";
import { backtest } from "../backtest/backtest.ts";
import type { BacktestOptions, BacktestReport } from "../backtest/backtest.ts";
import { HPA_CPU } from "../contenders/hpa.ts";
import { OURS } from "../contenders/ours/ours.ts";
import { calledServices, rootOf, throughEntry, usualMilliseconds } from "./proposal.ts";

/** What was found, whatever it was read from. */
export interface Reading {
  readonly found: Found;
  /** Recorded intervals, oldest first, without routes where metrics tell of none. */
  readonly sets: readonly WindowSet[];
}

/** How `tradewind try` was asked. */
export interface Question {
  readonly namespace: string;
  readonly entry: string | undefined;
  readonly objectiveMilliseconds: number | undefined;
  /** Undefined for p95. */
  readonly percentile?: number | undefined;
  readonly exclude: readonly string[];
  readonly include: readonly string[];
  readonly podStartSeconds: number;
  readonly seed: number;
}

/** What a page is written of. */
export interface Insight {
  readonly application: Application;
  readonly proposed: InitResult;
  /** Why this entry: named, found in routes, or the root of the calls. */
  readonly entryFrom: string;
  /** `given`, of an `slo` object that was found, or measured: what nine of ten intervals kept. */
  readonly objectiveFrom: "given" | "slo" | "measured" | "default";
  /** Services with requests, most requests first. */
  readonly called: readonly string[];
  readonly report: BacktestReport | undefined;
  /** Why nothing could be replayed. */
  readonly unreplayed: string | undefined;
}

const DAY_MS = 86_400_000;
/** Windows times services of one replay: about half a minute's work. */
const MOST_WORK = 2_400;
const FEWEST_REPLAYED = 120;
const MOST_REPLAYED = 480;
/** Before what counts: a predictor that has just begun knows nothing of its services. */
const WARM_UP_INTERVALS = 40;

const HPA_AND_OURS = [HPA_CPU, ...OURS.filter(({ name }) => name === "tradewind-auto")];

/**
 * What a namespace has, what would have happened, and what to apply. The same reading and question give the same answer.
 * @throws InitRefusal where no application can be made of it
 */
export async function insightOf(
  { found, sets }: Reading,
  question: Question,
  onProgress: BacktestOptions["onProgress"],
): Promise<Insight> {
  const called = calledServices(sets);
  const { entryFrom, proposed: first } = entryOf(found, question, sets);
  const routed = sets.some(({ flows }) => flows.some(({ entryService }) => entryService === first.entry))
    ? sets
    : throughEntry(sets, first.entry);
  const usual = usualMilliseconds(routed);
  const { objectiveMilliseconds: given } = question;
  // An objective that was found counts before one that was measured.
  const proposed =
    given === undefined && first.slo !== undefined
      ? first
      : initialise(found, initOptions(question, first.entry, given ?? usual));
  const application = applicationOf(proposed);
  const common = {
    application,
    proposed,
    entryFrom,
    objectiveFrom:
      given !== undefined
        ? ("given" as const)
        : proposed.slo !== undefined
          ? ("slo" as const)
          : usual === undefined
            ? ("default" as const)
            : ("measured" as const),
    called,
  };
  const isBlind = called.length === 1 && proposed.surveyed.workloads.length > 1;
  try {
    const report = await backtest({
      application,
      sets: routed,
      fitRatio: fitRatio(routed),
      contenders: HPA_AND_OURS,
      actuators: "replicas",
      podStartSeconds: question.podStartSeconds,
      seed: question.seed,
      mostReplayed: Math.max(
        FEWEST_REPLAYED,
        Math.min(MOST_REPLAYED, Math.floor(MOST_WORK / Math.max(1, called.length))),
      ),
      warmUpIntervals: WARM_UP_INTERVALS,
      ranges: true,
      ...(onProgress && { onProgress }),
    });
    const unmodelled = report.services.every(({ model }) => model === "none");
    return unmodelled
      ? { ...common, report: undefined, unreplayed: isBlind ? NO_CALLS : NO_SIZES }
      : { ...common, report, unreplayed: undefined };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    const unknown = sets.length - routed.length;
    const why =
      unknown === 0
        ? error.message
        : `${unknown} of the ${sets.length} intervals that were read have no latency of '${proposed.entry}'; ${error.message}`;
    return { ...common, report: undefined, unreplayed: isBlind ? NO_CALLS : why };
  }
}

const NO_CALLS =
  "metrics tell of the entry alone and of none of the services behind it, so latency can be laid to none of them; those of a mesh, of spans or of HTTP servers would";
const NO_SIZES =
  "no service has both requests and the CPU of its containers on record; cAdvisor and kube-state-metrics have to be scraped";

/** All but the last day, or half of what is shorter than two. */
function fitRatio(sets: readonly WindowSet[]): number {
  const span = (sets.at(-1)?.endMs ?? 0) - (sets[0]?.startMs ?? 0);
  return span > 2 * DAY_MS ? 1 - DAY_MS / span : 0.5;
}

/** The named entry; what routes lead to, where it has requests; else the root of the calls. */
function entryOf(
  found: Found,
  question: Question,
  sets: readonly WindowSet[],
): { readonly proposed: InitResult; readonly entryFrom: string } {
  const { entry } = question;
  const root = rootOf(sets);
  try {
    const proposed = initialise(found, initOptions(question, entry, undefined));
    const isMeasured = calledServices(sets).includes(proposed.entry);
    if (entry !== undefined || isMeasured || root === undefined)
      return { proposed, entryFrom: entry === undefined ? proposed.why : "as named" };
  } catch (error) {
    if (!(error instanceof InitRefusal) || entry !== undefined || root === undefined) throw error;
  }
  return {
    proposed: initialise(found, initOptions(question, root, undefined)),
    entryFrom: "no other service calls it",
  };
}

const initOptions = (
  { exclude, include, namespace, percentile }: Question,
  entry: string | undefined,
  milliseconds: number | undefined,
): InitOptions => ({
  name: namespace === "default" ? "app" : namespace,
  nameGiven: false,
  namespace,
  entry,
  objectiveMilliseconds: milliseconds,
  percentile,
  exclude,
  include,
  scalerAddress: "tradewind-scaler.tradewind.svc.cluster.local:9813",
  vpa: false,
  resize: false,
  accept: true,
});

/** The Application as it is written. */
function applicationOf({ files }: InitResult): Application {
  const text = files.find(({ name }) => name === "application.yaml")?.yaml;
  if (text === undefined) throw new TradewindError("unreadable-output", "no Application was written");
  const { metadata, spec } = parse(text) as { readonly metadata: object; readonly spec: object };
  return parseApplication({ ...spec, ...metadata }, "the Application that was written");
}
