import { serviceSpecs } from "@tradewind/core/contract/application.ts";
import type { Allocation } from "@tradewind/core/contract/plan.ts";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import { UNTUNED } from "../contenders/contender.ts";
import type { Actuators, Brain, Contender, Setting } from "../contenders/contender.ts";
import type { Advice } from "../control/vpa/recommender.ts";
import { factsOf, numbersBrain } from "../contenders/numbers.ts";
import type { ServiceFacts } from "../contenders/numbers.ts";
import { startOurs } from "../contenders/ours/ours.ts";
import { run } from "../contenders/run.ts";
import type { Obstacle, RunResult } from "../contenders/run.ts";
import { AIMS, rewardMeter } from "./reward.ts";
import type { RewardTerms } from "./reward.ts";
import { scaled, sizeAction } from "./scaling.ts";
import { ACTIONS, TeacherStates } from "./teacher-state.ts";
import type { TeacherState } from "./teacher-state.ts";
import type { Transition } from "./td3/replay.ts";

/** Gives the actions of one state, {@link ACTIONS} for each deployment. */
export type Act = (state: TeacherState) => Float32Array;

/** An action of the planner, as a teacher would give it. */
const PLANNER_ACTION = 0.8;
/** An episode in which more than this share of the requests of three windows in a row failed has ended. */
const FAILED = { share: 0.5, windows: 3 };

interface Step {
  readonly state: TeacherState;
  readonly actions: Float32Array;
  readonly byPlanner: boolean;
}

type OnStep = (step: Step) => void;

const statesOf = ({ plant: { application } }: Setting): TeacherStates =>
  new TeacherStates({
    objectiveSeconds: application.objective.milliseconds / 1e3,
    entry: application.entry,
  });

/** With the replicas that were decided on in place of those that run, so that an agent sees what it has done. */
const decidedOf = (
  facts: readonly ServiceFacts[],
  decided: ReadonlyMap<string, Allocation>,
): ServiceFacts[] =>
  facts.map((each) => ({ ...each, replicas: decided.get(each.service)?.replicas ?? each.replicas }));

/** Replicas that the CPU in use needs: nothing that an agent decides goes below it. */
const reactiveNeed = ({ podCores, usedCores = 0 }: ServiceFacts): number =>
  Math.ceil(usedCores / (podCores * AIMS.cpu) - 1e-6);

/** An agent whose actions are carried out by DRPC's Alg. 2, within the bounds of each service and never below the reactive need. */
export const agentContender = (act: Act, onStep: OnStep = () => undefined): Contender => ({
  name: "td3-teacher",
  about: "DRPC's teacher: TD3 over all deployments, Alg. 2, with the reactive need as floor.",
  ...UNTUNED,
  start: (setting) => {
    const states = statesOf(setting);
    const decided = new Map<string, Allocation>();
    const sized = setting.actuators !== "replicas";
    return numbersBrain(setting, (measured, windowSet) => {
      const facts = decidedOf(measured, decided);
      const state = states.next(facts, windowSet);
      const actions = act(state);
      onStep({ state, actions, byPlanner: false });
      for (const [i, each] of facts.entries()) {
        const { podBytes, podCores, replicas, service, spec } = each;
        const now = decided.get(service) ?? {
          replicas,
          ...(sized && { cpuCores: podCores, memoryBytes: podBytes }),
        };
        const [cpu = 0, memory = 0, count = 0] = actions.subarray(ACTIONS * i, ACTIONS * (i + 1));
        const steps = { cpuCores: spec.cpu.stepCores, memoryBytes: spec.memory.stepBytes };
        const next = scaled([cpu, memory, count], now, steps);
        const least = Math.max(spec.minReplicas, reactiveNeed(each));
        decided.set(service, {
          replicas: Math.min(spec.maxReplicas, Math.max(least, next.replicas)),
          ...(next.cpuCores !== undefined && {
            cpuCores: Math.max(spec.cpu.minCores, Math.min(spec.cpu.maxCores, next.cpuCores)),
          }),
          ...(next.memoryBytes !== undefined && {
            memoryBytes: Math.max(spec.memory.minBytes, Math.min(spec.memory.maxBytes, next.memoryBytes)),
          }),
        });
      }
      return decided;
    });
  },
});

