import { applicationOf } from "@tradewind/local/application/applications.ts";
import { shippedTrace } from "@tradewind/local/load/trace.ts";
import type { Contender, Parameters } from "../../simulator/contenders/contender.ts";
import { HPA_CPU } from "../../simulator/contenders/hpa.ts";
import { KEDA_REQUESTS } from "../../simulator/contenders/keda-metrics.ts";
import { OURS } from "../../simulator/contenders/ours/ours.ts";
import { run } from "../../simulator/contenders/run.ts";
import { STATIC } from "../../simulator/contenders/static-size.ts";
import { fixed } from "../../simulator/model/distribution.ts";
import type { Load, PlantModel } from "../../simulator/model/plant-model.ts";
import { plantOf, START_MS } from "../../simulator/plant.ts";
import type { Plant, World } from "../../simulator/world.ts";
import { localModel } from "./local-plant.ts";
import type { MeasuredCost } from "./local-plant.ts";
import type { Figures, RealSetting } from "./real-run.ts";
import { mixedQuantile } from "../statistics.ts";

/** The platform's own timings (`local/actuator/scaled-object.ts`, `local/platform.ts`). */
const WINDOW_SECONDS = 5;
const SYNC_SECONDS = 3;
const SCALE_DOWN_SECONDS = 20;
const POD_START_MS = 1_000;
const OBJECTIVE_MS = 200;
/** Share of a local run that its first phase takes, which real figures leave out. */
const WARM_UP_SHARE = 20 / 150;
/** More than the machine has: its contention is not simulated. */
const NODE_CORES = 64;

const POLICIES: Readonly<Record<string, { readonly contender: Contender; readonly parameters: Parameters }>> =
  {
    static: { contender: STATIC, parameters: { multiple: 1 } },
    "hpa:60": { contender: HPA_CPU, parameters: { targetPercent: 60, scaleDownSeconds: SCALE_DOWN_SECONDS } },
    "keda-rps:40": {
      contender: KEDA_REQUESTS,
      parameters: { requestsPerReplica: 40, scaleDownSeconds: SCALE_DOWN_SECONDS },
    },
    ...Object.fromEntries(
      ["queue", "auto"].flatMap((choice) => {
        const contender = OURS.find(({ name }) => name === `tradewind-${choice}`);
        return contender === undefined ? [] : [[choice, { contender, parameters: {} }]];
      }),
    ),
  };

export const COMPARED_POLICIES: readonly string[] = Object.keys(POLICIES);

/** The platform as a plant, and what it is made from. */
function plantFor(
  { application, requestsPerSecond, seconds }: RealSetting,
  cost: MeasuredCost,
): { readonly plant: Plant; readonly truth: PlantModel } {
  const topology = applicationOf(application);
  const trace = shippedTrace(topology.load);
  const load: Load = (atSeconds) =>
    requestsPerSecond ??
    trace[Math.min(trace.length - 1, Math.floor((atSeconds / seconds) * trace.length))] ??
    0;
  const truth: PlantModel = {
    startMs: START_MS,
    application: localModel(topology, cost),
    load,
    seconds,
    cluster: {
      nodes: 1,
      nodeCores: NODE_CORES,
      nodeMemoryBytes: 256 * 2 ** 30,
      podStartMs: fixed(POD_START_MS),
    },
    telemetry: { sampledRatio: 1, spanDelaySeconds: 0.5, scrapeSeconds: SYNC_SECONDS },
  };
  const plant = plantOf({
    name: application,
    about: "the local platform",
    objective: { milliseconds: OBJECTIVE_MS },
    replicas: { min: 1, max: 4 },
    warmUpSeconds: Math.round(seconds * WARM_UP_SHARE),
    windowSeconds: WINDOW_SECONDS,
    hpa: { syncSeconds: SYNC_SECONDS, scaleDownSeconds: SCALE_DOWN_SECONDS },
    model: truth,
  });
  return { plant, truth };
}

/** Latencies and throughput of an application that nothing scales. */
export function simulatedFigures(setting: RealSetting, cost: MeasuredCost): Figures {
  const { plant } = plantFor(setting, cost);
  const world: World = plant.create(setting.seed);
  world.advanceTo(plant.startMs + plant.seconds * 1e3);
  const { routes } = world.account();
  const groups = routes.map(({ latency }) => latency);
  const answered = routes.reduce((sum, { failed, requests }) => sum + requests - failed, 0);
  const at = (quantile: number): number => 1e3 * mixedQuantile(groups, quantile);
  return { p50Ms: at(0.5), p95Ms: at(0.95), p99Ms: at(0.99), throughput: answered / plant.seconds };
}

/** What a policy does with the application's own load. */
export async function simulatedPolicy(
  setting: RealSetting,
  cost: MeasuredCost,
): Promise<{ readonly requestsOver: number; readonly cores: number }> {
  const policy = POLICIES[setting.policy];
  if (policy === undefined) throw new Error(`policy '${setting.policy}' has no simulated counterpart`);
  const { cores, requestsOver } = await run({
    obstacle: { ...plantFor(setting, cost), forcedScaleDownSeconds: SCALE_DOWN_SECONDS },
    ...policy,
    actuators: setting.policy === "auto" ? "replicas+cpu+memory" : "replicas",
    seed: setting.seed,
  });
  return { requestsOver, cores };
}
