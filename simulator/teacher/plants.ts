import { seededRng, uniform } from "@tradewind/core/values/rng.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import { hotelReservation } from "../applications/hotel-reservation.ts";
import { generated } from "../applications/generated.ts";
import { sockShop } from "../applications/sock-shop.ts";
import type { Obstacle } from "../contenders/run.ts";
import { obstacle, USUAL_LOAD } from "../course/obstacle.ts";
import { obstacleOf } from "../course/plant.ts";
import { shop, withWork } from "../applications/course-shop.ts";
import { replicasFor } from "../model/demand.ts";
import { flashCrowd, surgeOf } from "../model/load.ts";
import type { ApplicationModel, ServiceModel } from "../model/application-model.ts";
import type { Load } from "../model/plant-model.ts";
import type { Span } from "../world.ts";

const SILENCE_SECONDS = 360;
/** The five minutes after the predictor died. */
const JUDGED_SECONDS = 300;
/** Share of its CPU that each service begins with. */
const START_UTILISATION = 0.6;
const RUN_SECONDS = 1_500;
const FIRST_SECONDS = 420;
const SECOND_SECONDS = 1_080;

/**
 * A plant to learn on: an application with other work and sizes than any other seed's, a load of one of four shapes, and two silences, of
 * which the first begins about when the load moves.
 */
export function lessonPlant(seed: number): Obstacle {
  const rng = seededRng(seed);
  const application = applicationOf(rng);
  const base = USUAL_LOAD * uniform(rng, 0.7, 1.8);
  const load = surgeOf(rng, base, FIRST_SECONDS);
  return silentObstacle({ name: `lesson-${seed}`, application, load, seconds: RUN_SECONDS }, [
    { startSeconds: FIRST_SECONDS, endSeconds: FIRST_SECONDS + SILENCE_SECONDS },
    { startSeconds: SECOND_SECONDS, endSeconds: SECOND_SECONDS + SILENCE_SECONDS },
  ]);
}

/** Applications that no lesson is of. */
const HELD_OUT: readonly ((seed: number) => ApplicationModel)[] = [
  () => hotelReservation(),
  () => sockShop(),
  (seed) => generated({ services: 12, seed, cpuMs: 6 }),
];

/** Seeds of one application are so far apart. */
export const HELD_OUT_APPLICATIONS = HELD_OUT.length;

/** A plant that nobody learns on: another application, a flash crowd or a slower rise, and one silence as it begins. */
export function heldOutPlant(seed: number): Obstacle {
  const rng = seededRng(seed);
  const application = HELD_OUT[seed % HELD_OUT.length]?.(seed) ?? hotelReservation();
  const base = uniform(rng, 30, 60);
  const startSeconds = FIRST_SECONDS - uniform(rng, 0, 15);
  const load = flashCrowd({
    base,
    peak: base * uniform(rng, 2, 4),
    startSeconds,
    riseSeconds: uniform(rng, 10, 60),
    holdSeconds: 600,
  });
  const seconds = FIRST_SECONDS + JUDGED_SECONDS;
  return silentObstacle(
    { name: `held-out-${seed}`, application, load, seconds, warmUpSeconds: FIRST_SECONDS },
    [{ startSeconds: FIRST_SECONDS, endSeconds: seconds }],
  );
}

/** Windows of an episode. */
const EPISODE_SECONDS = 96 * 15;
/** Left out of what an episode counts: the first windows know nothing. */
const EPISODE_WARM_UP_SECONDS = 60;

/** A plant for a teacher to learn on: as {@link lessonPlant}, without silences. `flat`: always the same application. */
export function episodePlant(seed: number, kind: "shared" | "flat"): Obstacle {
  const rng = seededRng(seed);
  const application = kind === "flat" ? shop() : applicationOf(rng);
  const load = surgeOf(rng, USUAL_LOAD * uniform(rng, 0.5, 1.2), FIRST_SECONDS);
  return silentObstacle({ ...EPISODE, name: `episode-${seed}`, application, load }, []);
}

/** A plant to judge a teacher by: applications that no episode is of, and loads of all four shapes. `flat`: its own application, other seeds. */
export function judgedPlant(seed: number, kind: "shared" | "flat"): Obstacle {
  const rng = seededRng(seed);
  const heldOut = HELD_OUT[seed % HELD_OUT.length]?.(seed) ?? hotelReservation();
  const application = kind === "flat" ? shop() : heldOut;
  const load = surgeOf(rng, uniform(rng, 30, 60), FIRST_SECONDS);
  return silentObstacle({ ...EPISODE, name: `judged-${seed}`, application, load }, []);
}

const EPISODE = { seconds: EPISODE_SECONDS, warmUpSeconds: EPISODE_WARM_UP_SECONDS } as const;

interface SilentInput {
  readonly name: string;
  readonly application: ApplicationModel;
  readonly load: Load;
  readonly seconds: number;
  /** From when on results count; default 300. */
  readonly warmUpSeconds?: number;
}

function silentObstacle(
  { application, load, name, seconds, warmUpSeconds = 300 }: SilentInput,
  processDown: readonly Span[],
): Obstacle {
  const replicas = replicasFor(application, load(0), START_UTILISATION);
  const services = application.services.map((each) => ({ ...each, replicas: replicas[each.name] ?? 1 }));
  const about = "A silence of the predictor, to learn on.";
  return obstacleOf({
    ...obstacle({
      name,
      about,
      load,
      seconds,
      objectiveMs: 200,
      application: { ...application, services },
      processDown,
    }),
    warmUpSeconds,
  });
}

function applicationOf(rng: Rng): ApplicationModel {
  if (rng() < 0.4)
    return generated({ services: 6 + Math.floor(6 * rng()), seed: Math.floor(1e6 * rng()), cpuMs: 6 });
  const factor = uniform(rng, 0.6, 1.8);
  return shop((each) => sized(withWork(each, factor * uniform(rng, 0.6, 1.6)), rng));
}

function sized(each: ServiceModel, rng: Rng): ServiceModel {
  return ofCores(each, [0.25, 0.5, 0.5, 1][Math.floor(4 * rng())] ?? 0.5);
}

const ofCores = (each: ServiceModel, cores: number): ServiceModel => ({
  ...each,
  container: { ...each.container, cpuRequestCores: cores, cpuLimitCores: cores },
});
