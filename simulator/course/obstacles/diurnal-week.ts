import type { Load } from "../../model/plant-model.ts";
import { obstacle } from "../obstacle.ts";
import type { ObstacleModel } from "../obstacle.ts";

/** A day takes four minutes, so that a week is simulated in seconds. Pods start as slowly as ever: a fifth of such a day. */
const DAY_SECONDS = 240;
const WARM_UP_DAYS = 2;
const DAYS = 7 + WARM_UP_DAYS;
/** Thursday; load is that of a night and a third of the usual rise. */
const HOLIDAY = WARM_UP_DAYS + 3;
const WEEKEND = new Set([WARM_UP_DAYS + 5, WARM_UP_DAYS + 6]);

export function weekOf(daySeconds: number): Load {
  return (at) => {
    const day = Math.floor(at / daySeconds);
    const height = day === HOLIDAY ? 0.33 : WEEKEND.has(day) ? 0.6 : 1;
    // Lowest at midnight, highest at noon.
    const rise = (1 - Math.cos((2 * Math.PI * at) / daySeconds)) / 2;
    return 15 + 75 * height * rise;
  };
}

/** Two days and a week, from Saturday on. @param daySeconds how long a day takes */
export const diurnalWeek = (daySeconds: number): ObstacleModel =>
  obstacle({
    name: "diurnal-week",
    about: `A week of days of ${daySeconds / 60} minutes, with a weekend and a holiday on Thursday: seasons that a forecast can learn, and one that breaks.`,
    load: weekOf(daySeconds),
    seconds: DAYS * daySeconds,
    family: "diurnal",
  });

export const DIURNAL_WEEK = diurnalWeek(DAY_SECONDS);
