import { steady } from "../../model/load.ts";
import { obstacle, USUAL_LOAD } from "../obstacle.ts";

/** p95 of the shop with four times the pods it starts with, ms; a test holds it to what is simulated. */
export const FLOOR_MS = 55;

/** The objective at which the application without load uses so many percent of it. */
const tight = (percent: number, expectation: string) =>
  obstacle({
    name: `tight-${percent}`,
    about: `An objective of which the application without any load takes ${percent} %: ${expectation}`,
    load: steady(USUAL_LOAD),
    objectiveMs: Math.round((100 * FLOOR_MS) / percent),
    family: "tight",
  });

export const TIGHT_OBJECTIVES = [
  tight(75, "little is left for queues."),
  tight(90, "almost nothing is left, and what is bought helps little."),
  tight(110, "no size meets it, so money spent on it is wasted."),
];
