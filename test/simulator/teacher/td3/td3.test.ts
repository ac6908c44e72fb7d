import * as tf from "@tensorflow/tfjs-core";
import { beforeAll, describe, expect, it } from "vitest";
import { seededRng } from "@tradewind/core/values/rng.ts";
import { startEngine } from "@tradewind/simulator/teacher/td3/engine.ts";
import { partsOf, policy, stateBatch, value } from "@tradewind/simulator/teacher/td3/graph.ts";
import { actorNetwork, criticNetwork, drawn } from "@tradewind/simulator/teacher/td3/networks.ts";
import type { Shape } from "@tradewind/simulator/teacher/td3/networks.ts";
import { actionsOf, newTd3, Td3 } from "@tradewind/simulator/teacher/td3/td3.ts";
import { stateOf, transitionOf } from "./states.ts";

const SHARED: Shape = { kind: "shared", layers: [12, 8] };
const FLAT: Shape = { kind: "flat", layers: [12, 8], services: 3 };

beforeAll(async () => {
  await startEngine("wasm");
});

describe("a teacher's networks", () => {
  it.each([SHARED, FLAT])("act by closed form as TensorFlow.js has it ($kind)", (shape) => {
    const rng = seededRng(1);
    const values = drawn(actorNetwork(shape), rng);
    const states = [stateOf(3, rng), stateOf(3, rng)];
    const graph = tf.tidy(() =>
      policy(tf, shape, partsOf(tf, actorNetwork(shape), values), stateBatch(tf, states, 3)).dataSync(),
    );
    const closed = states.flatMap((state) => [...actionsOf(shape, values, state)]);
    expect(closed).toHaveLength(18);
    for (const [i, action] of closed.entries()) expect(action).toBeCloseTo(graph[i] ?? Number.NaN, 5);
  });

  it("a shared critic values an application the same in any order of its deployments, and beside a larger one", () => {
    const rng = seededRng(2);
    const net = criticNetwork(SHARED);
    const values = drawn(net, rng);
    const { actions, state } = transitionOf(2, rng);
    const swap = (all: Float32Array): Float32Array => {
      const half = all.length / 2;
      return Float32Array.from([...all.subarray(half), ...all.subarray(0, half)]);
    };
    const swapped = { ...state, locals: swap(state.locals) };
    const larger = stateOf(5, rng);
    const padded = (own: Float32Array): number[] => [...own, ...Array.from({ length: 9 }, () => 0)];
    const all = [...padded(actions), ...padded(swap(actions)), ...Array.from({ length: 15 }, () => 0.5)];
    const [first, second, other] = tf.tidy(() => {
      const states = stateBatch(tf, [state, swapped, larger], 5);
      return value(tf, SHARED, partsOf(tf, net, values), {
        states,
        actions: tf.tensor(all, [3, 5, 3]),
      }).dataSync();
    });
    const alone = tf.tidy(() => {
      const states = stateBatch(tf, [state], 2);
      return value(tf, SHARED, partsOf(tf, net, values), {
        states,
        actions: tf.tensor(actions, [1, 2, 3]),
      }).dataSync();
    });
    expect(second).toBeCloseTo(first ?? Number.NaN, 5);
    expect(alone[0]).toBeCloseTo(first ?? Number.NaN, 5);
    expect(other).not.toBeCloseTo(first ?? Number.NaN, 2);
  });
});

