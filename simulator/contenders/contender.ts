import type { ServiceSpec } from "@tradewind/core/contract/application.ts";
import { serviceSpecs } from "@tradewind/core/contract/application.ts";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import { DOCUMENTED_BEHAVIOR } from "@tradewind/core/hpa/behavior.ts";
import type { Behavior } from "@tradewind/core/hpa/behavior.ts";
import type { ExternalTrigger, ScaledObject, Trigger } from "../control/triggers.ts";
import type { Advice } from "../control/vpa/recommender.ts";
import type { UpdateMode } from "../control/vpa/updater.ts";
import type { PlantModel } from "../model/plant-model.ts";
import type { Plant, Span, World } from "../world.ts";

/** What contenders may change. In one comparison all have the same. */
export const ACTUATORS = ["replicas", "replicas+cpu+memory"] as const;
export type Actuators = (typeof ACTUATORS)[number];

/** What a contender is configured with before a run. */
export interface Setting {
  readonly plant: Plant;
  readonly actuators: Actuators;
  /** Of the contender's own chance, if it has any. */
  readonly seed: number;
  /**
   * What an operator sees at the start: replicas and pods. Contenders read telemetry from the windows they are handed; only
   * the clairvoyant bound and a static size look here.
   */
  readonly world: World;
  /** Scale-down stabilization window that the plant forces on every HPA, s; absent: each contender has its own. */
  readonly forcedScaleDownSeconds?: number | undefined;
  /**
   * The plant as its maker knows it. Load and demands are for the clairvoyant bound alone; ours reads how traces are sampled,
   * which spans say by themselves.
   */
  readonly truth: PlantModel;
  /** The contender's process is down: it gets no windows and gives no new numbers. */
  readonly processDown: readonly Span[];
}

/** A window as a contender gets it: after the span delay and what it takes to close it. */
export interface ClosedWindow {
  readonly windowSet: WindowSet;
  readonly nowMs: number;
}

/** A contender at work in one run. */
export interface Brain {
  /** The ScaledObject or HPA of a service; undefined where none acts on it. Asked for once, at the start. */
  scaledObject(service: string): ScaledObject | undefined;
  /** Called with every window, in order. */
  onWindow?(window: ClosedWindow): void | Promise<void>;
  /** What it does between two windows, every so many ms. */
  readonly betweenWindows?: { readonly everyMs: number; run(nowMs: number): void | Promise<void> };
  /** Content of the service's VPA; called at every round of its updater, only where sizes may move. */
  advice?(service: string, nowMs: number): Advice | undefined;
  /** How its VPAs change running pods; default in place. */
  readonly updateMode?: UpdateMode;
  /** Which level of its own decided the last window, for the report. */
  level?(): string;
  /** What the run has to say of itself, for example trainings made. */
  notes?(): Readonly<Record<string, number>>;
}

export type Parameters = Readonly<Record<string, number | string>>;

/** One policy that can be compared, with the values a tuner tries. */
export interface Contender {
  readonly name: string;
  /** One sentence: what it is, and where it differs from what it is named after. */
  readonly about: string;
  /** Used until a tuner has chosen. One of `grid`. */
  readonly defaults: Parameters;
  /** What the tuner tries; each with the same number of runs as every other contender's. Ours is taken as shipped. */
  readonly grid: readonly Parameters[];
  /** False for one that needs sizes to be movable; absent: true. */
  supports?(actuators: Actuators): boolean;
  start(setting: Setting, parameters: Parameters): Brain;
}

/** Of a contender that nothing is tuned of. */
export const UNTUNED = { defaults: {}, grid: [] } as const;

/** Bounds, polling and behaviour of one service; only the triggers and the window differ between contenders. */
export function scaledObject(
  { forcedScaleDownSeconds, plant }: Setting,
  service: string,
  triggers: readonly Trigger[],
  behavior: Behavior = DOCUMENTED_BEHAVIOR,
): ScaledObject {
  const { maxReplicas, minReplicas } = serviceSpecs(plant.application)(service);
  const scaleDown = {
    ...behavior.scaleDown,
    ...(forcedScaleDownSeconds !== undefined && { stabilizationWindowSeconds: forcedScaleDownSeconds }),
  };
  return {
    minReplicaCount: minReplicas,
    maxReplicaCount: maxReplicas,
    pollingIntervalSeconds: 15,
    cooldownSeconds: 300,
    behavior: { ...behavior, scaleDown },
    triggers,
  };
}

/** A replica count that the contender's own scaler answers with: the metric is the number, its target is 1. */
export function numberTrigger(read: ExternalTrigger["read"]): ExternalTrigger {
  const isActive = (nowMs: number): boolean | undefined => {
    const replicas = read(nowMs);
    return replicas === undefined ? undefined : replicas > 0;
  };
  return { kind: "external", metricType: "AverageValue", target: 1, isFromScaler: true, read, isActive };
}

/** A number parameter. @throws when it is missing, which only a mistake in a grid can cause */
export function numberOf(parameters: Parameters, name: string): number {
  const value = parameters[name];
  if (typeof value !== "number") throw new Error(`parameter '${name}' is not a number`);
  return value;
}

/** All combinations of the values of each parameter. */
export function combinations(values: Readonly<Record<string, readonly (number | string)[]>>): Parameters[] {
  return Object.entries(values).reduce<Parameters[]>(
    (all, [name, options]) => all.flatMap((each) => options.map((value) => ({ ...each, [name]: value }))),
    [{}],
  );
}

/** Late spans are waited for so long: 5 s, or a third of a window where that is less, the predictor's default. */
export const graceSeconds = (windowSeconds: number): number => Math.min(5, windowSeconds / 3);

/** Keeps a number of replicas inside the service's bounds. */
export function bounded(replicas: number, { maxReplicas, minReplicas }: ServiceSpec): number {
  return Math.max(minReplicas, Math.min(maxReplicas, Math.ceil(replicas)));
}
