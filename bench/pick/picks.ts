import { Application } from "@tradewind/core/contract/application.ts";
import type { Window, WindowSet } from "@tradewind/core/contract/window.ts";
import type { Rng } from "@tradewind/core/rng.ts";
import type { AttentionModel } from "@tradewind/predictor/endtoend/attention-model.ts";
import type { ApplicationPlan, KnownService } from "@tradewind/predictor/plan/application-plan.ts";
import { PLAN_DEFAULTS, planApplication } from "@tradewind/predictor/plan/application-plan.ts";
import { costPerHour, RESOURCES, stepped } from "@tradewind/predictor/plan/plan-service.ts";
import type { PlanService, Resource, Size } from "@tradewind/predictor/plan/plan-service.ts";
import type { Ranking } from "@tradewind/predictor/plan/prepare.ts";
import type { ProfileModel } from "@tradewind/predictor/profile/model.ts";
import { priorProfile } from "@tradewind/predictor/profile/prior-profile.ts";
import { estimateState } from "@tradewind/predictor/profile/service-state.ts";
import { TrainedProfile } from "@tradewind/predictor/profile/trained-profile.ts";
import { observationOf } from "@tradewind/predictor/profile/window-inputs.ts";
import type { Scenario } from "./application.ts";
import type { Answered } from "./true-application.ts";
import type { TrueState } from "./truth.ts";
import { calmStates, disturbedStates, simulatedWindow } from "./windows.ts";

/** One step up of one service. */
export interface Choice {
  readonly service: number;
  readonly resource: Resource;
}

/** A step with what it truly buys. */
export interface TrueStep extends Choice {
  readonly gainSeconds: number;
  readonly gainPerCost: number;
}

/** A state in which the objective is missed: what is seen of it, and what every step up truly buys, best first. */
export interface PickState {
  readonly scenario: Scenario;
  readonly states: readonly TrueState[];
  readonly windowSet: WindowSet;
  readonly known: ReadonlyMap<string, KnownService>;
  readonly residuals: readonly AttentionModel[];
  /** What is known without any training. */
  readonly untrained: ReadonlyMap<string, KnownService>;
  readonly application: Application;
  readonly steps: readonly TrueStep[];
  readonly services: readonly PlanService[];
}

/** Windows before the disturbance, which the services' states are estimated from. */
const WINDOWS_BEFORE = 40;
/** Calm windows of an application; each state has some of them in a row before it. */
const CALM_WINDOWS = 200;

/** A state counts as missed when the tail is this many times the calm one. */
const MISSED_FROM = 1.3;

/** The objective lies under what any one step reaches, so that no gain is cut off at it. */
const OBJECTIVE_SHARE = 0.6;

const STEP_BOUNDS = { cpu: { maxCores: 8 }, memory: { maxBytes: 8e9 }, maxReplicas: 20 };

function applicationOf({ truth }: Scenario, tailSeconds: number): Application {
  return Application.parse({
    entry: truth.services[0]?.name ?? "",
    objective: { milliseconds: tailSeconds * 1e3 },
    services: truth.services.map(({ name }) => ({ name, ...STEP_BOUNDS })),
  });
}

/** What is known of a service at the end of the windows before the disturbance, by its trained profile or by the prior alone. */
function knownService(
  model: ProfileModel,
  before: readonly WindowSet[],
  baseReplicas: number,
  isTrained: boolean,
): KnownService {
  const windows = before.flatMap(({ windows: all }) => {
    const window: Window | undefined = all.find(({ service }) => service === model.service);
    const observation = window && observationOf(window, 0.95);
    return observation === undefined ? [] : [observation];
  });
  const profile = isTrained ? new TrainedProfile(model) : priorProfile(windows);
  const state = isTrained
    ? estimateState(windows, model.priorWeight, model.inflation)
    : estimateState(windows, 1);
  return { ...(profile && { profile }), ...(state && { state }), baseReplicas };
}

