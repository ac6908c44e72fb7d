import type { Application } from "@tradewind/core/contract/application.ts";
import type { AuditEvent } from "@tradewind/core/contract/audit.ts";
import type { Plan } from "@tradewind/core/contract/plan.ts";
import type { PolicyChoice } from "@tradewind/core/contract/policy-choice.ts";
import { SLOTS_PER_LOOK } from "@tradewind/predictor/run/application/surge-watch.ts";
import type { PolicyInputs } from "@tradewind/predictor/decide/inputs.ts";
import { SLOTS_PER_WINDOW } from "@tradewind/predictor/window/surge.ts";
import { within } from "../../control/control-path.ts";
import type { ApplicationModel } from "../../model/application-model.ts";
import { graceSeconds, numberOf, numberTrigger, scaledObject, UNTUNED } from "../contender.ts";
import type { Brain, Contender, Setting } from "../contender.ts";
import { ArrivalsSeen } from "./arrivals-seen.ts";
import { measured } from "./measured.ts";
import { PredictorAtWork } from "./predictor-at-work.ts";
import type { PredictorOptions } from "./predictor-at-work.ts";
import { ScalerAtWork } from "./scaler-at-work.ts";
import { SilenceAtWork } from "./silence-at-work.ts";
import type { SilenceKind } from "./silence-at-work.ts";

export interface Kind {
  readonly choice: PolicyChoice;
  /** See `CostSettings`. */
  readonly network?: boolean;
  readonly seasons?: boolean;
  readonly nodeSpeeds?: boolean;
  /** See `PredictorOptions`. */
  readonly onInputs?: (inputs: PolicyInputs) => void;
  readonly shadow?: PredictorOptions["shadow"];
  /** What is done with decisions from now on; default act. */
  readonly mode?: () => PredictorOptions["application"]["mode"];
  /** What the scaler does while the predictor's process is down; absent: it holds. */
  readonly silence?: SilenceKind;
  /** Makes another plan of each of the predictor's, as one that is wrong would: to see what becomes of it. */
  readonly rewrite?: (plan: Plan, nowMs: number) => Plan;
  /** Hears what the scaler would write into its audit trail. */
  readonly onEvent?: (event: AuditEvent) => void;
}

/** While no plan comes the scaler looks at what it reads every so many slots: about 5 s. */
const SLOTS_PER_SILENT_LOOK = 7;

export function startOurs(setting: Setting, kind: Kind): Brain {
  const { choice, network = true, nodeSpeeds = true, onEvent, rewrite, seasons = true, silence } = kind;
  const { actuators, plant, processDown, seed, truth, world } = setting;
  const application = {
    ...plant.application,
    resize: actuators === "replicas" ? ("off" as const) : ("limits" as const),
    get mode() {
      return kind.mode?.() ?? "act";
    },
  };
  const windowMs = plant.windowSeconds * 1e3;
  const { sampledRatio, spanDelaySeconds } = truth.telemetry;
  const { entry, routes } = truth.application;
  const arrivals = new ArrivalsSeen({
    routes: routes.filter(({ service }) => service === entry).map(({ name }) => name),
    slotMs: windowMs / SLOTS_PER_WINDOW,
    sampledRatio,
    spanDelayMs: 1e3 * spanDelaySeconds,
    seed,
  });
  const predictor = new PredictorAtWork({
    application,
    choice,
    graceMs: graceSeconds(plant.windowSeconds) * 1e3,
    startedAtMs: plant.startMs,
    workloads: () => world.workloads(),
    network,
    seasons,
    nodeSpeeds,
    arrivals,
    onInputs: kind.onInputs,
    ...(kind.shadow && { shadow: kind.shadow }),
  });
  const scaler = new ScalerAtWork(application, plant.startMs, onEvent);
  let level = "hold";
  let taken = -1;
  let surges = 0;
  const isDown = (nowMs: number): boolean => within(processDown, plant.startMs, nowMs);
  /** The exporter asks every second; that second is left out. */
  const takePlan = async (nowMs: number): Promise<boolean> => {
    const { newest } = predictor;
    if (newest === undefined || newest.plan.sequence === taken) return false;
    taken = newest.plan.sequence;
    level = newest.plan.policy;
    const text = rewrite === undefined ? newest.text : JSON.stringify(rewrite(newest.plan, nowMs));
    await scaler.takePlan(text, nowMs);
    return true;
  };
  const alone = silence && new SilenceAtWork(silence, { scaler, world, windowSeconds: plant.windowSeconds });
  let slots = 0;
  return {
    scaledObject: (service) =>
      scaledObject(setting, service, [numberTrigger((nowMs) => scaler.replicas(service, nowMs))]),
    async onWindow({ nowMs, windowSet }) {
      const isSilent = isDown(nowMs);
      if (isSilent && silence?.lessons === undefined) return;
      predictor.close(measured(windowSet), nowMs);
      if (isSilent && predictor.newest !== undefined) alone?.label(predictor.newest.plan);
      if (!isSilent || silence?.drive === "planner") await takePlan(nowMs);
    },
    betweenWindows: {
      everyMs: arrivals.slotMs,
      async run(nowMs) {
        arrivals.observe(world, within(plant.faults.traceOutages, plant.startMs, nowMs));
        slots += 1;
        if (slots % SLOTS_PER_SILENT_LOOK === 0) await alone?.look(isDown(nowMs), nowMs);
        if (slots % SLOTS_PER_LOOK !== 0 || (isDown(nowMs) && silence?.drive !== "planner")) return;
        predictor.look(nowMs);
        if (await takePlan(nowMs)) surges += 1;
      },
    },
    advice: (service, nowMs) => scaler.advice(service, world.pods(service), nowMs),
    level: () => level,
    notes: () => ({ surges }),
  };
}

