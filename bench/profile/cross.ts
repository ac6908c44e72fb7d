import { seededRng } from "@tradewind/core/values/rng.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import { mean, quantile } from "@tradewind/core/values/statistics.ts";
import { emptyMixture, mixed, mixtureAfter } from "@tradewind/predictor/models/level/level-mixture.ts";
import type { MixtureState } from "@tradewind/predictor/models/level/level-mixture.ts";
import { RULES } from "@tradewind/predictor/models/level/level-rules.ts";
import type { LevelPoint, Rule } from "@tradewind/predictor/models/level/level-rules.ts";
import type { LatencyNetwork } from "@tradewind/predictor/models/network/latency-network.ts";
import { LEAST_CALLS, logLoad } from "@tradewind/predictor/models/network/window-inputs.ts";
import type { NetworkWindow } from "@tradewind/predictor/models/network/window-inputs.ts";
import { randomScenario } from "../pick/application.ts";
import type { Scenario } from "../pick/application.ts";
import { seenOf } from "../pick/learn.ts";
import { ownTimes } from "../pick/truth.ts";
import type { TrueState } from "../pick/truth.ts";
import { calmStates, simulatedWindow, sweptStates } from "../pick/windows.ts";
import { rankCorrelation } from "../statistics.ts";
import { insideShare, meanError, rounded } from "./errors.ts";
import { askExperts, EXPERT_COUNT, inOrder } from "./experts.ts";
import type { ServiceHistory } from "./experts.ts";

/** Windows that a service is known from: calm ones, and every so often four of another load and size. */
const WINDOWS = 56;
const CYCLE = 14;
const CALM = 10;
const SERVICES = 6;
const REQUESTS = 4_000;
/** A sweep sends no container more than this of what its demand, at the least, would fill. */
const MOST_USE = 1.1;
const LEAST_DEMAND_SECONDS = 0.004;

/** One size and load that a service was not seen at. */
interface Place {
  readonly kind: "as-it-is" | "cpu" | "replicas" | "load";
  readonly state: TrueState;
}

function placesOf(now: TrueState): Place[] {
  const cpu = [0.5, 0.75, 1.5].map((factor) => ({ cpuCores: now.cpuCores * factor }));
  const replicas = [now.replicas + 1, Math.max(1, Math.round(0.6 * now.replicas))].map((count) => ({
    replicas: count,
  }));
  const load = [1.4, 1.9, 0.5].map((factor) => ({ requestsPerSecond: now.requestsPerSecond * factor }));
  return [
    { kind: "as-it-is", state: now },
    ...cpu.map((to): Place => ({ kind: "cpu", state: { ...now, ...to } })),
    ...replicas.map((to): Place => ({ kind: "replicas", state: { ...now, ...to } })),
    ...load.map((to): Place => ({ kind: "load", state: { ...now, ...to } })),
  ];
}

/** Places whose gains over the place as it is are ranked: half as much CPU again, and one more replica. */
const STEPS = [3, 4] as const;

/** ln of the p95 at one place: what is true, and what was expected of it. */
export interface CrossRow {
  readonly kind: Place["kind"];
  readonly truth: number;
  readonly curve: number;
  readonly network: number;
  /** What is measured where it runs, moved by the ratio of the geometric means of curve and network at the two places. */
  readonly anchored: number;
  readonly rules: Readonly<Record<Rule, number>>;
  readonly low: number;
  readonly high: number;
  /** Twice the p95 of the place as it is, and more. */
  readonly isKnee: boolean;
}

function capped(state: TrueState, threads: number): TrueState {
  const most = (MOST_USE * state.replicas * Math.min(state.cpuCores, threads)) / LEAST_DEMAND_SECONDS;
  return { ...state, requestsPerSecond: Math.min(state.requestsPerSecond, most) };
}

/** The windows of one application: calm, with a few of another load and size. */
function windowsOf(
  scenario: Scenario,
  rng: Rng,
): { readonly sets: ReturnType<typeof simulatedWindow>[]; readonly now: TrueState[] } {
  const sets: ReturnType<typeof simulatedWindow>[] = [];
  let held: TrueState[] = [];
  let now: TrueState[] = [];
  for (let i = 0; i < WINDOWS; i += 1) {
    const calm = calmStates(scenario, rng);
    if (i % CYCLE === CALM) held = sweptStates(scenario, rng);
    const swept = held.map((state, at) => capped(state, scenario.truth.services[at]?.threads ?? 1));
    now = i % CYCLE >= CALM && i < WINDOWS - 1 ? swept : calm;
    sets.push(simulatedWindow(scenario, now, i * 15_000, rng));
  }
  return { sets, now };
}

/** A service after its windows, and how well each expert followed its level. */
interface FollowedService extends ServiceHistory {
  readonly mixture: MixtureState;
}

