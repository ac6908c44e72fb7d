import { mean } from "@tradewind/core/values/statistics.ts";
import { seededRng } from "@tradewind/core/values/rng.ts";
import type { Obstacle } from "../contenders/run.ts";
import type { Actuators } from "../contenders/contender.ts";
import { gatherPairs } from "./lessons.ts";
import { actSystemWide } from "./system-wide.ts";
import { DECISIONS_COMPARED, KnownStates, retrainingCauses } from "@tradewind/core/students/notifier.ts";
import type { RetrainingCause } from "@tradewind/core/students/notifier.ts";
import { agreementOf, trainStudent } from "@tradewind/core/students/train-student.ts";
import type { Agreement, Pair } from "@tradewind/core/students/train-student.ts";

export interface ImitationOptions {
  readonly seed: number;
  /** Plants of each round. */
  readonly plants: number;
  /** Most rounds in which the student drives and the planner says what it would have done (DAgger, Ross et al. 2011). */
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
  /** Why they should be taught further after the last round; empty: no cause. */
  readonly causes: readonly RetrainingCause[];
}

/** Every so many plants one is kept apart, to judge by. */
const KEPT_APART = 6;

const actuatorsOf = (seed: number): Actuators => (seed % 3 === 0 ? "replicas+cpu+memory" : "replicas");

/** The same student serves all services: for Alg. 1 they are one deployment. */
const ALL = "all";

/**
 * DRPC, Alg. 1 in the simulator: the planner drives and students are taught by it; then students drive, and while the notifier finds
 * a cause they are taught by what the planner would have done.
 */
export async function imitatePlanner(options: ImitationOptions): Promise<Imitation> {
  const { epochs, onProgress, plants, rounds, seed } = options;
  const [training, apart]: [Pair[], Pair[]] = [[], []];
  const of = plants * (rounds + 1);
  const first = await drive(options, 0, undefined);
  const plannerReward = mean(first.rewards, 0);
  let [driven, round, isTaught] = [first, 0, false];
  let causes: readonly RetrainingCause[] = [];
  let parameters: Float64Array | undefined;
  await actSystemWide<Driven>(
    {
      central: async () => Promise.resolve(new Map([[ALL, driven]])),
      train: (_, lessons) => {
        training.push(...lessons.training);
        apart.push(...lessons.apart);
        parameters = trainStudent(training, { epochs, rng: seededRng(seed + round) });
        isTaught = true;
        const { agreement, agreementWhenActing, mse } = agreementOf(parameters, apart);
        const said = `agreement ${agreement.toFixed(3)}, acting ${agreementWhenActing?.toFixed(3)}, mse ${mse.toFixed(4)}`;
        onProgress((round + 1) * plants, of, said);
      },
      distributed: async () => {
        round += 1;
        driven = await drive(options, round, parameters);
        isTaught = false;
      },
      notifier: () => {
        if (isTaught || parameters === undefined) return false;
        causes = causesOf(parameters, driven, plannerReward, training);
        onProgress((round + 1) * plants, of, `teach again: ${causes.join(", ") || "no cause"}`);
        return causes.length > 0;
      },
      isOver: () => (isTaught ? round >= rounds : round > 0 && causes.length === 0),
    },
    true,
  );
  if (parameters === undefined) throw new RangeError("a training has at least one round");
  return { parameters, pairs: training.length, heldOut: agreementOf(parameters, apart), causes };
}

interface Driven {
  readonly training: readonly Pair[];
  readonly apart: readonly Pair[];
  readonly rewards: readonly number[];
}

/** One round of plants. @param parameters of the student that drives; undefined: the planner does */
async function drive(
  { onProgress, plantOf, plants, rounds, seed }: ImitationOptions,
  round: number,
  parameters: Float64Array | undefined,
): Promise<Driven> {
  const [training, apart, rewards]: [Pair[], Pair[], number[]] = [[], [], []];
  for (let index = 0; index < plants; index += 1) {
    const plantSeed = 1_000 * seed + round * plants + index;
    const pairs = await gatherPairs(plantOf(plantSeed), {
      actuators: actuatorsOf(plantSeed),
      parameters,
      seed: plantSeed,
      onReward: (reward) => rewards.push(reward),
    });
    (index % KEPT_APART === 0 ? apart : training).push(...pairs);
    onProgress(round * plants + index + 1, plants * (rounds + 1), `round ${round}, ${training.length} pairs`);
  }
  return { training, apart, rewards };
}

function causesOf(
  parameters: Float64Array,
  { apart, rewards, training }: Driven,
  plannerReward: number,
  lessons: readonly Pair[],
): RetrainingCause[] {
  const pairs = [...training, ...apart];
  const { agreement } = agreementOf(parameters, pairs.slice(-DECISIONS_COMPARED));
  const known = new KnownStates(lessons.map(({ inputs }) => inputs));
  const states = pairs.map(({ inputs }) => inputs);
  return retrainingCauses({ agreement, plannerReward, rewards, states }, known);
}