const ours = (name: string, kind: Kind, about: string): Contender => ({
  name,
  about,
  ...UNTUNED,
  start: (setting) => startOurs(setting, kind),
});

/** Tradewind itself: its predictor's decision and its exporter's guard, as shipped, with default settings. */
export const OURS: readonly Contender[] = [
  ours(
    "tradewind-auto",
    { choice: "auto" },
    "Tradewind, policy auto (the default): the cheapest sizes by one cost, over queueing models that its windows calibrate.",
  ),
  ours("tradewind-queue", { choice: "queue" }, "Tradewind, policy queue: the ladder up to queue balancing."),
  ours(
    "tradewind-auto-curve",
    { choice: "auto", network: false },
    "Tradewind, policy auto, without the latency network: what it is worth.",
  ),
  ours(
    "tradewind-auto-no-seasons",
    { choice: "auto", seasons: false },
    "Tradewind, policy auto, without forecasts by seasons: what they are worth.",
  ),
  ours(
    "tradewind-auto-no-node-speeds",
    { choice: "auto", nodeSpeeds: false },
    "Tradewind, policy auto, with all nodes taken to be equally fast: what measured speeds are worth.",
  ),
];

/**
 * Tradewind with other steps of CPU and another weight of CPU against memory, for Grad's questions about both. Reports keep the
 * prices of the plant.
 */
export const OTHER_STEPS: Contender = {
  name: "tradewind-auto-other-steps",
  about: "Tradewind, policy auto, with steps and a price of CPU that are multiples of the usual ones.",
  defaults: { stepMultiple: 1, cpuPriceMultiple: 1 },
  grid: [],
  supports: (actuators) => actuators !== "replicas",
  start: (setting, parameters) => {
    const { application } = setting.plant;
    const { prices, services } = application;
    const changed = {
      ...application,
      prices: { ...prices, cpuCoreHour: numberOf(parameters, "cpuPriceMultiple") * prices.cpuCoreHour },
      services: services.map((spec) => {
        const stepCores = numberOf(parameters, "stepMultiple") * spec.cpu.stepCores;
        return Object.assign({}, spec, { cpu: { ...spec.cpu, stepCores } });
      }),
    };
    return startOurs({ ...setting, plant: { ...setting.plant, application: changed } }, { choice: "auto" });
  },
};

/**
 * Tradewind told the objective of each route (`milliseconds` 0), or one for all of them, for QueueFlower's four. What is counted stays as
 * the plant has it.
 */
export const TOLD_OBJECTIVES: Contender = {
  name: "tradewind-auto-told",
  about: "Tradewind, policy auto, told the objective of each route, or one for all.",
  defaults: { milliseconds: 0 },
  grid: [],
  supports: () => true,
  start: (setting, parameters) => {
    const milliseconds = numberOf(parameters, "milliseconds");
    const { application } = setting.plant;
    const told =
      milliseconds > 0
        ? { objective: { ...application.objective, milliseconds } }
        : { objectives: objectivesOf(setting.truth.application) };
    const plant = { ...setting.plant, application: { ...application, ...told } };
    return startOurs({ ...setting, plant }, { choice: "auto" });
  },
};

const objectivesOf = ({ routes }: ApplicationModel): Application["objectives"] =>
  routes.flatMap(({ name: route, objectiveMs: milliseconds }) =>
    milliseconds === undefined ? [] : [{ route, milliseconds }],
  );
