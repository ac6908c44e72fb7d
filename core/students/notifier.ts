/** Why students should be taught again (DRPC §IV-B-2): what they earn, where they are, what they do, or what users do differs from their lessons. */
export const RETRAINING_CAUSES = ["reward", "rare-state", "student", "users"] as const;
export type RetrainingCause = (typeof RETRAINING_CAUSES)[number];

/** `npr` of Alg. 4: rewards that are looked back on. The paper does not say; its code has 10, of windows of another length. */
export const REWARDS_KEPT = 20;
/** `TH` of Alg. 4, of the planner's own mean reward: the code's 0.9 of 1 would fire for ever where rewards settle at 0.7. */
export const LEAST_REWARD = 0.85;
/** Of as many states, more than this share far from all lessons is no chance: a hundredth of the lessons themselves are. */
const MOST_RARE = 0.25;
const FAR_PERCENTILE = 0.99;
/** A state is as far as its fifth nearest lesson. */
const NEIGHBOURS = 5;
const LESSONS_KEPT = 2_000;
/** Of the last hundred states, students may decide otherwise in this share. */
export const DECISIONS_COMPARED = 100;
const MOST_DISAGREEMENT = 0.1;

/**
 * DRPC, Alg. 4. Printed, it forgets its rewards with each call and never has enough of them: they are kept.
 */
export class RewardNotifier {
  readonly #rewards: Float64Array;
  readonly #threshold: number;
  #count = 0;

  /** @param threshold a mean below it fires */
  constructor(threshold: number, kept = REWARDS_KEPT) {
    this.#threshold = threshold;
    this.#rewards = new Float64Array(kept);
  }

  /** @returns whether to train again: false before enough rewards are known */
  add(reward: number): boolean {
    this.#rewards[this.#count % this.#rewards.length] = reward;
    this.#count += 1;
    if (this.#count < this.#rewards.length) return false;
    const sum = this.#rewards.reduce((total, each) => total + each, 0);
    return sum / this.#rewards.length < this.#threshold;
  }
}

/** Divergence of the routes' shares from which on users do other things than while lessons were learnt: 0 the same, 1 nothing in common. */
const MOST_DIVERGENCE = 0.1;
/** Of fewer requests shares are chance. */
const LEAST_REQUESTS = 200;

/** Requests by route. */
export type RouteCounts = ReadonlyMap<string, number>;

/** Jensen-Shannon divergence of the shares of two counts, base 2: 0 for equal shares, 1 for none in common. 0 where one is empty. */
export function divergenceOf(first: RouteCounts, second: RouteCounts): number {
  const [all, other] = [totalOf(first), totalOf(second)];
  if (all <= 0 || other <= 0) return 0;
  const part = (share: number, middle: number): number => (share > 0 ? share * Math.log2(share / middle) : 0);
  let sum = 0;
  for (const route of new Set([...first.keys(), ...second.keys()])) {
    const [p, q] = [(first.get(route) ?? 0) / all, (second.get(route) ?? 0) / other];
    sum += (part(p, (p + q) / 2) + part(q, (p + q) / 2)) / 2;
  }
  return sum;
}

const totalOf = (counts: RouteCounts): number => [...counts.values()].reduce((sum, each) => sum + each, 0);

/** Users came to do other things: who searched buys now. */
export const haveUsersChanged = (taught: RouteCounts, recent: RouteCounts): boolean =>
  Math.min(totalOf(taught), totalOf(recent)) >= LEAST_REQUESTS &&
  divergenceOf(taught, recent) > MOST_DIVERGENCE;

type State = readonly number[];

/** What states students were taught in; says which are rare. */
export class KnownStates {
  readonly #lessons: readonly State[];
  readonly #means: readonly number[];
  readonly #spreads: readonly number[];
  readonly #far: number;

  /** @param lessons inputs of all lessons, equally long; of more than 2,000 every so many is kept */
  constructor(lessons: readonly State[]) {
    const every = Math.max(1, Math.ceil(lessons.length / LESSONS_KEPT));
    const kept = lessons.filter((_, at) => at % every === 0);
    const [first = []] = kept;
    this.#means = first.map(
      (_, part) => kept.reduce((sum, each) => sum + (each[part] ?? 0), 0) / kept.length,
    );
    this.#spreads = this.#means.map((mean, part) => {
      const squares = kept.reduce((sum, each) => sum + ((each[part] ?? 0) - mean) ** 2, 0);
      return Math.sqrt(squares / kept.length) || 1;
    });
    this.#lessons = kept.map((each) => this.#standard(each));
    const distances = this.#lessons.map((each) => this.#distance(each, NEIGHBOURS)).sort((a, b) => a - b);
    this.#far = distances[Math.floor(FAR_PERCENTILE * (distances.length - 1))] ?? Number.POSITIVE_INFINITY;
  }

  /** More of these states are far from all lessons than chance allows. */
  isRare(states: readonly State[]): boolean {
    if (states.length === 0 || this.#lessons.length <= NEIGHBOURS) return false;
    const far = states.filter((each) => this.#distance(this.#standard(each), NEIGHBOURS - 1) > this.#far);
    return far.length / states.length > MOST_RARE;
  }

  #standard(state: State): State {
    return state.map((value, part) => (value - (this.#means[part] ?? 0)) / (this.#spreads[part] ?? 1));
  }

  /** @param place of the neighbour that counts, from 0; a lesson is its own nearest */
  #distance(standard: State, place: number): number {
    const squares = this.#lessons.map((each) =>
      each.reduce((sum, value, part) => sum + (value - (standard[part] ?? 0)) ** 2, 0),
    );
    return Math.sqrt(squares.sort((a, b) => a - b)[place] ?? Number.POSITIVE_INFINITY);
  }
}

/** What students did since they were taught. */
export interface StudentRecord {
  /** Empty where nobody measures them. */
  readonly rewards: readonly number[];
  /** Mean reward of the planner on such plants. */
  readonly plannerReward: number;
  /** The newest last. */
  readonly states: readonly State[];
  /** Share of the last states in which students did as the planner would have. */
  readonly agreement: number;
  /** Requests by route while lessons were learnt, and of late; absent for a student of services that share no routes. */
  readonly routes?: { readonly taught: RouteCounts; readonly recent: RouteCounts };
}

/** Every cause to teach students again. */
export function retrainingCauses(
  { agreement, plannerReward, rewards, routes, states }: StudentRecord,
  known: KnownStates,
): RetrainingCause[] {
  const notifier = new RewardNotifier(LEAST_REWARD * plannerReward);
  let isPoor = false;
  for (const reward of rewards) isPoor = notifier.add(reward);
  const fires: Readonly<Record<RetrainingCause, boolean>> = {
    reward: isPoor,
    "rare-state": known.isRare(states.slice(-REWARDS_KEPT)),
    student: states.length >= DECISIONS_COMPARED && agreement < 1 - MOST_DISAGREEMENT,
    users: routes !== undefined && haveUsersChanged(routes.taught, routes.recent),
  };
  return RETRAINING_CAUSES.filter((cause) => fires[cause]);
}
