import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { Process, START_MS } from "../approval/scene.ts";

it("a plan's PodDisruptionBudget keeps a decision from taking more pods of 10 than it allows", async () => {
  const path = await mkdtemp(join(tmpdir(), "tradewind-disruptions-"));
  const process = new Process(path);
  onTestFinished(async () => {
    await process.end();
    await rm(path, { recursive: true });
  });
  const disruptions = [
    { service: "search", budget: "search", allowed: 1 },
    { service: "geo", budget: "geo", allowed: 0 },
  ];
  await process.plan(6, START_MS, {}, {}, { disruptions });
  expect(process.final?.replicas).toBe(9);
  await process.plan(6, START_MS + 15_000);
  expect(process.final?.replicas).toBe(6);
});
