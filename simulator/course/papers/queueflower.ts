import { hotelReservation } from "../../applications/hotel-reservation.ts";
import type { ApplicationModel } from "../../model/application-model.ts";
import { steady, wave } from "../../model/load.ts";
import type { Load } from "../../model/plant-model.ts";
import { obstacle } from "../obstacle.ts";
import type { ObstacleModel } from "../obstacle.ts";

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

const plant = (name: string, about: string, load: Load): ObstacleModel =>
  obstacle({
    name,
    about,
    application: hotel(),
    load,
    seconds: SECONDS,
    objectiveMs: 100,
    // No more pods fit than all may have together, whoever asks.
    cluster: { nodes: 3, nodeCores: EQUAL_PODS / 3 },
    budgetPods: EQUAL_PODS,
    family: "queueflower",
  });

/** QueueFlower (Fig. 4 to 9): hotel reservation on a fixed number of pods. */
export const QUEUEFLOWER_PLANTS: readonly ObstacleModel[] = [
  plant("queueflower-stationary", "Hotel reservation on 24 pods, 520 requests a second.", steady(520)),
  plant(
    "queueflower-wave",
    "Hotel reservation on 24 pods, from 150 to 640 requests a second and back.",
    wave(150, 640, 600),
  ),
];
