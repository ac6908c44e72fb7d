import { hotelReservation } from "../../applications/hotel-reservation.ts";
import type { ApplicationModel } from "../../model/application-model.ts";
import { demandPerRequest } from "../../model/demand.ts";
import { steady, wave } from "../../model/load.ts";
import type { Load } from "../../model/plant-model.ts";
import { obstacle } from "../obstacle.ts";
import type { ObstacleInput, ObstacleModel } from "../obstacle.ts";

/** Pods that the application has in all: three of each of the eight services at the start. */
export const EQUAL_PODS = 24;
const EACH = 3;
/** Of which the first five minutes are warm-up: one wave. */
const SECONDS = 900;

/** Shares of the paper, and strict objectives: about twice what a request takes on average without load. */
const ROUTES: Readonly<Record<string, { readonly share: number; readonly objectiveMs: number }>> = {
  "GET /hotels": { share: 0.35, objectiveMs: 100 },
  "POST /reservation": { share: 0.3, objectiveMs: 50 },
  "POST /user": { share: 0.2, objectiveMs: 20 },
  "GET /recommendations": { share: 0.15, objectiveMs: 60 },
};

function hotel(): ApplicationModel {
  const usual = hotelReservation();
  const services = usual.services.map(({ name }) => [name, EACH] as const);
  const application = hotelReservation(Object.fromEntries(services));
  return {
    ...application,
    routes: application.routes.map((route) => Object.assign({ ...route }, ROUTES[route.name])),
  };
}

/** No more pods fit than all may have together, whoever asks. */
const ON_EQUAL_PODS: Partial<ObstacleInput> = {
  cluster: { nodes: 3, nodeCores: EQUAL_PODS / 3 },
  budgetPods: EQUAL_PODS,
};

const plant = (name: string, about: string, load: Load, others = ON_EQUAL_PODS): ObstacleModel =>
  obstacle({
    name,
    about,
    application: hotel(),
    load,
    seconds: SECONDS,
    objectiveMs: 100,
    family: "queueflower",
    ...others,
  });

/**
 * The greatest rate that some sharing of the pods carries, requests a second: each pod left over goes to the service that is full
 * at the least rate.
 * @param coreSeconds CPU of each service for an average request
 * @param podCores CPU of each pod
 */
export function capacityOf(coreSeconds: readonly number[], pods: number, podCores: number): number {
  const given = coreSeconds.map(() => 1);
  const rateOf = (service: number): number =>
    ((given[service] ?? 1) * podCores) / Math.max(Number.EPSILON, coreSeconds[service] ?? 0);
  const tightest = (): number =>
    [...given.keys()].reduce((least, service) => (rateOf(service) < rateOf(least) ? service : least), 0);
  for (let left = pods - given.length; left > 0; left -= 1) {
    const service = tightest();
    given[service] = (given[service] ?? 1) + 1;
  }
  return rateOf(tightest());
}

/** The edge of the region of loads that 24 pods carry, for the shares of the paper, requests a second. */
export const CAPACITY = capacityOf(
  [...demandPerRequest(hotel()).values()].map(({ coreSeconds }) => coreSeconds),
  EQUAL_PODS,
  1,
);

/** Loads inside of the region, over its edge. */
export const REGION_LOADS = [0.75, 0.95] as const;
export const regionPlantName = (load: number): string => `queueflower-region-${Math.round(100 * load)}`;

/** QueueFlower (section IV): what it says of the loads that its pods can carry. */
const REGION_PLANTS = REGION_LOADS.map((load) =>
  plant(
    regionPlantName(load),
    `Hotel reservation on 24 pods at ${Math.round(100 * load)} % of the load that these can carry.`,
    steady(load * CAPACITY),
  ),
);

/** QueueFlower (Fig. 4 to 9): hotel reservation on a fixed number of pods. */
export const QUEUEFLOWER_FIGURE_PLANTS: readonly ObstacleModel[] = [
  plant("queueflower-stationary", "Hotel reservation on 24 pods, 520 requests a second.", steady(520)),
  plant(
    "queueflower-wave",
    "Hotel reservation on 24 pods, from 150 to 640 requests a second and back.",
    wave(150, 640, 600),
  ),
];

/** QueueFlower (Fig. 6): each route has an objective of its own; here for as many pods as it takes. */
export const OBJECTIVES_PLANT = plant(
  "queueflower-objectives",
  "Hotel reservation with four objectives, from 90 to 300 requests a second and back.",
  wave(90, 300, 600),
  { family: "queueflower-objectives" },
);
/** What may be told in place of the four, ms: each of them, and what lies between. */
export const SINGLE_OBJECTIVES_MS = [100, 75, 60, 50, 35, 20] as const;

export const QUEUEFLOWER_PLANTS: readonly ObstacleModel[] = [
  ...QUEUEFLOWER_FIGURE_PLANTS,
  ...REGION_PLANTS,
  OBJECTIVES_PLANT,
];