function trueSteps(
  { truth }: Scenario,
  answered: Answered,
  services: readonly PlanService[],
  application: Application,
): { steps: TrueStep[]; leastSeconds: number } {
  const { states, tailSeconds } = answered;
  const steps: TrueStep[] = [];
  let leastSeconds = tailSeconds;
  for (const [service, plan] of services.entries()) {
    const state = states[service];
    if (state === undefined) throw new RangeError(`no state of ${plan.name}`);
    for (const resource of RESOURCES) {
      const to = stepped(plan, plan.size, resource, "up");
      if (to === undefined) continue;
      const after = truth.tailIf(answered, service, { ...state, ...to });
      const cost = costPerHour(to, application.prices) - costPerHour(plan.size, application.prices);
      leastSeconds = Math.min(leastSeconds, after);
      const gainSeconds = tailSeconds - after;
      steps.push({ service, resource, gainSeconds, gainPerCost: gainSeconds / cost });
    }
  }
  steps.sort((a, b) => b.gainPerCost - a.gainPerCost);
  return { steps, leastSeconds };
}

/** An application and what was learnt of it. */
export interface Learnt {
  readonly scenario: Scenario;
  readonly models: readonly ProfileModel[];
  /** One, or none where the call graph alone is as good. */
  readonly residuals: readonly AttentionModel[];
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

/** Draws states until one misses the objective. */
export function pickState(learnt: Learnt, rng: Rng): PickState {
  const { calmTailSeconds, calmWindows, models, residuals, scenario } = learnt;
  const { truth } = scenario;
  let answered = truth.answer(disturbedStates(scenario, rng));
  while (answered.tailSeconds < MISSED_FROM * calmTailSeconds) {
    answered = truth.answer(disturbedStates(scenario, rng));
  }
  const { states } = answered;
  const first = Math.floor(rng() * (CALM_WINDOWS - WINDOWS_BEFORE + 1));
  const before = calmWindows.slice(first, first + WINDOWS_BEFORE);
  const windowSet = simulatedWindow(scenario, states, (first + WINDOWS_BEFORE) * 15_000, rng);
  const knownBy = (isTrained: boolean): Map<string, KnownService> =>
    new Map(
      models.map((model, i) => [
        model.service,
        knownService(model, before, states[i]?.replicas ?? 1, isTrained),
      ]),
    );
  const [known, untrained] = [knownBy(true), knownBy(false)];
  const application = applicationOf(scenario, 1e-6);
  const seen = {
    scenario,
    states,
    windowSet,
    known,
    residuals,
    untrained,
    application,
    steps: [],
    services: [],
  };
  const { services } = planOneStep(seen, "chain");
  const { leastSeconds, steps } = trueSteps(scenario, answered, services, application);
  const bounded = applicationOf(scenario, OBJECTIVE_SHARE * leastSeconds);
  return { ...seen, application: bounded, steps, services };
}

function planOneStep(state: PickState, ranking: Ranking): ApplicationPlan {
  const { application, windowSet, known, residuals } = state;
  return planApplication({
    application,
    windowSet,
    known,
    residuals,
    settings: { ...PLAN_DEFAULTS, ranking, maxSteps: 1 },
    mayTakeBack: false,
  });
}

/** The first step of the plan by the prior, before anything is trained. */
export const untrainedPick = (state: PickState): Choice | undefined =>
  plannedPick({ ...state, known: state.untrained, residuals: [] }, "chain");

/** The first step of the plan. */
export function plannedPick(state: PickState, ranking: Ranking): Choice | undefined {
  const [first] = planOneStep(state, ranking).steps;
  if (first === undefined) return undefined;
  return {
    service: state.services.findIndex(({ name }) => name === first.service),
    resource: first.resource,
  };
}

/** The service with the highest measured own tail, and the resource that its profile says brings that down most per cost. */
export function highestLatencyPick({ services, application }: PickState): Choice | undefined {
  const highest = services
    .map((plan, service) => ({ plan, service }))
    .sort((a, b) => b.plan.measuredOwnTailSeconds - a.plan.measuredOwnTailSeconds)[0];
  if (highest === undefined) return undefined;
  const { plan, service } = highest;
  const tail = ({ replicas, cpuCores, memoryBytes }: Size): number =>
    plan.model?.ownTailSeconds(cpuCores, memoryBytes, plan.requestsPerSecond / replicas) ?? 0;
  let best: (Choice & { score: number }) | undefined;
  for (const resource of RESOURCES) {
    const to = stepped(plan, plan.size, resource, "up");
    if (to === undefined) continue;
    const cost = costPerHour(to, application.prices) - costPerHour(plan.size, application.prices);
    const score = (tail(plan.size) - tail(to)) / cost;
    if (best === undefined || score > best.score) best = { service, resource, score };
  }
  return best;
}
