import { seededRng, standardNormal } from "@tradewind/core/values/rng.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import type { Actuators } from "../contenders/contender.ts";
import type { Obstacle } from "../contenders/run.ts";
import { playEpisode } from "./episode.ts";
import type { Act } from "./episode.ts";
import type { RewardTerms } from "./reward.ts";
import type { Checkpoint, Settings } from "./td3/checkpoint.ts";
import type { Tensors } from "./td3/engine.ts";
import type { Shape } from "./td3/networks.ts";
import { Replay } from "./td3/replay.ts";
import { actionsOf, newTd3, Td3 } from "./td3/td3.ts";

export interface TeachingOptions {
  readonly seed: number;
  readonly shape: Shape;
  /** Episodes that the planner drives, which fill the buffer and which the actor is cloned from. */
  readonly plannerEpisodes: number;
  /** All episodes, those of the planner among them. */
  readonly episodes: number;
  readonly batch: number;
  readonly buffer: number;
  /** Updates after each episode; as many as it has steps is the paper's. */
  readonly updates: number;
  /** Episodes over which the actor's ties to the planner loosen; 0: none, as printed. */
  readonly tiedEpisodes: number;
  readonly actuators: Actuators;
  readonly terms: RewardTerms;
  readonly plantOf: (seed: number) => Obstacle;
  /** Called after each episode, with what a later run goes on from. @returns false to stop here */
  readonly onEpisode: (checkpoint: Checkpoint) => Promise<boolean>;
}

/** Standard deviation of the noise that a teacher explores with. */
const EXPLORATION = 0.1;
/** Passes over the planner's steps when the actor is cloned. */
const CLONING_EPOCHS = 10;

/** Chance of one episode: equal whether the training was interrupted before it or not. */
const rngOf = (seed: number, episode: number): Rng => seededRng(1_000_003 * seed + episode);

/** What of the options decides what is learnt. */
export const settingsOf = ({
  actuators,
  batch,
  buffer,
  plannerEpisodes,
  seed,
  terms,
  tiedEpisodes,
  updates,
}: TeachingOptions): Settings => ({
  seed,
  plannerEpisodes,
  batch,
  buffer,
  updates,
  tiedEpisodes,
  actuators,
  churnTerm: terms.churn,
  costTerm: terms.cost,
});

/** The policy of a checkpoint, without noise. */
export const policyOf =
  ({ shape, td3 }: Pick<Checkpoint, "shape" | "td3">): Act =>
  (state) =>
    actionsOf(shape, td3.actor.values, state);

/** Trains a teacher in the simulator (DRPC, Alg. 3), from a checkpoint where there is one. */
export async function trainTeacher(
  tensors: Tensors,
  options: TeachingOptions,
  from?: Checkpoint,
): Promise<Checkpoint> {
  const { buffer, episodes, onEpisode, plannerEpisodes, seed, shape } = options;
  const state = from?.td3 ?? newTd3(shape, seededRng(seed));
  const td3 = new Td3(tensors, shape, state);
  const replay = new Replay(buffer, from?.transitions);
  const rewards = [...(from?.rewards ?? [])];
  const checkpoint = (): Checkpoint => ({
    shape,
    settings: settingsOf(options),
    td3: state,
    rewards: [...rewards],
    transitions: replay.all(),
  });
  while (rewards.length < episodes) {
    const episode = rewards.length;
    const rng = rngOf(seed, episode);
    const isPlanner = episode < plannerEpisodes;
    rewards.push(await play(options, episode, isPlanner ? undefined : exploring(td3, shape, rng), replay));
    if (episode === plannerEpisodes - 1) clone(td3, replay, options, rng);
    if (!isPlanner) learn(td3, replay, options, { episode, rng });
    if (!(await onEpisode(checkpoint()))) break;
  }
  return checkpoint();
}

async function play(
  { actuators, plantOf, seed, terms }: TeachingOptions,
  episode: number,
  act: Act | undefined,
  replay: Replay,
): Promise<number> {
  const plantSeed = 100_000 * seed + episode;
  const { reward } = await playEpisode({
    obstacle: plantOf(plantSeed),
    actuators,
    seed: plantSeed,
    terms,
    ...(act && { act }),
    onTransition: (transition) => replay.add(transition),
  });
  return reward;
}

/** Alg. 3: the policy with Gaussian noise, within [-1, 1]. */
const exploring =
  ({ state: { actor } }: Td3, shape: Shape, rng: Rng): Act =>
  (state) =>
    actionsOf(shape, actor.values, state).map((action) =>
      Math.max(-1, Math.min(1, action + EXPLORATION * standardNormal(rng))),
    );

function clone(td3: Td3, replay: Replay, { batch }: TeachingOptions, rng: Rng): void {
  const steps = Math.ceil((CLONING_EPOCHS * replay.size) / batch);
  for (let step = 0; step < steps; step += 1) td3.imitate(replay.draw(batch, rng));
}

function learn(
  td3: Td3,
  replay: Replay,
  { batch, plannerEpisodes, tiedEpisodes, updates }: TeachingOptions,
  { episode, rng }: { readonly episode: number; readonly rng: Rng },
): void {
  const share = tiedEpisodes === 0 ? 0 : 1 - (episode - plannerEpisodes) / tiedEpisodes;
  for (let update = 0; update < updates; update += 1) {
    td3.update(replay.draw(batch, rng), rng, Math.max(0, share));
  }
}
