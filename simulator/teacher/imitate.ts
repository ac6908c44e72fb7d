import { seededRng } from "@tradewind/core/rng.ts";
import type { Obstacle } from "../contenders/run.ts";
import type { Actuators } from "../contenders/contender.ts";
import { gatherPairs } from "./lessons.ts";
import { agreementOf, trainStudent } from "./train-student.ts";
import type { Agreement, Pair } from "./train-student.ts";

export interface ImitationOptions {
  readonly seed: number;
  /** Plants of each round. */
  readonly plants: number;
  /** Rounds in which the student drives and the planner says what it would have done (DAgger, Ross et al. 2011). */
  readonly rounds: number;
  readonly epochs: number;
  readonly plantOf: (seed: number) => Obstacle;
  readonly onProgress: (done: number, of: number, what: string) => void;
}

export interface Imitation {
  readonly parameters: Float64Array;
  readonly pairs: number;
  /** On plants that were left out of the training. */
  readonly heldOut: Agreement;
}

/** Every so many plants one is kept apart, to judge by. */
const KEPT_APART = 6;

const actuatorsOf = (seed: number): Actuators => (seed % 3 === 0 ? "replicas+cpu+memory" : "replicas");

/** Teaches one student for all services, by what the planner does on many plants. */
export async function imitatePlanner(options: ImitationOptions): Promise<Imitation> {
  const { epochs, onProgress, plantOf, plants, rounds, seed } = options;
  const training: Pair[] = [];
  const apart: Pair[] = [];
  let parameters: Float64Array | undefined;
  const runs = plants * (rounds + 1);
  for (let round = 0; round <= rounds; round += 1) {
    for (let index = 0; index < plants; index += 1) {
      const plantSeed = 1_000 * seed + round * plants + index;
      const pairs = await gatherPairs(plantOf(plantSeed), {
        actuators: actuatorsOf(plantSeed),
        parameters,
        seed: plantSeed,
      });
      (index % KEPT_APART === 0 ? apart : training).push(...pairs);
      onProgress(round * plants + index + 1, runs, `round ${round}, ${training.length} pairs`);
    }
    parameters = trainStudent(training, { epochs, rng: seededRng(seed + round) });
    const { agreement, agreementWhenActing, mse } = agreementOf(parameters, apart);
    onProgress(
      (round + 1) * plants,
      runs,
      `agreement ${agreement.toFixed(3)}, acting ${agreementWhenActing?.toFixed(3)}, mse ${mse.toFixed(4)}`,
    );
  }
  if (parameters === undefined) throw new RangeError("a training has at least one round");
  return { parameters, pairs: training.length, heldOut: agreementOf(parameters, apart) };
}
