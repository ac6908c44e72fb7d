import type { Contender, JudgedApplication } from "./application.ts";
import { secondsOf } from "./phases.ts";

/** Calm load before the first run, of which nothing is kept. */
export const WARM_UP_SECONDS = 105;
/** Calm load before a further run, from the moment every component is back at its minimum. */
export const BETWEEN_RUNS_SECONDS = 15;

/** About what it takes to install an application and Tradewind, and to remove them. */
const INSTALL_SECONDS = 45;
/** About what it takes until every component is back at its minimum. */
const RETURN_SECONDS = 15;

/** One contender with one application. */
export interface Task {
  readonly application: JudgedApplication;
  readonly contender: Contender;
  readonly runs: number;
}

/** About how long tasks take. */
export const estimateSeconds = (tasks: readonly Task[]): number =>
  tasks.reduce((sum, task) => sum + taskSeconds(task), 0);

function taskSeconds({ application, runs }: Task): number {
  const between = (runs - 1) * (RETURN_SECONDS + BETWEEN_RUNS_SECONDS);
  return INSTALL_SECONDS + WARM_UP_SECONDS + runs * secondsOf(application.phases) + between;
}
