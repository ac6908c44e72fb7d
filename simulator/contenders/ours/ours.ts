import type { PolicyChoice } from "@tradewind/predictor/policy/inputs.ts";
import { within } from "../../control/control-path.ts";
import { numberTrigger, scaledObject } from "../contender.ts";
import type { Brain, Contender, Setting } from "../contender.ts";
import { measured } from "./measured.ts";
import { PredictorAtWork } from "./predictor-at-work.ts";
import { ScalerAtWork } from "./scaler-at-work.ts";

function start(setting: Setting, choice: PolicyChoice, isTraining: boolean): Brain {
  const { actuators, plant, processDown, world } = setting;
  const application = {
    ...plant.application,
    mode: "act",
    resize: actuators === "replicas" ? "off" : "limits",
  } as const;
  const predictor = new PredictorAtWork({
    application,
    choice,
    windowSeconds: plant.windowSeconds,
    startedAtMs: plant.startMs,
    workloads: () => world.workloads(),
    isTraining,
  });
  const scaler = new ScalerAtWork(application, plant.startMs);
  let level = "hold";
  return {
    scaledObject: (service) =>
      scaledObject(setting, service, [numberTrigger((nowMs) => scaler.replicas(service, nowMs))]),
    async onWindow({ nowMs, windowSet }) {
      if (within(processDown, plant.startMs, nowMs)) return;
      const closed = await predictor.close(measured(windowSet), nowMs);
      if (closed === undefined) return;
      level = closed.plan.policy;
      // The exporter asks every second; that second is left out.
      await scaler.takePlan(closed.text, nowMs);
    },
    advice: (service, nowMs) => scaler.advice(service, world.pods(service), nowMs),
    level: () => level,
    notes: () => ({ trainings: predictor.trainings }),
  };
}

const ours = (name: string, choice: PolicyChoice, about: string, isTraining = false): Contender => ({
  name,
  about,
  defaults: {},
  grid: [],
  supports: () => true,
  start: (setting) => start(setting, choice, isTraining),
});

/** Tradewind itself: its predictor's decision and learning and its exporter's guard, as shipped, with default settings. */
export const OURS: readonly Contender[] = [
  ours("tradewind-auto", "auto", "Tradewind, policy auto (the default); profiles stay with their prior."),
  ours(
    "tradewind-plan",
    "plan",
    "Tradewind, policy plan: the planner as soon as anything is known; profiles stay with their prior.",
  ),
  ours("tradewind-queue", "queue", "Tradewind, policy queue: the ladder up to queue balancing."),
  ours(
    "tradewind-auto-trained",
    "auto",
    "Tradewind, policy auto, with its trainings: slower, and only in runs long enough for them.",
    true,
  ),
];
