import { generated } from "../../applications/generated.ts";
import { hotelReservation } from "../../applications/hotel-reservation.ts";
import { socialNetwork } from "../../applications/social-network.ts";
import type { ApplicationModel } from "../../model/application-model.ts";
import { replicasFor } from "../../model/demand.ts";
import type { Incident } from "../../model/plant-model.ts";
import { flashCrowd, steady } from "../../model/load.ts";
import { obstacle } from "../obstacle.ts";
import type { ObstacleModel } from "../obstacle.ts";

/** The six rows of Grad's table of resources, by the names they have there. */
export const GRAD_SETTINGS = [
  "low-load",
  "high-load",
  "low-sla",
  "high-sla",
  "low-interference",
  "high-interference",
] as const;
export type GradSetting = (typeof GRAD_SETTINGS)[number];

/** The usual objective is about 1.7 times the p95 without load. */
const APPLICATIONS = {
  "hotel-reservation": { make: hotelReservation, objectiveMs: 100 },
  "social-network": { make: socialNetwork, objectiveMs: 60 },
} as const;

const SECONDS = 900;
/** Pods at the start, by the share of their CPU that the load uses. */
const START_UTILISATION = 0.5;
const USUAL = { requestsPerSecond: 120, objectiveFactor: 1, interference: 0 };
const HIGH_INTERFERENCE = 0.7;
/** What a setting is special in; "low" of the SLA is the strict one, as in the paper. */
const SPECIAL: Readonly<Record<GradSetting, Partial<typeof USUAL>>> = {
  "low-load": { requestsPerSecond: 50 },
  "high-load": { requestsPerSecond: 300 },
  "low-sla": { objectiveFactor: 0.75 },
  "high-sla": { objectiveFactor: 2 },
  "low-interference": { interference: 0.2 },
  "high-interference": { interference: HIGH_INTERFERENCE },
};
/** Work is dearer by this share at full interference. */
const SENSITIVITY = 0.8;
/** Half of the nodes have other tenants. */
const DISTURBED_NODES = [0, 2, 4, 6, 8, 10];

/** An application's own objective of a route is for the objective of most plants. */
const PLANTS_OBJECTIVE_MS = 150;

/** Routes with an objective of their own keep its ratio to that of the others. */
function withObjective(application: ApplicationModel, objectiveMs: number): ApplicationModel {
  const factor = objectiveMs / PLANTS_OBJECTIVE_MS;
  const scale = (route: ApplicationModel["routes"][number]): ApplicationModel["routes"][number] =>
    route.objectiveMs === undefined ? route : { ...route, objectiveMs: factor * route.objectiveMs };
  return { ...application, routes: application.routes.map(scale) };
}

function disturbance(interference: number, nodes = DISTURBED_NODES, fromSeconds = 0): Incident[] {
  if (interference === 0) return [];
  return [
    {
      kind: "interference",
      atSeconds: fromSeconds,
      untilSeconds: SECONDS,
      nodes,
      factor: 1 + SENSITIVITY * interference,
      cpu: interference,
      memoryBandwidth: interference / 2,
    },
  ];
}

export const gradPlantName = (application: string, setting: GradSetting): string =>
  `grad-${application}-${setting}`;

function plantOf(name: keyof typeof APPLICATIONS, setting: GradSetting): ObstacleModel {
  const { interference, objectiveFactor, requestsPerSecond } = { ...USUAL, ...SPECIAL[setting] };
  const { make, objectiveMs: usualMs } = APPLICATIONS[name];
  const objectiveMs = objectiveFactor * usualMs;
  const application = make(replicasFor(make(), requestsPerSecond, START_UTILISATION));
  return obstacle({
    name: gradPlantName(name, setting),
    about: `${name} under a steady load, setting ${setting} of Grad's table of resources.`,
    application: withObjective(application, objectiveMs),
    load: steady(requestsPerSecond),
    seconds: SECONDS,
    objectiveMs,
    incidents: disturbance(interference),
    family: `grad-${name}`,
  });
}

export const GRAD_APPLICATIONS = Object.keys(APPLICATIONS) as readonly (keyof typeof APPLICATIONS)[];

/** Grad (table I, Fig. 12 to 14), on the applications of DeathStarBench that the simulator has with it. */
const GRAD_SETTING_PLANTS: readonly ObstacleModel[] = GRAD_APPLICATIONS.flatMap((name) =>
  GRAD_SETTINGS.map((setting) => plantOf(name, setting)),
);

const SURGE = { base: 60, peak: 120, startSeconds: 360, riseSeconds: 30, holdSeconds: 90 };
const CALL_GRAPH_SERVICES = 2_500;
/** Forty windows: each takes seconds to plan and simulate. */
const CALL_GRAPH_SECONDS = 600;
const NODE_PODS = 24;

function callGraph(): ApplicationModel {
  const application = generated({ services: CALL_GRAPH_SERVICES, seed: 1, cpuMs: 10 });
  const replicas = replicasFor(application, SURGE.base, START_UTILISATION);
  return {
    ...application,
    services: application.services.map((each) =>
      Object.assign({}, each, { replicas: replicas[each.name] ?? 1 }),
    ),
  };
}

function callGraphPlant(): ObstacleModel {
  const application = callGraph();
  const pods = application.services.reduce((sum, { replicas }) => sum + replicas, 0);
  const nodes = 2 * Math.ceil(pods / NODE_PODS);
  return obstacle({
    name: "grad-call-graph",
    about:
      "2,500 services with the call graphs that Alibaba published, through a surge of load and other tenants.",
    application,
    load: flashCrowd(SURGE),
    seconds: CALL_GRAPH_SECONDS,
    objectiveMs: 2_000,
    cluster: { nodes, nodeCores: NODE_PODS, nodeMemoryBytes: NODE_PODS * 4e9 },
    incidents: disturbance(
      HIGH_INTERFERENCE,
      Array.from({ length: nodes / 2 }, (_, index) => 2 * index),
      SURGE.startSeconds,
    ),
    family: "grad-call-graph",
  });
}

/** Grad (Fig. 15), at the size of Alibaba's largest applications. */
export const CALL_GRAPH_PLANT: ObstacleModel = callGraphPlant();

export const GRAD_PLANTS: readonly ObstacleModel[] = [...GRAD_SETTING_PLANTS, CALL_GRAPH_PLANT];
