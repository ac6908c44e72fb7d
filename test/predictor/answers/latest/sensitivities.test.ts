import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { SensitivityList } from "@tradewind/core/contract/sensitivities.ts";
import { createLog } from "@tradewind/core/process/log.ts";
import { inWords } from "@tradewind/predictor/commands/ask/sensitivities.ts";
import { LastSensitivities } from "@tradewind/predictor/answers/latest/last-sensitivities.ts";
import { registerSensitivityMetrics } from "@tradewind/predictor/answers/latest/sensitivity-metrics.ts";
import { Registry } from "prom-client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { waitUntil } from "../../../wait-until.ts";
import { Shop } from "../../shop.ts";

const PROGRAM = join(import.meta.dirname, "..", "..", "..", "..", "bin", "tradewind.mjs");

async function tradewind(...args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, "sensitivities", ...args]);
  return stdout;
}

describe("a predictor whose live models decide", () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await Shop.open({ asksForToken: true });
    await shop.list(({ services }) => services.length === 2);
  }, 30_000);
  afterAll(async () => shop.close());

  it("says what one more unit of each service on the route is worth, with the time of the decision", async () => {
    const list = await shop.list(({ services }) => services.length === 2);
    expect(list).toMatchObject({
      namespace: "default",
      policy: "planner-prior",
      objective: { percentile: 0.95 },
    });
    expect(list.decidedAtMs).toBeGreaterThan(shop.application.startedAtMs);
    expect(list.unavailable).toBeUndefined();
    expect(list.services.map(({ service }) => service).sort()).toEqual(["frontend", "geo"]);
    for (const { perCore, perReplica, slowestRoute } of list.services) {
      expect(slowestRoute).toBe("GET /");
      for (const { highSeconds, lowSeconds, seconds } of [perCore, perReplica]) {
        expect(lowSeconds).toBeLessThan(0);
        expect(seconds).toBeGreaterThanOrEqual(lowSeconds);
        expect(highSeconds).toBeGreaterThanOrEqual(seconds);
      }
    }
  });

  it("gives one service for ?service=, 404 for one that it does not know, 400 for two at once, 401 without a token", async () => {
    const one = SensitivityList.parse(await (await shop.get("/v1/sensitivities?service=geo")).json());
    expect(one.services.map(({ service }) => service)).toEqual(["geo"]);
    const unknown = await shop.get("/v1/sensitivities?service=nobody");
    expect(unknown.status).toBe(404);
    expect(await unknown.json()).toMatchObject({ error: { code: "not-found" } });
    expect((await shop.get("/v1/sensitivities?service=geo&service=frontend")).status).toBe(400);
    expect((await fetch(`${shop.url}/v1/sensitivities`)).status).toBe(401);
  });

  it("shows the same numbers in its metrics, seven series a service", async () => {
    await waitUntil(async () => {
      const before = await shop.list(() => true);
      const text = await (await shop.get("/metrics")).text();
      const after = await shop.list(() => true);
      if (before.decidedAtMs !== after.decidedAtMs || before.services.length !== 2) return false;
      const series = [
        ...text.matchAll(/^tradewind_sensitivity_(\w+)\{namespace="default",service="(\w+)"\} (\S+)$/gm),
      ];
      expect(series).toHaveLength(14);
      const value = (name: string, service: string): number =>
        Number(series.find(([, each, of]) => each === name && of === service)?.[3]);
      for (const { perCore, perReplica, service } of before.services) {
        expect(value("seconds_per_core", service)).toBe(perCore.seconds);
        expect(value("seconds_per_core_low", service)).toBe(perCore.lowSeconds);
        expect(value("seconds_per_core_high", service)).toBe(perCore.highSeconds);
        expect(value("seconds_per_replica", service)).toBe(perReplica.seconds);
        expect(value("seconds_per_replica_low", service)).toBe(perReplica.lowSeconds);
        expect(value("seconds_per_replica_high", service)).toBe(perReplica.highSeconds);
        expect(value("seconds_per_gibibyte", service)).toBe(0);
      }
      return true;
    }, 15_000);
  });

  it("answers the command, as text and as JSON", async () => {
    const common = ["--predictor", shop.url, "--token-file", shop.tokenFile];
    const text = await tradewind(...common, "--service", "geo");
    expect(text).toMatch(/^geo: \d+ x 0\.50 cores, p95 \S+ ms on GET \/$/m);
    expect(text).toMatch(/^ {2}10 % more CPU +-?\S+ ms \(-?\S+ to -?\S+\) +costs 0\.\d+\/h +saves \d/m);
    expect(text).not.toContain("frontend:");
    const list = SensitivityList.parse(JSON.parse(await tradewind(...common, "--json")));
    expect(list.services).toHaveLength(2);
    const refused = tradewind("--predictor", shop.url);
    await expect(refused).rejects.toThrow("give --token-file a token that it takes");
    await expect(refused).rejects.toMatchObject({ code: 1 });
    const unknown = tradewind(...common, "--service", "nobody");
    await expect(unknown).rejects.toThrow("'nobody' is on no user's route");
  });
});

describe("a predictor that decides without live models", () => {
  it("says so, and has no series: absent, not 0", async () => {
    const shop = await Shop.open({ policy: "queue", asksForToken: true });
    try {
      const list = await shop.list(({ policy }) => policy === "queue");
      expect(list.services).toEqual([]);
      expect(list.unavailable).toContain("'queue'");
      const again = await shop.list(({ policy }) => policy === "queue");
      expect(again.unavailable).toContain("'queue'");
      expect((await shop.get("/v1/sensitivities?service=geo")).status).toBe(200);
      const text = await (await shop.get("/metrics")).text();
      expect(text).toContain("# TYPE tradewind_sensitivity_seconds_per_core gauge");
      expect(text).not.toMatch(/^tradewind_sensitivity_/m);
      expect(inWords(list)).toContain("decided without live models");
    } finally {
      await shop.close();
    }
  });
});

describe("docs/glossary.md", () => {
  it("explains every sensitivity metric", () => {
    const registry = new Registry();
    const last = new LastSensitivities(() => 0);
    registerSensitivityMetrics(registry, { last, log: createLog("test", "silent") });
    const text = readFileSync(new URL("../../../../docs/glossary.md", import.meta.url), "utf8");
    const names = registry.getMetricsAsArray().map(({ name }) => name);
    expect(names).toHaveLength(7);
    for (const name of names) expect(text).toContain(`\`${name}\``);
  });
});
