import { memoryPeaksAfter } from "@tradewind/predictor/decide/facts/memory-peaks.ts";
import type { MemoryPeak } from "@tradewind/predictor/decide/facts/state.ts";
import { Application } from "@tradewind/core/contract/application.ts";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import { costPerHour } from "@tradewind/core/contract/prices.ts";
import type { Scenario } from "./application.ts";
import { learntFrom, seenOf } from "./learn.ts";
import type { ServiceModel } from "./learn.ts";
import { predictedSteps, RESOURCES, sizeOf, stepUp } from "./models.ts";
import type { Choice, PredictedStep, Seen } from "./models.ts";
import type { Answered, TrueApplication } from "./true-application.ts";
import { calmStates, disturbedStates, simulatedWindow } from "./windows.ts";

/** A step with what it truly buys. */
export interface TrueStep extends Choice {
  readonly gainSeconds: number;
  readonly gainPerCost: number;
}

/** A state in which the objective is missed: what is seen of it, and what every step up truly buys, best first. */
export interface PickState extends Seen {
  readonly steps: readonly TrueStep[];
  /** The best of them by other requests of the same application. */
  readonly bestAgain: Choice | undefined;
}

/** Windows before the disturbance, which profiles are tracked through. */
const WINDOWS_BEFORE = 40;
/** Calm windows of an application; each state has some of them in a row before it. */
const CALM_WINDOWS = 200;

/** A state counts as missed when the tail is this many times the calm one. */
const MISSED_FROM = 1.3;

const STEP_BOUNDS = { cpu: { maxCores: 8 }, memory: { maxBytes: 8e9 }, maxReplicas: 20 };

function applicationOf({ truth }: Scenario): Application {
  return Application.parse({
    entry: truth.services[0]?.name ?? "",
    objective: { milliseconds: 1 },
    services: truth.services.map(({ name }) => ({ name, ...STEP_BOUNDS })),
  });
}

/** What every step up truly buys, best first. */
function trueSteps(
  truth: TrueApplication,
  answered: Answered,
  { windows }: WindowSet,
  application: Application,
): TrueStep[] {
  const { states, tailSeconds } = answered;
  const steps = windows.flatMap((window, service) =>
    RESOURCES.flatMap((resource): TrueStep[] => {
      const state = states[service];
      if (state === undefined) throw new RangeError(`no state of ${window.service}`);
      const size = sizeOf(window);
      const to = stepUp(application, window.service, size, resource);
      if (to === undefined) return [];
      const gainSeconds = tailSeconds - truth.tailIf(answered, service, { ...state, ...to });
      const cost = costPerHour(to, application.prices) - costPerHour(size, application.prices);
      return [{ service, resource, gainSeconds, gainPerCost: gainSeconds / cost }];
    }),
  );
  return steps.sort((a, b) => b.gainPerCost - a.gainPerCost);
}

/** An application and what was learnt of it. */
export interface Learnt {
  readonly scenario: Scenario;
  readonly models: readonly ServiceModel[];
  /** Of a calm day, in order. */
  readonly calmWindows: readonly WindowSet[];
  readonly calmTailSeconds: number;
}

/** The windows of a calm day, and the tail that the objective's misses are measured by. */
export function calmDay(scenario: Scenario, rng: Rng): Pick<Learnt, "calmWindows" | "calmTailSeconds"> {
  return {
    calmWindows: Array.from({ length: CALM_WINDOWS }, (_, i) =>
      simulatedWindow(scenario, calmStates(scenario, rng), i * 15_000, rng),
    ),
    calmTailSeconds: scenario.truth.answer(scenario.calm).tailSeconds,
  };
}

/** What the predictor remembers of the memory that containers used. */
function peaksOf(sets: readonly WindowSet[]): ReadonlyMap<string, readonly MemoryPeak[]> {
  const peaks = new Map<string, readonly MemoryPeak[]>();
  for (const window of sets.flatMap(({ windows }) => windows)) {
    peaks.set(window.service, memoryPeaksAfter(peaks.get(window.service) ?? [], window));
  }
  return peaks;
}

/** Draws states until one misses the objective. */
export function pickState(learnt: Learnt, rng: Rng): PickState {
  const { calmTailSeconds, calmWindows, models, scenario } = learnt;
  const { truth } = scenario;
  let answered = truth.answer(disturbedStates(scenario, rng));
  while (answered.tailSeconds < MISSED_FROM * calmTailSeconds) {
    answered = truth.answer(disturbedStates(scenario, rng));
  }
  const { states } = answered;
  const first = Math.floor(rng() * (CALM_WINDOWS - WINDOWS_BEFORE + 1));
  const before = calmWindows.slice(first, first + WINDOWS_BEFORE);
  const windowSet = simulatedWindow(scenario, states, (first + WINDOWS_BEFORE) * 15_000, rng);
  const seen = [...before, windowSet];
  const known = new Map(
    models.map((model) => [model.service, learntFrom(model, seenOf(seen, model.service))]),
  );
  const application = applicationOf(scenario);
  return {
    application,
    windowSet,
    known,
    memoryPeaks: peaksOf(seen),
    steps: trueSteps(truth, answered, windowSet, application),
    bestAgain: trueSteps(scenario.again, scenario.again.answer(states), windowSet, application)[0],
  };
}

/** The step with the highest score; undefined where none gains anything. */
function best(steps: readonly PredictedStep[], scoreOf: (step: PredictedStep) => number): Choice | undefined {
  const useful = steps.filter(({ gainSeconds }) => gainSeconds > 0);
  return useful.sort((a, b) => scoreOf(b) - scoreOf(a))[0];
}

/** The step that takes most off the route's predicted p95 for its price. */
export const chainPick = (state: Seen): Choice | undefined =>
  best(predictedSteps(state), ({ costPerHour: price, gainSeconds }) => gainSeconds / price);

/** The step that takes most off its own service's predicted p95 for its price. */
export const ownPick = (state: Seen): Choice | undefined =>
  best(predictedSteps(state), ({ costPerHour: price, ownGainSeconds }) => ownGainSeconds / price);

/** As {@link chainPick}, memory among the steps: of a service that lacks it, for the CPU that this would spare. */
export const decisionPick = (state: Seen): Choice | undefined =>
  best(predictedSteps(state, "spares CPU"), ({ costPerHour: price, gainSeconds }) => gainSeconds / price);

const byCurvesAlone = (state: PickState): PickState => ({
  ...state,
  known: new Map([...state.known].map(([name, { profile, service }]) => [name, { profile, service }])),
});

/** As {@link decisionPick}, by the tracked profiles alone. */
export const trackedDecisionPick = (state: PickState): Choice | undefined =>
  decisionPick(byCurvesAlone(state));

/** The service with the highest measured self-time p95, and the resource that its profile says brings that down most per cost. */
export function highestLatencyPick(state: Seen): Choice | undefined {
  const tails = state.windowSet.windows.map(({ ownLatency }) => ownLatency?.p95Seconds ?? 0);
  const highest = tails.indexOf(Math.max(...tails));
  const steps = predictedSteps(state).filter(({ service }) => service === highest);
  return steps.sort((a, b) => b.ownGainSeconds / b.costPerHour - a.ownGainSeconds / a.costPerHour)[0];
}
