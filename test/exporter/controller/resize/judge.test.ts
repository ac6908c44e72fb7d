import { describe, expect, it } from "vitest";
import type { Pod, ResizeCondition } from "@tradewind/kubernetes/objects/pod.ts";
import { BLOCKED_MS, judge } from "@tradewind/exporter/controller/resize/judge.ts";
import type { ResizeInputs } from "@tradewind/exporter/controller/resize/judge.ts";
import { cartPod, MEBI } from "../sizing/pods.ts";

const NOW_MS = Date.parse("2026-01-02T04:00:00Z");
const SIZES = { requests: { cpu: "500m", memory: "256Mi" }, limits: { memory: "1Gi" } };
const WISHED = { cpuCores: 1, memoryBytes: 512 * MEBI };
const BEFORE = {
  requests: { cpuCores: 0.5, memoryBytes: 256 * MEBI },
  limits: { memoryBytes: 1024 * MEBI },
};
const memory = { before: BEFORE, wished: WISHED };

const judged = (pod: Pod, changes: Partial<ResizeInputs> = {}) =>
  judge({
    pod,
    workload: "cart",
    settled: WISHED,
    scalePoints: [],
    memory: undefined,
    nowMs: NOW_MS,
    ...changes,
  });
const resizing = (condition: Partial<ResizeCondition>, pod = cartPod(0, SIZES)): Pod => ({
  ...pod,
  resizes: [
    {
      type: "PodResizePending",
      reason: "Deferred",
      message: "no room",
      sinceMs: NOW_MS - 1_000,
      ...condition,
    },
  ],
});

describe("one pod's size", () => {
  it("is changed by its requests where it has no limit, or one of memory that is large enough", () => {
    expect(judged(cartPod(0, SIZES))).toEqual({
      kind: "resize",
      container: "main",
      resources: { requests: WISHED, limits: {} },
    });
  });

  it("is changed by its limits where it has them, and requests keep their share of a CPU limit", () => {
    const limited = cartPod(0, {
      requests: { cpu: "100m", memory: "256Mi" },
      limits: { cpu: "500m", memory: "384Mi" },
    });
    expect(judged(limited)).toMatchObject({
      resources: {
        requests: { cpuCores: 0.2, memoryBytes: 0.99 * 512 * MEBI },
        limits: { cpuCores: 1, memoryBytes: 512 * MEBI },
      },
    });
    const less = judged(limited, { settled: { cpuCores: 0.25, memoryBytes: 128 * MEBI } });
    expect(less).toMatchObject({
      resources: { requests: { cpuCores: 0.05, memoryBytes: 128 * MEBI }, limits: { cpuCores: 0.25 } },
    });
    expect(less).not.toHaveProperty("resources.limits.memoryBytes");
  });

  it("fits when it is near enough, and is done when that was asked for", () => {
    const near = cartPod(0, { ...SIZES, requests: { cpu: "950m", memory: "500Mi" } });
    expect(judged(near)).toEqual({ kind: "fits", done: false });
    expect(judged(near, { memory })).toEqual({ kind: "fits", done: true });
  });

  it("moves with its limits where both are equal, but memory never shrinks that way", () => {
    const equal = { cpu: "2", memory: "1Gi" };
    const guaranteed = cartPod(0, { qosClass: "Guaranteed", requests: equal, limits: equal });
    expect(judged(guaranteed)).toEqual({
      kind: "resize",
      container: "main",
      resources: { requests: { cpuCores: 1 }, limits: { cpuCores: 1 } },
    });
  });

  it("keeps a scale point and what would restart the container", () => {
    expect(judged(cartPod(0, SIZES), { scalePoints: ["cpu"] })).toMatchObject({
      resources: { requests: { memoryBytes: 512 * MEBI }, limits: {} },
    });
    const restarts = cartPod(0, {
      ...SIZES,
      resizePolicy: [{ resourceName: "memory", restartPolicy: "RestartContainer" }],
    });
    expect(judged(restarts)).toMatchObject({ resources: { requests: { cpuCores: 1 } } });
    expect(judged(restarts)).not.toHaveProperty("resources.requests.memoryBytes");
  });

  it.each([
    ["is not ready", cartPod(0, { ...SIZES, ready: false })],
    ["has not begun", cartPod(0, { ...SIZES, phase: "Pending" })],
    ["has no requests", cartPod(0, { qosClass: "BestEffort" })],
  ])("is left alone when it %s", (_what, pod) => {
    expect(judged(pod).kind).toBe("leave");
  });

  it("is waited for while the kubelet is at it or puts it off", () => {
    expect(judged(resizing({}), { memory })).toEqual({ kind: "wait", reason: "deferred" });
    expect(judged(resizing({ type: "PodResizeInProgress", reason: "" }), { memory })).toEqual({
      kind: "wait",
      reason: "in-progress",
    });
    expect(judged(resizing({ type: "PodResizeInProgress", sinceMs: NOW_MS - 2 * BLOCKED_MS })).kind).toBe(
      "leave",
    );
  });

  it.each([
    ["the node can never give it", { reason: "Infeasible", message: "Node didn't have enough capacity" }],
    ["it was put off for more than five minutes", { sinceMs: NOW_MS - 301_000 }],
  ])("is taken back when %s, to what the kubelet has set aside", (_what, condition) => {
    const asked = cartPod(0, { ...SIZES, requests: { cpu: "1", memory: "512Mi" } });
    const allocated = { cpuCores: 0.5, memoryBytes: 256 * MEBI };
    const pod = resizing(condition, { ...asked, containers: [{ ...asked.containers[0]!, allocated }] });
    expect(judged(pod, { memory })).toMatchObject({
      kind: "take-back",
      container: "main",
      resources: { requests: allocated, limits: {} },
    });
    // A new leader finishes what its predecessor began, and leaves what somebody else asked for.
    expect(judged(pod).kind).toBe("take-back");
    expect(judged(pod, { settled: { cpuCores: 3 } }).kind).toBe("leave");
  });

  it("is taken back with its limits, to those that are in force", () => {
    const facts = { requests: { cpu: "200m", memory: "256Mi" }, limits: { cpu: "1", memory: "384Mi" } };
    const asked = cartPod(0, facts);
    const inForce = { cpuCores: 0.5, memoryBytes: 384 * MEBI };
    const allocated = { cpuCores: 0.1, memoryBytes: 256 * MEBI };
    const main = { ...asked.containers[0]!, allocated, limitsInForce: inForce };
    const pod = resizing({ reason: "Infeasible" }, { ...asked, containers: [main] });
    expect(judged(pod, { memory })).toMatchObject({
      resources: { requests: { cpuCores: 0.1 }, limits: { cpuCores: 0.5 } },
    });
  });

  it("that could not be had is not asked for again for an hour, unless it is less", () => {
    const blocked = { ...memory, blockedAtMs: NOW_MS - 1_000 };
    expect(judged(cartPod(0, SIZES), { memory: blocked }).kind).toBe("leave");
    expect(judged(cartPod(0, SIZES), { memory: blocked, settled: { cpuCores: 0.7 } }).kind).toBe("resize");
    expect(
      judged(cartPod(0, SIZES), { memory: { ...blocked, blockedAtMs: NOW_MS - BLOCKED_MS - 1 } }).kind,
    ).toBe("resize");
  });
});
