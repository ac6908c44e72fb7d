import { mean } from "@tradewind/core/values/statistics.ts";
import { seededRng } from "@tradewind/core/values/rng.ts";
import type { Benchmark } from "../benchmark.ts";
import { randomScenario } from "./application.ts";
import { learnServices, simulatedSweep } from "./learn.ts";
import { RESOURCES } from "./models.ts";
import type { Choice, Resource } from "./models.ts";
import type { Learnt, PickState } from "./picks.ts";
import {
  calmDay,
  chainPick,
  decisionPick,
  highestLatencyPick,
  ownPick,
  pickState,
  trackedDecisionPick,
} from "./picks.ts";
import { mostMemoryStarved, mostUtilised } from "./rules.ts";

/** Services of each application. */
const SIZES = [6, 7, 6, 7, 6];
const STATES_PER_APPLICATION = 66;
/** Ten hours of windows of 15 s. */
const SWEEP_WINDOWS = 2_400;
const TRUTH_SAMPLES = 10_000;

const QUICK = { sizes: [4], states: 20, windows: 300 };

/** Applications of the report; whatever was tuned was tuned on others (seeds under 100,000). */
const FIRST_SEED = 100_000;

/** A step that buys this much of the best step's gain per cost ties with it: the truth itself is sampled. */
const TIE = 0.99;
const CLOSE = 0.1;
const TOP = 5;

const RANKINGS: Record<string, (state: PickState) => Choice | undefined> = {
  decision: decisionPick,
  trackedDecision: trackedDecisionPick,
  chain: chainPick,
  grad: ownPick,
  highestLatency: highestLatencyPick,
  mostMemoryStarved,
  hpa: mostUtilised,
  truthAgain: ({ bestAgain }) => bestAgain,
};

/** How one ranking chose in one state. */
interface Outcome {
  /** Resource of the best step. */
  readonly best: Resource | undefined;
  /** Resource of the chosen step. */
  readonly chosen: Resource | undefined;
  /** Place of the chosen step among all, from 0; negative where none was chosen. */
  readonly place: number;
  /** Share of the best step's gain per cost that the chosen one falls short of. */
  readonly loss: number;
}

function outcomeOf({ steps }: PickState, choice: Choice | undefined): Outcome {
  const place = steps.findIndex(
    ({ service, resource }) => service === choice?.service && resource === choice.resource,
  );
  const best = steps[0]?.gainPerCost ?? 0;
  return {
    best: steps[0]?.resource,
    chosen: choice?.resource,
    place,
    loss: Math.max(0, 1 - (steps[place]?.gainPerCost ?? 0) / best),
  };
}

const share = (part: number, whole: number): number => Math.round((1_000 * part) / Math.max(1, whole)) / 10;

function summary(outcomes: readonly Outcome[]): Record<string, number> {
  const count = (is: (outcome: Outcome) => boolean): number =>
    share(outcomes.filter(is).length, outcomes.length);
  const losses = outcomes.map(({ loss }) => loss).sort((a, b) => a - b);
  const meanLoss = mean(losses, 0);
  const inPercent = (loss: number): number => Math.round(1_000 * loss) / 10;
  return {
    states: outcomes.length,
    optimal: count(({ place }) => place === 0),
    top5: count(({ place }) => place >= 0 && place < TOP),
    within10Percent: count(({ loss, place }) => place >= 0 && loss <= CLOSE),
    optimalOrTied: count(({ loss, place }) => place >= 0 && 1 - loss >= TIE),
    meanRegretPercent: inPercent(meanLoss),
    p95RegretPercent: inPercent(losses[Math.floor(0.95 * (losses.length - 1))] ?? 0),
  };
}

/** Shares of the states by resource, percent. */
const sharesOf = (resources: readonly (Resource | undefined)[]): Record<string, number> =>
  Object.fromEntries(
    RESOURCES.map((resource) => [
      resource,
      share(resources.filter((each) => each === resource).length, resources.length),
    ]),
  );

/** All states, and those apart in which the best step is of each resource. */
function reportOf(outcomes: readonly Outcome[]): Record<string, unknown> {
  const byBest = RESOURCES.map((resource) => [
    resource,
    summary(outcomes.filter(({ best }) => best === resource)),
  ]);
  const chosen = sharesOf(outcomes.map((outcome) => outcome.chosen));
  return { ...summary(outcomes), chosen, byBest: Object.fromEntries(byBest) as Record<string, unknown> };
}

const isTie = ({ steps: [best, next] }: PickState): boolean =>
  (next?.gainPerCost ?? 0) >= TIE * (best?.gainPerCost ?? 0);

/** A simulated application, its sweep, and what the predictor learns of it. */
function learn(seed: number, services: number, quick: boolean): Learnt {
  const scenario = randomScenario(`application ${seed}`, services, TRUTH_SAMPLES, seededRng(seed));
  const sweep = simulatedSweep(scenario, quick ? QUICK.windows : SWEEP_WINDOWS, seededRng(seed + 1));
  const models = learnServices(scenario, sweep);
  return { scenario, models, ...calmDay(scenario, seededRng(seed + 3)) };
}

export const benchmark: Benchmark = {
  summary:
    "how often the best step by the models is the best of all single steps, on simulated applications (10 min of CPU)",
  run({ seed, quick, progress }) {
    const outcomes = new Map<string, Outcome[]>(Object.keys(RANKINGS).map((name) => [name, []]));
    const sizes = quick ? QUICK.sizes : SIZES;
    const perApplication = quick ? QUICK.states : STATES_PER_APPLICATION;
    const startedMs = performance.now();
    let states = 0;
    let nearTies = 0;
    for (const [at, services] of sizes.entries()) {
      const applicationSeed = FIRST_SEED + 1_000 * seed + 10 * at;
      const learnt = learn(applicationSeed, services, quick);
      const rng = seededRng(applicationSeed + 2);
      const drawn = Array.from({ length: perApplication }, () => pickState(learnt, rng));
      states += drawn.length;
      nearTies += drawn.filter(isTie).length;
      for (const [name, pick] of Object.entries(RANKINGS)) {
        outcomes.get(name)?.push(...drawn.map((state) => outcomeOf(state, pick(state))));
      }
      const seconds = (performance.now() - startedMs) / 1e3;
      const left = (seconds / (at + 1)) * (sizes.length - at - 1);
      progress(`${at + 1} of ${sizes.length} simulated applications, ${left.toFixed(0)} s to go`);
    }
    return Promise.resolve({
      simulated: true,
      states,
      applications: sizes.length,
      sweepWindows: quick ? QUICK.windows : SWEEP_WINDOWS,
      nearTies,
      bestSteps: sharesOf((outcomes.get("chain") ?? []).map(({ best }) => best)),
      rankings: Object.fromEntries([...outcomes].map(([name, all]) => [name, reportOf(all)])),
    });
  },
};
