import { Measured } from "@tradewind/core/contract/measured.ts";
import type { ContainerWindow } from "@tradewind/core/contract/window.ts";
import { CourseLog } from "@tradewind/predictor/answers/latest/course-log.ts";
import { measured } from "@tradewind/predictor/answers/latest/measured.ts";
import { describe, expect, it } from "vitest";
import { START_MS, WINDOW_MS } from "../../measurements.ts";

const none = { supported: false };
const container = (id: string, overrides: Partial<ContainerWindow>): ContainerWindow => ({
  id,
  ...overrides,
});
const bounds = { startMs: START_MS, endMs: START_MS + WINDOW_MS };
const windowSet = {
  ...bounds,
  flows: [],
  windows: [
    {
      ...bounds,
      namespace: "shop",
      service: "cart",
      requestsPerSecond: 12,
      callees: [{ callee: "redis", callsPerSecond: 24, parallelRatio: 0 }],
      containers: [
        container("a", {
          cpuLimitCores: 1,
          cpuUsageCores: 0.5,
          memoryLimitBytes: 100,
          memoryWorkingSetBytes: 40,
          interference: {
            cpu: { supported: true, value: 0.2 },
            memoryCapacity: none,
            memoryBandwidth: none,
            network: none,
          },
        }),
        container("b", {
          cpuRequestCores: 2,
          cpuUsageCores: 0.6,
          memoryRequestBytes: 100,
          memoryWorkingSetBytes: 70,
          interference: {
            cpu: none,
            memoryCapacity: none,
            memoryBandwidth: { supported: true, value: 0.6 },
            network: none,
          },
        }),
        container("proxy", { sidecar: true, cpuLimitCores: 1, cpuUsageCores: 1 }),
      ],
    },
    { ...bounds, namespace: "other", service: "stranger", callees: [], containers: [] },
    { ...bounds, namespace: "shop", service: "redis", callees: [], containers: [] },
  ],
};

describe("a window summed up", () => {
  const summed = measured({
    application: "web",
    namespace: "shop",
    entry: "cart",
    windowSet,
    tailShares: new Map([["cart", 0.75]]),
  });

  it("gives the mean CPU use of the main containers, the highest memory use, and the strongest interference", () => {
    const [cart] = Measured.parse(summed).services;
    expect(cart).toEqual({
      service: "cart",
      requestsPerSecond: 12,
      cpuUsedRatio: 0.4,
      memoryUsedRatio: 0.7,
      interferenceRatio: 0.6,
      interferenceIn: "memoryBandwidth",
      tailShare: 0.75,
    });
  });

  it("leaves out what was not measured, and services of other namespaces", () => {
    expect(summed.services.map(({ service }) => service)).toEqual(["cart", "redis"]);
    expect(summed.services[1]).toEqual({ service: "redis" });
    expect(summed.calls).toEqual([{ caller: "cart", callee: "redis", callsPerSecond: 24 }]);
  });
});

describe("the course of an application", () => {
  const point = (atMs: number) =>
    ({ atMs, objectiveSeconds: 0.3, requestsPerSecond: 1, overRatio: 0, policy: "queue" }) as const;
  const of = { application: "web", namespace: "shop" };

  it("keeps the newest 5,760 windows, oldest first", () => {
    const log = new CourseLog();
    for (let at = 0; at < 5_800; at += 1) log.add(point(1 + at), []);
    const { points } = log.course(of);
    expect(points).toHaveLength(5_760);
    expect([points[0]!.atMs, points.at(-1)!.atMs]).toEqual([41, 5_800]);
  });

  it("gives only the windows after a time when asked so", () => {
    const log = new CourseLog();
    for (const atMs of [1, 2, 3]) log.add(point(atMs), []);
    expect(log.course(of, 1).points.map(({ atMs }) => atMs)).toEqual([2, 3]);
  });

  it("puts a window that is decided on again in the place of itself", () => {
    const log = new CourseLog();
    for (const atMs of [1, 2, 2]) log.add(point(atMs), []);
    expect(log.course(of).points.map(({ atMs }) => atMs)).toEqual([1, 2]);
  });

  it("names the deploys of services whose newest pods run another template, not what is seen first or absent", () => {
    const log = new CourseLog();
    const window = (startMs: number, revision?: string) => ({
      service: "cart",
      startMs,
      ...(revision && { revision }),
    });
    const revisions = ["a", "a", undefined, "b", "b", "a"];
    for (const [at, revision] of revisions.entries()) log.add(point(at + 1), [window(at, revision)]);
    const deploys = [
      { service: "cart", atMs: 3, from: "a", to: "b" },
      { service: "cart", atMs: 5, from: "b", to: "a" },
    ];
    expect(log.course(of).deploys).toEqual(deploys);
    expect(log.course(of, 6)).toMatchObject({ points: [], deploys });
  });
});
