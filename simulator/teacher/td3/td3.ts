import { adamState, adamStep } from "@tradewind/core/students/adam.ts";
import type { AdamState } from "@tradewind/core/students/adam.ts";
import type { Tensor } from "@tensorflow/tfjs-core";
import { standardNormal } from "@tradewind/core/values/rng.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import { ACTIONS, LOCALS } from "../teacher-state.ts";
import type { TeacherState } from "../teacher-state.ts";
import type { Tensors } from "./engine.ts";
import { partsOf, policy, stateBatch, value } from "./graph.ts";
import { actorNetwork, actorRow, criticNetwork, drawn, SEEN } from "./networks.ts";
import type { Network, Shape } from "./networks.ts";
import type { Transition } from "./replay.ts";
import { follow, smoothedAction, targetValue } from "./update.ts";

/** As in the authors' code, where the paper does not say. */
export const TD3_SETTINGS = {
  rate: 3e-4,
  discount: 0.99,
  /** ρ of Alg. 3. */
  keep: 0.995,
  /** Updates of the critics for one of the actor and the targets. */
  delay: 2,
  targetNoise: 0.2,
  noiseClip: 0.5,
} as const;

/** A network's parameters, those of its target, and its optimiser. */
export interface Learner {
  readonly values: Float32Array;
  readonly target: Float32Array;
  readonly adam: AdamState<Float32Array>;
}

export interface Td3State {
  readonly actor: Learner;
  readonly critics: readonly [Learner, Learner];
  updates: number;
}

const learner = (values: Float32Array): Learner => ({
  values,
  target: values.slice(),
  adam: adamState(values),
});

/** An actor's last layer begins at this share of He's start. */
const LAST_SCALE = 0.1;

export const newTd3 = (shape: Shape, rng: Rng): Td3State => ({
  actor: learner(drawn(actorNetwork(shape), rng, LAST_SCALE)),
  critics: [learner(drawn(criticNetwork(shape), rng)), learner(drawn(criticNetwork(shape), rng))],
  updates: 0,
});

/** What a policy does in one state, by closed form. @returns {@link ACTIONS} for each deployment, each in [-1, 1] */
export function actionsOf(shape: Shape, values: Float32Array, state: TeacherState): Float32Array {
  const actor = actorNetwork(shape);
  const count = state.services.length;
  const rows = new Float32Array(count * SEEN);
  for (let i = 0; i < count; i += 1) {
    rows.set(state.locals.subarray(i * LOCALS, (i + 1) * LOCALS), i * SEEN);
    rows.set(state.globals, i * SEEN + LOCALS);
  }
  if (shape.kind === "flat") return actorRow(actor, values, rows);
  const actions = new Float32Array(count * ACTIONS);
  for (let i = 0; i < count; i += 1) {
    actions.set(actorRow(actor, values, rows.subarray(i * SEEN, (i + 1) * SEEN)), i * ACTIONS);
  }
  return actions;
}

/** Twin delayed deep deterministic policy gradient (DRPC, Alg. 3); TensorFlow.js gives the gradients. */
export class Td3 {
  readonly state: Td3State;
  private readonly tf: Tensors;
  private readonly shape: Shape;
  private readonly actor: Network;
  private readonly critic: Network;

  constructor(tf: Tensors, shape: Shape, state: Td3State) {
    this.tf = tf;
    this.shape = shape;
    this.state = state;
    this.actor = actorNetwork(shape);
    this.critic = criticNetwork(shape);
  }

  /**
   * One update by a batch. @param plannerWeight of the squared distance to the planner's actions in the actor's loss; 0: Eq. 8 as printed
   * @returns the critics' loss before (Eq. 7)
   */
  update(batch: readonly Transition[], rng: Rng, plannerWeight = 0): number {
    const targets = this.targets(batch, rng);
    const services = servicesOf(batch);
    const { critics, actor } = this.state;
    let loss = 0;
    for (const each of critics) loss += this.criticStep(each, batch, services, targets) / critics.length;
    this.state.updates += 1;
    if (this.state.updates % TD3_SETTINGS.delay === 0) {
      this.actorStep(batch, services, plannerWeight);
      for (const each of [actor, ...critics]) follow(each.target, each.values, TD3_SETTINGS.keep);
    }
    return loss;
  }

  /** Brings the actor nearer to the planner's actions. @returns the mean squared distance before */
  imitate(batch: readonly Transition[]): number {
    const services = servicesOf(batch);
    const { actor } = this.state;
    const loss = this.step(actor, this.actor, (parts) => this.distance(batch, services, parts));
    actor.target.set(actor.values);
    return loss;
  }

