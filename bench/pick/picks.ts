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
import { estimateState } from "@tradewind/predictor/profile/service-state.ts";
import { TrainedProfile } from "@tradewind/predictor/profile/trained-profile.ts";
import { observationOf } from "@tradewind/predictor/profile/window-inputs.ts";
import type { Scenario } from "./application.ts";
import type { TrueState } from "./truth.ts";
import { calmStates, disturbedStates, simulatedWindow } from "./windows.ts";

/** One step up of one service. */
export interface Pick {
  readonly service: number;
  readonly resource: Resource;
}

/** A step with what it truly buys. */
export interface TrueStep extends Pick {
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
  readonly application: Application;
  readonly steps: readonly TrueStep[];
  readonly services: readonly PlanService[];
}

/** Windows before the disturbance, which the services' states are estimated from. */
const WINDOWS_BEFORE = 40;

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

/** What the predictor knows at the end of the window: profiles, and states from the windows before the disturbance. */
function knownOf(
  scenario: Scenario,
  models: readonly ProfileModel[],
  before: readonly WindowSet[],
): Map<string, KnownService> {
  const known = new Map<string, KnownService>();
  for (const [i, model] of models.entries()) {
    const windows = before.flatMap((set) => {
      const window: Window | undefined = set.windows[i];
      const observation = window && observationOf(window, 0.95);
      return observation === undefined ? [] : [observation];
    });
    const state = estimateState(windows, model.priorWeight, model.inflation);
    known.set(model.service, {
      profile: new TrainedProfile(model),
      ...(state && { state }),
      baseReplicas: 0,
    });
  }
  return known;
}

function trueSteps(
  scenario: Scenario,
  states: readonly TrueState[],
  services: readonly PlanService[],
  application: Application,
): { steps: TrueStep[]; leastSeconds: number } {
  const tailSeconds = scenario.truth.tailSeconds(states);
  const steps: TrueStep[] = [];
  let leastSeconds = tailSeconds;
  for (const [service, plan] of services.entries()) {
    for (const resource of RESOURCES) {
      const to = stepped(plan, plan.size, resource, "up");
      if (to === undefined) continue;
      const after = scenario.truth.tailIf(service, withSize(states, service, to));
      const cost = costPerHour(to, application.prices) - costPerHour(plan.size, application.prices);
      leastSeconds = Math.min(leastSeconds, after);
      const gainSeconds = tailSeconds - after;
      steps.push({ service, resource, gainSeconds, gainPerCost: gainSeconds / cost });
    }
  }
  steps.sort((a, b) => b.gainPerCost - a.gainPerCost);
  return { steps, leastSeconds };
}

const withSize = (states: readonly TrueState[], changed: number, to: Size): TrueState[] =>
  states.map((state, i) => (i === changed ? { ...state, ...to } : state));

/** An application and what was learnt of it. */
export interface Learnt {
  readonly scenario: Scenario;
  readonly models: readonly ProfileModel[];
  /** One, or none where the call graph alone is as good. */
  readonly residuals: readonly AttentionModel[];
}

/** Draws states until one misses the objective. */
export function pickState({ scenario, models, residuals }: Learnt, rng: Rng): PickState {
  const calmTail = scenario.truth.tailSeconds(scenario.calm);
  let states = disturbedStates(scenario, rng);
  while (scenario.truth.tailSeconds(states) < MISSED_FROM * calmTail) states = disturbedStates(scenario, rng);
  const before = Array.from({ length: WINDOWS_BEFORE }, (_, i) =>
    simulatedWindow(scenario, calmStates(scenario, rng), i * 15_000, rng),
  );
  const windowSet = simulatedWindow(scenario, states, WINDOWS_BEFORE * 15_000, rng);
  const known = knownOf(scenario, models, before);
  for (const [i, { name }] of scenario.truth.services.entries()) {
    known.set(name, { ...known.get(name), baseReplicas: states[i]?.replicas ?? 1 });
  }
  const application = applicationOf(scenario, 1e-6);
  const seen = { scenario, states, windowSet, known, residuals, application, steps: [], services: [] };
  const { services } = planOneStep(seen, "chain");
  const { steps, leastSeconds } = trueSteps(scenario, states, services, application);
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

/** The first step of the plan. */
export function plannedPick(state: PickState, ranking: Ranking): Pick | undefined {
  const [first] = planOneStep(state, ranking).steps;
  if (first === undefined) return undefined;
  return {
    service: state.services.findIndex(({ name }) => name === first.service),
    resource: first.resource,
  };
}

/** The service with the highest measured own tail, and the resource that its profile says brings that down most per cost. */
export function highestLatencyPick({ services, application }: PickState): Pick | undefined {
  const highest = services
    .map((plan, service) => ({ plan, service }))
    .sort((a, b) => b.plan.measuredOwnTailSeconds - a.plan.measuredOwnTailSeconds)[0];
  if (highest === undefined) return undefined;
  const { plan, service } = highest;
  const tail = ({ replicas, cpuCores, memoryBytes }: Size): number =>
    plan.model?.ownTailSeconds(cpuCores, memoryBytes, plan.requestsPerSecond / replicas) ?? 0;
  let best: (Pick & { score: number }) | undefined;
  for (const resource of RESOURCES) {
    const to = stepped(plan, plan.size, resource, "up");
    if (to === undefined) continue;
    const cost = costPerHour(to, application.prices) - costPerHour(plan.size, application.prices);
    const score = (tail(plan.size) - tail(to)) / cost;
    if (best === undefined || score > best.score) best = { service, resource, score };
  }
  return best;
}