/** Tradewind, policy auto, with its decisions noted as a teacher's actions: what a teacher begins from and is judged against. */
export const plannerContender = (onStep: OnStep = () => undefined): Contender => ({
  name: "planner",
  about: "Tradewind, policy auto.",
  ...UNTUNED,
  start: (setting) => {
    const inner = startOurs(setting, { choice: "auto" });
    const specOf = serviceSpecs(setting.plant.application);
    const states = statesOf(setting);
    let decided = new Map<string, Allocation>();
    const advised = new Map<string, Advice>();
    const step = (windowSet: WindowSet, after: ReadonlyMap<string, Allocation>): void => {
      const facts = decidedOf(factsOf(setting.world, windowSet, specOf), decided);
      const actions = new Float32Array(ACTIONS * facts.length);
      for (const [i, { podBytes, podCores, replicas, service, spec }] of facts.entries()) {
        const to = after.get(service)?.replicas ?? replicas;
        const { cpuCores, memoryBytes } = advised.get(service) ?? {};
        actions.set(
          [
            sizeAction(cpuCores?.target, podCores, spec.cpu.stepCores),
            sizeAction(memoryBytes?.target, podBytes, spec.memory.stepBytes),
            PLANNER_ACTION * Math.sign(to - replicas),
          ],
          ACTIONS * i,
        );
      }
      onStep({ state: states.next(facts, windowSet), actions, byPlanner: true });
    };
    const answersOf = (nowMs: number): Map<string, Allocation> =>
      new Map(
        setting.world.services.flatMap((service): [string, Allocation][] => {
          const replicas = answerOf(inner, service, nowMs);
          return replicas === undefined ? [] : [[service, { replicas }]];
        }),
      );
    return {
      ...inner,
      advice(service, nowMs) {
        const advice = inner.advice?.(service, nowMs);
        if (advice !== undefined) advised.set(service, advice);
        return advice;
      },
      async onWindow(window) {
        await inner.onWindow?.(window);
        const after = answersOf(window.nowMs);
        step(window.windowSet, after);
        decided = after;
      },
    };
  },
});

function answerOf(brain: Brain, service: string, nowMs: number): number | undefined {
  const [trigger] = brain.scaledObject(service)?.triggers ?? [];
  return trigger?.kind === "external" ? trigger.read(nowMs) : undefined;
}

export interface EpisodeOptions {
  readonly obstacle: Obstacle;
  readonly actuators: Actuators;
  readonly seed: number;
  /** Absent: the planner decides. */
  readonly act?: Act;
  readonly terms: RewardTerms;
  readonly onTransition?: (transition: Transition) => void;
}

export interface EpisodeResult extends RunResult {
  /** Mean over the windows. */
  readonly reward: number;
}

/** Plays one plant from its first window to its last. */
export async function playEpisode(options: EpisodeOptions): Promise<EpisodeResult> {
  const { act, actuators, obstacle, onTransition, seed, terms } = options;
  const meter = rewardMeter(obstacle, terms);
  const rewards: number[] = [];
  let failedWindows = 0;
  let now: Step | undefined;
  let before: Step | undefined;
  const onStep = (step: Step): void => {
    [before, now] = [now, step];
  };
  const result = await run({
    obstacle,
    contender: act === undefined ? plannerContender(onStep) : agentContender(act, onStep),
    actuators,
    seed,
    onWindow: (world) => {
      const measured = meter(world);
      if (measured === undefined) return;
      rewards.push(measured.reward);
      const hasEnded = failedWindows >= FAILED.windows;
      failedWindows = measured.failedShare > FAILED.share ? failedWindows + 1 : 0;
      if (before === undefined || now === undefined || hasEnded) return;
      onTransition?.({
        state: before.state,
        actions: before.actions,
        // As a file keeps it.
        reward: Math.fround(measured.reward),
        next: now.state,
        isEnd: failedWindows >= FAILED.windows,
        ...(before.byPlanner && { planner: before.actions }),
      });
    },
  });
  return { ...result, reward: rewards.reduce((sum, each) => sum + each, 0) / Math.max(1, rewards.length) };
}