  /** Eq. 5 and 6 for each transition. */
  private targets(batch: readonly Transition[], rng: Rng): Float32Array {
    const { shape, tf } = this;
    const { actor, critics } = this.state;
    const services = servicesOf(batch);
    const { discount, noiseClip, targetNoise } = TD3_SETTINGS;
    return tf.tidy(() => {
      const states = stateBatch(
        tf,
        batch.map(({ next }) => next),
        services,
      );
      const raw = policy(tf, shape, partsOf(tf, this.actor, actor.target), states).dataSync();
      const smoothed = Float32Array.from(raw, (action) =>
        smoothedAction(action, targetNoise * standardNormal(rng), noiseClip),
      );
      const actions = tf.mul(tf.tensor(smoothed, [batch.length, services, ACTIONS]), states.mask);
      const [first, second] = critics.map((each) =>
        value(tf, shape, partsOf(tf, this.critic, each.target), { states, actions }).dataSync(),
      );
      return Float32Array.from(batch, (each, i) =>
        targetValue(each, [first?.[i] ?? 0, second?.[i] ?? 0], discount),
      );
    });
  }

  /** Eq. 7. */
  private criticStep(
    critic: Learner,
    batch: readonly Transition[],
    services: number,
    targets: Float32Array,
  ): number {
    const { shape, tf } = this;
    return this.step(critic, this.critic, (parts) => {
      const states = stateBatch(
        tf,
        batch.map(({ state }) => state),
        services,
      );
      const actions = this.actionTensor(
        batch.map((each) => each.actions),
        services,
      );
      const off = tf.sub(value(tf, shape, parts, { states, actions }), tf.tensor(targets, [batch.length, 1]));
      return tf.mean(tf.mul(off, off));
    });
  }

  /** Eq. 8; with a weight on the planner also λ and the distance to it (Fujimoto and Gu 2021). */
  private actorStep(batch: readonly Transition[], services: number, plannerWeight: number): void {
    const { shape, tf } = this;
    const { actor, critics } = this.state;
    const first = critics[0].values;
    this.step(actor, this.actor, (parts) => {
      const states = stateBatch(
        tf,
        batch.map(({ state }) => state),
        services,
      );
      const actions = policy(tf, shape, parts, states);
      const q = value(tf, shape, partsOf(tf, this.critic, first), { states, actions });
      if (plannerWeight === 0) return tf.neg(tf.mean(q));
      const size = tf.mean(tf.abs(q)).dataSync()[0] ?? 1;
      const near = tf.mul(this.distance(batch, services, parts), plannerWeight);
      return tf.add(tf.mul(tf.mean(q), -LAMBDA / Math.max(size, 1e-6)), near);
    });
  }

  /** Mean squared distance of the policy to the planner's actions, where it decided. */
  private distance(batch: readonly Transition[], services: number, parts: readonly Tensor[]): Tensor {
    const { shape, tf } = this;
    const known = batch.filter(({ planner }) => planner !== undefined);
    if (known.length === 0) return tf.mul(tf.sum(parts[0] as Tensor), 0);
    const states = stateBatch(
      tf,
      known.map(({ state }) => state),
      services,
    );
    const wanted = this.actionTensor(
      known.map(({ planner }) => planner as Float32Array),
      services,
    );
    const off = tf.sub(policy(tf, shape, parts, states), wanted);
    // Most moments say "nothing"; those in which the planner acts weigh four times, as for students.
    const weight = tf.add(1, tf.mul(tf.abs(tf.sign(wanted)), 3));
    return tf.div(tf.sum(tf.mul(tf.mul(off, off), weight)), tf.mul(tf.sum(states.mask), ACTIONS));
  }

  private actionTensor(actions: readonly Float32Array[], services: number): Tensor {
    const padded = new Float32Array(actions.length * services * ACTIONS);
    for (const [i, each] of actions.entries()) padded.set(each, i * services * ACTIONS);
    return this.tf.tensor(padded, [actions.length, services, ACTIONS]);
  }

  private step({ adam, values }: Learner, net: Network, loss: (parts: Tensor[]) => Tensor): number {
    const { tf } = this;
    const gradient = new Float32Array(net.size);
    const before = tf.tidy(() => {
      const run = tf.valueAndGrads((...parts) => loss(parts) as never);
      const { grads, value: at } = run(partsOf(tf, net, values));
      for (const [i, each] of grads.entries()) gradient.set(each.dataSync(), net.parts[i]?.from ?? 0);
      return (at as Tensor).dataSync()[0] ?? Number.NaN;
    });
    if (!Number.isFinite(before)) throw new Error("a loss of the training is not finite");
    adamStep(values, gradient, adam, { rate: TD3_SETTINGS.rate });
    return before;
  }
}

/** Weight of Q against the distance to the planner (Fujimoto and Gu 2021). */
const LAMBDA = 2.5;

const servicesOf = (batch: readonly Transition[]): number =>
  batch.reduce((most, { next, state }) => Math.max(most, state.services.length, next.services.length), 0);
