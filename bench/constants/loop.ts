import { startOurs } from "@tradewind/simulator/contenders/ours/ours.ts";
import { UNTUNED } from "@tradewind/simulator/contenders/contender.ts";
import type { Actuators } from "@tradewind/simulator/contenders/contender.ts";
import { run } from "@tradewind/simulator/contenders/run.ts";
import { COURSE } from "@tradewind/simulator/course/course.ts";
import { obstacleOf } from "@tradewind/simulator/course/plant.ts";
import type { PolicyInputs } from "@tradewind/predictor/decide/inputs.ts";

export interface LoopJob {
  readonly plant: string;
  readonly seed: number;
  readonly actuators: Actuators;
}

export interface LoopResult extends LoopJob {
  readonly requestsOver: number;
  readonly costPerHour: number;
}

/** One run of policy `auto` on one plant of the course. @param onInputs told what each decision was made from */
export async function looped(job: LoopJob, onInputs?: (inputs: PolicyInputs) => void): Promise<LoopResult> {
  const model = COURSE.find(({ name }) => name === job.plant);
  if (model === undefined) throw new Error(`there is no plant '${job.plant}'`);
  const { costPerHour, requestsOver } = await run({
    obstacle: obstacleOf(model),
    contender: {
      name: "tradewind-auto",
      about: "",
      ...UNTUNED,
      start: (setting) => startOurs(setting, { choice: "auto", ...(onInputs && { onInputs }) }),
    },
    actuators: job.actuators,
    seed: job.seed,
  });
  return { ...job, requestsOver, costPerHour };
}
