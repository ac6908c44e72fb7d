import { wave } from "../../model/load.ts";
import type { Load } from "../../model/plant-model.ts";
import { obstacle } from "../obstacle.ts";
import type { ObstacleInput, ObstacleModel } from "../obstacle.ts";
import { weekOf } from "./diurnal-week.ts";

const RUSH_SECONDS = 1_800;
const DAY_SECONDS = 900;

/** Every half hour load rises from 20 to 100 requests a second within 20 s, and stays there for four minutes. */
const rush: Load = (at) => {
  const into = (at % RUSH_SECONDS) - RUSH_SECONDS / 2;
  return 20 + 80 * Math.max(0, Math.min(1, into / 20, (280 - into) / 20));
};

/** Two hours of which the first, in which seasons may be learnt, is not judged. */
function season(podStartSeconds: number, input: ObstacleInput): ObstacleModel {
  const [low, high] = [900 * podStartSeconds, 1_100 * podStartSeconds];
  return {
    ...obstacle({
      seconds: 7_200,
      family: "seasons",
      cluster: { podStartMs: { kind: "uniform", low, high } },
      ...input,
      name: `${input.name}-${podStartSeconds}`,
      about: `${input.about} Pods take about ${podStartSeconds} s to start; judged from the second hour on.`,
    }),
    warmUpSeconds: 3_600,
  };
}

/** Loads that repeat themselves, for long enough that it can be learnt. */
export const SEASONS: readonly ObstacleModel[] = [60, 180].flatMap((seconds) => [
  season(seconds, {
    name: "long-wave",
    about: "Load between 20 and 100 requests a second with a period of ten minutes, for two hours.",
    load: wave(20, 100, 600),
  }),
  season(seconds, {
    name: "rush",
    about: "Every half hour the load is five times as high for four minutes.",
    load: rush,
  }),
  season(seconds, {
    name: "rush-stops",
    about:
      "Every half hour the load is five times as high for four minutes, for the last time at 80 minutes.",
    load: (at) => (at < 5_400 ? rush(at) : 20),
  }),
  season(seconds, {
    name: "days",
    about: "Days of a quarter of an hour with a weekend and, on the sixth, a holiday.",
    load: weekOf(DAY_SECONDS),
    seconds: 9 * DAY_SECONDS,
  }),
]);