describe("a training by TD3", () => {
  it.each([SHARED, FLAT])("moves towards the actions that are worth most ($kind)", (shape) => {
    const rng = seededRng(3);
    const td3 = new Td3(tf, shape, newTd3(shape, rng));
    // Best is an action of 0.6 everywhere.
    const worth = (actions: Float32Array): number =>
      -actions.reduce((sum, action) => sum + (action - 0.6) ** 2, 0) / actions.length;
    const transitions = Array.from({ length: 400 }, () => transitionOf(3, rng, worth));
    const draw = () => Array.from({ length: 32 }, () => transitions[Math.floor(400 * rng())]!);
    const distance = (): number => -worth(actionsOf(shape, td3.state.actor.values, transitions[0]!.state));
    const before = distance();
    const losses = Array.from({ length: 300 }, () => td3.update(draw(), rng));
    expect(losses.at(-1)).toBeLessThan(losses[0]! / 2);
    expect(distance()).toBeLessThan(0.97 * before);
    expect(tf.memory().numTensors).toBe(0);
  });

  it("moves actor and targets at every second update only", () => {
    const rng = seededRng(4);
    const td3 = new Td3(tf, SHARED, newTd3(SHARED, rng));
    const batch = [transitionOf(2, rng, () => 1), transitionOf(3, rng, () => 0)];
    const { actor, critics } = td3.state;
    const [actorBefore, targetBefore] = [actor.values.slice(), critics[0].target.slice()];
    td3.update(batch, rng);
    expect([actor.values, critics[0].target]).toEqual([actorBefore, targetBefore]);
    expect(critics[0].values).not.toEqual(targetBefore);
    td3.update(batch, rng);
    expect(actor.values).not.toEqual(actorBefore);
    expect(critics[0].target).not.toEqual(targetBefore);
  });

  it("Eq. 6 and 7: critics that say 0 beside targets that say 2 are off by 2.98 and 4.98 of rewards 1 and 3", () => {
    const rng = seededRng(6);
    const state = newTd3(SHARED, rng);
    for (const critic of state.critics) {
      critic.values.fill(0);
      critic.target.fill(0);
      // The last number is the bias of the output.
      critic.target[critic.target.length - 1] = 2;
    }
    const batch = [1, 3].map((reward) => ({ ...transitionOf(2, rng), reward, isEnd: false }));
    const loss = new Td3(tf, SHARED, state).update(batch, rng);
    expect(loss).toBeCloseTo((2.98 ** 2 + 4.98 ** 2) / 2, 3);
    const ended = batch.map((each) => ({ ...each, isEnd: true }));
    const again = newTd3(SHARED, seededRng(6));
    for (const critic of again.critics) critic.values.fill(0);
    expect(new Td3(tf, SHARED, again).update(ended, rng)).toBeCloseTo((1 + 9) / 2, 4);
  });

  it("Eq. 8: the actor moves to where the first critic expects more", () => {
    const rng = seededRng(7);
    const td3 = new Td3(tf, SHARED, newTd3(SHARED, rng));
    const batch = Array.from({ length: 16 }, () => transitionOf(2, rng, () => 0));
    td3.update(batch, rng);
    const { actor, critics } = td3.state;
    const expected = (actorValues: Float32Array): number =>
      tf.tidy(() => {
        const states = stateBatch(
          tf,
          batch.map(({ state }) => state),
          2,
        );
        const actions = policy(tf, SHARED, partsOf(tf, actorNetwork(SHARED), actorValues), states);
        const parts = partsOf(tf, criticNetwork(SHARED), critics[0].values);
        return tf.mean(value(tf, SHARED, parts, { states, actions })).dataSync()[0]!;
      });
    const before = actor.values.slice();
    td3.update(batch, rng);
    expect(expected(actor.values)).toBeGreaterThan(expected(before));
  });

  it("clones the planner's actions", () => {
    const rng = seededRng(5);
    const td3 = new Td3(tf, SHARED, newTd3(SHARED, rng));
    const batch = Array.from({ length: 32 }, () => {
      const each = transitionOf(2, rng);
      // More replicas where the CPU use of a deployment is above a half.
      const planner = Float32Array.from({ length: 6 }, (_, i) =>
        i % 3 === 2 && each.state.locals[8 * Math.floor(i / 3)]! > 0.5 ? 0.8 : 0,
      );
      return { ...each, planner };
    });
    const losses = Array.from({ length: 250 }, () => td3.imitate(batch));
    expect(losses.at(-1)).toBeLessThan(losses[0]! / 2);
  });
});
