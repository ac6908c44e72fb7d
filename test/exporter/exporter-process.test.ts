import { mkdtemp, readdir, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { DecisionRecord } from "@tradewind/core/contract/recommendation.ts";
import { exporterProcess } from "./exporter-process.ts";
import type { ExporterProcess } from "./exporter-process.ts";
import { answering, fakePredictor } from "./fake-predictor.ts";
import { until } from "./until.ts";
import { planOf, wishOf } from "./wish.ts";
import { failure } from "./serve/keda/wire-client.ts";

const ref = { name: "so", namespace: "shop", metadata: { service: "search" } };

async function surroundings() {
  const predictor = await fakePredictor(planOf([wishOf()]));
  const state = await mkdtemp(join(tmpdir(), "tradewind-exporter-"));
  onTestFinished(async () => {
    await predictor.stop();
    await rm(state, { recursive: true, force: true });
  });
  return { predictor, state };
}

const firstDecision = ({ list }: ExporterProcess) =>
  until("a decision", async () => (await list()).recommendations[0]);

describe("an exporter process", () => {
  it("killed without warning answers again at once with the same numbers, record and true age, predictor or not", async () => {
    const { predictor, state } = await surroundings();
    const before = await exporterProcess(predictor, state);
    const decided = await firstDecision(before);
    await before.kill("SIGKILL");
    await predictor.stop();

    const after = await exporterProcess(predictor, state);
    expect(await after.client.metrics(ref, "recommended-replicas")).toMatchObject([
      { int: decided.replicas },
    ]);
    const [read] = (await after.list()).recommendations;
    expect({ ...read, ageSeconds: 0 }).toEqual({ ...decided, ageSeconds: 0 });
    expect(read!.ageSeconds).toBeGreaterThan(decided.ageSeconds!);
    const record = await fetch(`${after.http}/v1/decisions/${decided.decisionId}`);
    expect(await record.json()).toMatchObject({ id: decided.decisionId, final: { replicas: 5 } });
  });

  it("killed after a change says which decision set each size, though later ones kept it", async () => {
    const { predictor, state } = await surroundings();
    const before = await exporterProcess(predictor, state, "--restart-grace", "0s");
    await firstDecision(before);
    const grown = wishOf({ allocation: { replicas: 8, cpuCores: 0.6, memoryBytes: 200e6 } });
    predictor.serve(planOf([{ ...grown, reason: "the queue grew" }], { sequence: 2 }));
    await until("8 replicas", async () => (await before.list()).recommendations[0]?.replicas === 8);
    predictor.serve(planOf([{ ...grown, reason: "keeps 8" }], { sequence: 3 }));
    const kept = await until("a decision that keeps them", async () => {
      const [served] = (await before.list()).recommendations;
      return served?.reason === "keeps 8" ? served : undefined;
    });
    expect(kept.setBy?.replicas).toMatchObject({ from: 5, to: 8, reason: "the queue grew" });
    expect(kept.setBy?.cpuCores).toMatchObject({ to: 0.6, reason: "share of the estimated queue" });
    await before.kill("SIGKILL");
    await predictor.stop();

    const after = await exporterProcess(predictor, state);
    const [read] = (await after.list()).recommendations;
    expect(read).toMatchObject({ reason: "keeps 8", setBy: kept.setBy });
    const answer = await fetch(`${after.http}/v1/decisions?namespace=shop&service=search`);
    const { decisions } = (await answer.json()) as { decisions: DecisionRecord[] };
    expect(decisions.map(({ final, wish }) => `${final.replicas}: ${wish.reason}`)).toEqual([
      "8: keeps 8",
      "8: the queue grew",
      "5: share of the estimated queue",
    ]);
  });

  it("killed right after a change, and once more after a decision that keeps the size, still says what set it", async () => {
    const { predictor, state } = await surroundings();
    const grace = ["--restart-grace", "0s"] as const;
    const first = await exporterProcess(predictor, state, ...grace);
    await firstDecision(first);
    const eight = { replicas: 8, cpuCores: 0.6, memoryBytes: 200e6 };
    predictor.serve(planOf([wishOf({ allocation: eight, reason: "the queue grew" })], { sequence: 2 }));
    await until("8 replicas", async () => (await first.list()).recommendations[0]?.replicas === 8);
    await first.kill("SIGKILL");
    predictor.serve(planOf([wishOf({ allocation: eight, reason: "keeps 8" })], { sequence: 3 }));
    const second = await exporterProcess(predictor, state, ...grace);
    await until("a decision that keeps them", async () => {
      const [served] = (await second.list()).recommendations;
      return served?.reason === "keeps 8" || undefined;
    });
    await second.kill("SIGKILL");
    await predictor.stop();

    const third = await exporterProcess(predictor, state);
    const [read] = (await third.list()).recommendations;
    expect(read).toMatchObject({
      reason: "keeps 8",
      setBy: { replicas: { to: 8, reason: "the queue grew" } },
    });
  });

  it("restarted takes nothing away, though the predictor asks for less", async () => {
    const { predictor, state } = await surroundings();
    const before = await exporterProcess(predictor, state);
    await firstDecision(before);
    await before.kill("SIGKILL");
    predictor.serve(planOf([wishOf({ allocation: { replicas: 1 } })], { sequence: 2 }));
    const after = await exporterProcess(predictor, state);
    const list = await until("the new wish", async () => {
      const current = await after.list();
      return current.recommendations[0]?.wished.replicas === 1 ? current : undefined;
    });
    expect(list.recommendations[0]).toMatchObject({ replicas: 5 });
    expect(list.recommendations[0]!.guard.map(({ step }) => step)).toContain("restart-grace");
  });

  it("starts without a state that was cut short, keeps the remains, and says so in its metrics", async () => {
    const { predictor, state } = await surroundings();
    const before = await exporterProcess(predictor, state);
    await firstDecision(before);
    await before.kill("SIGKILL");
    await predictor.stop();
    await truncate(join(state, "decisions.json"), 50);
    const after = await exporterProcess(predictor, state);
    expect((await failure(after.client.metrics(ref, "recommended-replicas"))).code).toBe(14);
    expect(await (await fetch(`${after.http}/metrics`)).text()).toMatch(
      /state_events_total\{event="corrupt"\} 1/,
    );
    expect((await readdir(state)).some((name) => name.startsWith("decisions.json.corrupt-"))).toBe(true);
  });

  it("takes --application for --config, and says what it is called now", async () => {
    const { predictor, state } = await surroundings();
    const path = join(state, "application.json");
    const services = [{ name: "search", maxReplicas: 4 }];
    const application = {
      name: "hotel",
      namespace: "shop",
      entry: "search",
      objective: { milliseconds: 200 },
    };
    await writeFile(path, JSON.stringify({ ...application, services }));
    const exporter = await exporterProcess(predictor, state, "--application", path);
    expect((await firstDecision(exporter)).replicas).toBe(4);
    await until("a warning", () => exporter.log().includes("--application is called --config") || undefined);
  });

  it("starts before its predictor has a plan, which it logs as news and not as a warning", async () => {
    const { predictor, state } = await surroundings();
    predictor.behave(answering("no window has closed", 503));
    const { log } = await exporterProcess(predictor, state);
    await until("the first polls", () => predictor.requests() > 2);
    const lines = log()
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { level: number; msg: string });
    expect(lines.map(({ msg }) => msg)).toContain("no new plan; decisions stay as they are");
    expect(lines.filter(({ level }) => level > 30)).toEqual([]);
  });

  it("asked to stop does so with exit code 0, however often it is asked", async () => {
    const { predictor, state } = await surroundings();
    const exporter = await exporterProcess(predictor, state, "--log-level", "silent");
    await firstDecision(exporter);
    exporter.child.kill("SIGTERM");
    expect(await exporter.kill("SIGINT")).toBe(0);
  });
});
