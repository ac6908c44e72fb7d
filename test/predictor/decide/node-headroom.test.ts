import { NodeHeadroom } from "@tradewind/predictor/decide/cost/solve/node-headroom.ts";
import type { ServiceToSize } from "@tradewind/predictor/decide/cost/price/cost-inputs.ts";
import type { NodeLeft } from "@tradewind/predictor/nodes/node-room.ts";
import { describe, expect, it } from "vitest";
import { service, size } from "./priced.ts";

const node = (
  name: string,
  leftCores: number,
  pods: Readonly<Record<string, number>> = {},
  takesPods = true,
): NodeLeft => ({
  name,
  leftCores,
  takesPods,
  pods: Object.entries(pods).map(([each, count]) => ({ service: each, pods: count })),
});

/** Pods of half a core. */
const running = (name: string, taken: number, overrides: Partial<ServiceToSize> = {}): ServiceToSize =>
  service(name, {
    base: size(taken, 0.5),
    runningCores: 0.5,
    pods: { taken, requestRatio: 1, sidecarCores: 0 },
    ...overrides,
  });

function rooms(
  nodes: readonly NodeLeft[],
  services: readonly ServiceToSize[],
  mayWait = false,
): NodeHeadroom {
  return new NodeHeadroom(nodes, services, (at) => services[at]!.base, mayWait);
}

describe("the room on nodes", () => {
  it("is shared by the containers that grow on one node, each of a service's pods on its own", () => {
    // "a" has a pod on either node: 0.4 cores are left of the first, so that both may grow by 0.4 at most.
    const nodes = [node("n0", 0.4, { a: 1, b: 1 }), node("n1", 2, { a: 1 })];
    const shared = rooms(nodes, [running("a", 2), running("b", 1)]);
    expect(shared.allows(0, size(2, 0.5), size(2, 0.9))).toBe(true);
    expect(shared.allows(0, size(2, 0.5), size(2, 1))).toBe(false);
    shared.change(0, size(2, 0.5), size(2, 0.8));
    expect(shared.allows(1, size(1, 0.5), size(1, 0.6))).toBe(true);
    expect(shared.allows(1, size(1, 0.5), size(1, 0.7))).toBe(false);
  });

  it("takes one pod after the other on the node with the most left, until none has room", () => {
    const one = rooms([node("n0", 0.7), node("n1", 1.1)], [running("a", 1)]);
    let now = size(1, 0.5);
    for (const replicas of [2, 3, 4]) {
      expect(one.allows(0, now, size(replicas, 0.5))).toBe(true);
      one.change(0, now, size(replicas, 0.5));
      now = size(replicas, 0.5);
    }
    // 0.2 and 0.1 are left.
    expect(one.allows(0, now, size(5, 0.5))).toBe(false);
  });

  it("takes no pod on a node that is for other services alone", () => {
    const nodes = [{ ...node("n0", 4), refuses: ["a"] }];
    const both = rooms(nodes, [running("a", 1), running("b", 1)]);
    expect(both.allows(0, size(1, 0.5), size(2, 0.5))).toBe(false);
    expect(both.allows(1, size(1, 0.5), size(2, 0.5))).toBe(true);
  });

  it("is not given to a pod that may come to run where another container is to grow", () => {
    // Nobody keeps the 0.5 cores of n0 for "b": a third pod of "a" may take them before "b" has them.
    const nodes = [node("n0", 0.5, { b: 1 }), node("n1", 0.5), node("n2", 0.5)];
    const both = rooms(nodes, [running("a", 1), running("b", 1)]);
    both.change(1, size(1, 0.5), size(1, 1));
    expect(both.allows(0, size(1, 0.5), size(2, 0.5))).toBe(false);
    const roomier = rooms([nodes[0]!, node("n1", 1), node("n2", 1)], [running("a", 1), running("b", 1)]);
    roomier.change(1, size(1, 0.5), size(1, 1));
    expect(roomier.allows(0, size(1, 0.5), size(3, 0.5))).toBe(true);
    expect(roomier.allows(0, size(1, 0.5), size(4, 0.5))).toBe(false);
  });

  it("comes back to others only once a smaller container or a pod less has left it", () => {
    const full = rooms([node("n0", 0, { a: 2, b: 1 })], [running("a", 2), running("b", 1)]);
    full.change(0, size(2, 0.5), size(1, 0.3));
    expect(full.allows(1, size(1, 0.5), size(1, 0.6))).toBe(false);
    expect(full.isKept).toBe(true);
  });

  it("counts what a pod requests: a share of its size, and its sidecars", () => {
    const pods = { taken: 1, requestRatio: 0.5, sidecarCores: 0.1 };
    const half = rooms([node("n0", 0.35)], [running("a", 1, { pods })]);
    expect(half.allows(0, size(1, 0.5), size(2, 0.5))).toBe(true);
    expect(half.allows(0, size(1, 0.5), size(2, 0.6))).toBe(false);
  });

  it("is for pods only where a node takes them, and for containers wherever they run", () => {
    const drained = rooms([node("n0", 4, { a: 1 }, false)], [running("a", 1)]);
    expect(drained.allows(0, size(1, 0.5), size(1, 2))).toBe(true);
    expect(drained.allows(0, size(1, 0.5), size(2, 0.5))).toBe(false);
  });

  it("limits no pods where those may wait, and containers all the same", () => {
    const waiting = rooms([node("n0", 0.2, { a: 1 })], [running("a", 1)], true);
    expect(waiting.allows(0, size(1, 0.5), size(9, 0.5))).toBe(true);
    expect(waiting.allows(0, size(1, 0.5), size(1, 0.8))).toBe(false);
  });

  it("says which services could give back what has no room", () => {
    // Asked for before somebody else took the room: a second pod of "a", and growth of "b" by 0.3.
    const asked = [
      running("a", 1, { base: size(2, 0.5) }),
      running("b", 1, { base: size(1, 0.8) }),
      running("c", 1),
    ];
    const short = rooms([node("n0", 0.2, { a: 1, b: 1, c: 1 })], asked);
    expect(short.isKept).toBe(false);
    expect([0, 1, 2].map((at) => short.mayStartFewer(at))).toEqual([true, false, false]);
    expect(short.leastGrown(1)).toBe(0.5);
  });
});