function follow(network: LatencyNetwork, windows: readonly NetworkWindow[]): FollowedService {
  let mixture = emptyMixture(EXPERT_COUNT);
  const points: LevelPoint[] = [];
  let state = network.empty();
  for (const window of windows) {
    const { calls = 0, cpuCores, loadPerContainer = 0, p95Seconds = 0 } = window.observation;
    const isMeasured = calls >= LEAST_CALLS && p95Seconds > 0;
    if (isMeasured && network.isReady(state)) {
      const answers = askExperts(network, { state, points }, { cpuCores, loadPerContainer });
      mixture = mixtureAfter(mixture, inOrder(answers), Math.log(p95Seconds));
    }
    state = network.after(state, window);
    if (isMeasured) points.push({ load: logLoad(loadPerContainer), time: Math.log(p95Seconds) });
  }
  return { state, points, mixture };
}

/** Rows of each service of one application that the network has never seen. */
export function crossApplication(network: LatencyNetwork, seed: number): CrossRow[][] {
  const scenario = randomScenario(`x${seed}`, SERVICES, 200, seededRng(seed));
  const { now, sets } = windowsOf(scenario, seededRng(seed + 7));
  return scenario.truth.services.flatMap((service, i) => {
    const followed = follow(network, seenOf(sets, service.name));
    if (!network.isReady(followed.state)) return [];
    let level: number | undefined;
    const rows = placesOf(now[i] as TrueState).map(({ kind, state: to }) => {
      const { seconds } = ownTimes(service, to, { count: REQUESTS, key: 77 + i });
      const question = { cpuCores: to.cpuCores, loadPerContainer: to.requestsPerSecond / to.replicas };
      const answers = askExperts(network, followed, question);
      const { by, high, low } = answers;
      const both = (by.curve + by.network) / 2;
      // Places begin with the one where it runs: what is measured there, less what is expected there.
      level ??= mixed(followed.mixture, inOrder(answers)) - both;
      return {
        kind,
        truth: Math.log(quantile(seconds, 0.95)),
        curve: by.curve,
        network: by.network,
        anchored: level + both,
        rules: by,
        low,
        high,
      };
    });
    const here = rows[0]?.truth ?? 0;
    return [rows.map((row): CrossRow => Object.assign(row, { isKnee: row.truth >= here + Math.LN2 }))];
  });
}

const MODELS = ["anchored", "both", "curve", "network", ...RULES] as const;
type Model = (typeof MODELS)[number];
/** ln p95 by one model, by the geometric mean of two, or by a rule. */
function saidBy(row: CrossRow, model: Model): number {
  if (model === "both") return (row.curve + row.network) / 2;
  return model === "curve" || model === "network" || model === "anchored" ? row[model] : row.rules[model];
}

function errorsOf(rows: readonly CrossRow[], model: Model): { readonly mean: number; readonly knee: number } {
  const said = (row: CrossRow): number => saidBy(row, model);
  const knee = rows.filter(({ isKnee }) => isKnee);
  return { mean: meanError(rows, said), knee: meanError(knee, said) };
}

/** Gains of all steps of one application, s: true ones, and those that a model expects. */
function gainsOf(
  services: readonly (readonly CrossRow[])[],
  model: Model,
): { readonly truth: number[]; readonly said: number[] } {
  const gains = services.flatMap((rows) => {
    const [here] = rows;
    if (here === undefined) return [];
    return STEPS.map((step) => {
      const there = rows[step] ?? here;
      return [
        Math.exp(here.truth) - Math.exp(there.truth),
        Math.exp(saidBy(here, model)) - Math.exp(saidBy(there, model)),
      ] as const;
    });
  });
  return { truth: gains.map(([truth]) => truth), said: gains.map(([, said]) => said) };
}

function rankingOf(
  applications: readonly CrossRow[][][],
  model: Model,
): { readonly gainRank: number; readonly bestGainShare: number } {
  const ranks: number[] = [];
  const shares: number[] = [];
  for (const services of applications) {
    const { said, truth } = gainsOf(services, model);
    if (said.length < 4) continue;
    ranks.push(rankCorrelation(truth, said));
    const best = said.indexOf(Math.max(...said));
    shares.push(Math.max(0, (truth[best] ?? 0) / Math.max(...truth)));
  }
  return { gainRank: rounded(mean(ranks, 0)), bestGainShare: rounded(mean(shares, 0)) };
}

/** Errors for sizes and loads not seen, on applications of the project's own simulator. */
export function measureCross(applications: readonly CrossRow[][][]): Record<string, unknown> {
  const rows = applications.flat(2);
  const by = (model: Model): Record<string, number> => ({
    ...errorsOf(rows, model),
    ...rankingOf(applications, model),
  });
  const kinds = [...new Set(rows.map(({ kind }) => kind))];
  return {
    rows: rows.length,
    kneeRows: rows.filter(({ isKnee }) => isKnee).length,
    ...by("anchored"),
    both: by("both"),
    curve: by("curve"),
    network: by("network"),
    rules: Object.fromEntries(RULES.map((rule) => [rule, errorsOf(rows, rule)])),
    kinds: kinds.map((kind) => {
      const among = rows.filter((row) => row.kind === kind);
      const means = MODELS.map((model) => [model, errorsOf(among, model).mean] as const);
      return Object.fromEntries<string | number>([["kind", kind], ...means]);
    }),
    coverage: { all: insideShare(rows), knee: insideShare(rows.filter(({ isKnee }) => isKnee)) },
  };
}
