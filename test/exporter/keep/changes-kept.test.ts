import { existsSync, mkdirSync, mkdtempSync, rmdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CHANGES_FILE } from "@tradewind/exporter/keep/state-file.ts";
import { expect, it, onTestFinished } from "vitest";
import { runningExporter } from "../running-exporter.ts";
import { until } from "../until.ts";
import { planOf, wishOf } from "../wish.ts";

const plan = (sequence: number, replicas: number) => ({
  ...planOf([wishOf({ service: "cart", allocation: { replicas } })]),
  sequence,
});

it("writes who changed a size as soon as the disk takes it, and says meanwhile that it cannot (changes-lost)", async () => {
  const state = mkdtempSync(join(tmpdir(), "tradewind-changes-"));
  onTestFinished(() => rmSync(state, { recursive: true }));
  const file = join(state, CHANGES_FILE);
  mkdirSync(file);
  const exporter = await runningExporter(plan(1, 4), { state });
  const missing = async (): Promise<string> => (await fetch(`${exporter.http}/readyz`)).text();
  const served = async (replicas: number): Promise<unknown> =>
    exporter.listWhen("the plan", ({ recommendations: [one] }) => one?.replicas === replicas);
  exporter.predictor.serve(plan(2, 6));
  await served(6);
  exporter.predictor.serve(plan(3, 6));
  await until("the complaint", async () => (await missing()).includes("who changed what is kept in memory"));
  rmdirSync(file);
  // No size changes any more.
  exporter.predictor.serve(plan(4, 6));
  await until("the file", () => existsSync(file));
  await until("no complaint", async () => !(await missing()).includes("who changed what is kept in memory"));
  expect(existsSync(file)).toBe(true);
});
