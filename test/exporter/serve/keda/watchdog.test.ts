import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { openTrail } from "@tradewind/exporter/keep/journal/journal.ts";
import { arm, newBeats, Watchdog } from "@tradewind/exporter/serve/keda/watchdog.ts";
import { exporterProcess } from "../../exporter-process.ts";
import type { ExporterProcess } from "../../exporter-process.ts";
import { fakePredictor } from "../../fake-predictor.ts";
import { until } from "../../until.ts";
import { planOf, wishOf } from "../../wish.ts";

const LIMIT_MS = 2_500;
const TICK_MS = 250;
const ref = { name: "so", namespace: "shop", metadata: { service: "search" } };

/** Two watchdogs on clocks set by hand. */
function pair() {
  const beats = newBeats();
  const time = { nowMs: 0, cpuMs: 0 };
  const ended: { silent: string; atMs: number }[] = [];
  const made = (own: "main" | "grpc"): Watchdog => {
    const end = (silent: string): void => void ended.push({ silent, atMs: time.nowMs });
    const clocks = { monotonicMs: () => time.nowMs, othersCpuMs: () => time.cpuMs };
    const watchdog = new Watchdog({ beats, own, limitMs: LIMIT_MS, ...clocks, end });
    watchdog.stop();
    return watchdog;
  };
  const dogs = { main: made("main"), grpc: made("grpc") };
  const pass = (ms: number, who: ("main" | "grpc")[], cpuShare = 0): void => {
    for (let left = ms; left > 0 && ended.length === 0; left -= TICK_MS) {
      time.nowMs += TICK_MS;
      time.cpuMs += cpuShare * TICK_MS;
      for (const each of who) dogs[each].beat();
    }
  };
  arm(beats, true);
  pass(1_000, ["main", "grpc"]);
  return { beats, ended, pass, time, dogs };
}

describe("two threads that watch each other", () => {
  it("let a thread live that answers calls and comes late to its timer, and end it once it answers none", () => {
    const { dogs, ended, pass } = pair();
    for (let seconds = 0; seconds < 60; seconds += 1) {
      dogs.grpc.progress();
      pass(1_000, ["main"], 1);
    }
    expect(ended).toEqual([]);
    pass(10_000, ["main"], 1);
    expect(ended).toMatchObject([{ silent: "grpc" }]);
  });

  it.each([
    ["main", "grpc", "blocked", 0],
    ["main", "grpc", "in an endless loop", 1],
    ["grpc", "main", "blocked", 0],
    ["grpc", "main", "in an endless loop", 1],
  ] as const)("end the process within 3 s when %s is %3$s", (stuck, healthy, _how, cpuShare) => {
    const { ended, pass } = pair();
    pass(10_000, [healthy], cpuShare);
    expect(ended).toMatchObject([{ silent: stuck }]);
    expect(ended[0]!.atMs - 1_000).toBeLessThan(3_000);
  });

  it("give a starved thread, which gets a tenth of a CPU, twice as long", () => {
    const { ended, pass } = pair();
    pass(2 * LIMIT_MS - 2 * TICK_MS, ["grpc"], 0.1);
    expect(ended).toEqual([]);
    pass(2 * TICK_MS + TICK_MS, ["grpc"], 0.1);
    expect(ended).toMatchObject([{ silent: "main" }]);
  });

  it("go on after a stop of the whole process, however long it was", () => {
    const { dogs, ended, pass, time } = pair();
    time.nowMs += 103_000;
    dogs.grpc.beat();
    dogs.main.beat();
    pass(10_000, ["main", "grpc"]);
    expect(ended).toEqual([]);
  });

  it("look away while the process starts and stops", () => {
    const { beats, ended, pass } = pair();
    arm(beats, false);
    pass(10_000, ["grpc"]);
    expect(ended).toEqual([]);
  });
});

describe("an exporter process", () => {
  async function started(
    module: string,
    ...flags: string[]
  ): Promise<ExporterProcess & { serve: (replicas: number) => void; state: string }> {
    const directory = await mkdtemp(join(tmpdir(), "tradewind-watchdog-"));
    onTestFinished(() => rm(directory, { recursive: true, force: true }));
    const predictor = await fakePredictor();
    onTestFinished(() => predictor.stop());
    let sequence = 0;
    const serve = (replicas: number): void =>
      predictor.behave((_request, response) => {
        sequence += 1;
        response.end(JSON.stringify(planOf([wishOf({ allocation: { replicas } })], { sequence })));
      });
    serve(5);
    if (module !== "") {
      vi.stubEnv("NODE_OPTIONS", `--import=${new URL(module, import.meta.url).href}`);
      onTestFinished(() => void vi.unstubAllEnvs());
    }
    const made = await exporterProcess(predictor, directory, ...flags);
    await until("a decision", async () => (await made.list()).recommendations[0]);
    return { ...made, serve, state: directory };
  }

  it.each([
    ["whose main thread is in an endless loop", "hang-main-child.ts"],
    ["whose main thread is blocked", "block-main-child.ts"],
    ["whose thread for KEDA is in an endless loop", "hang-scaler-child.ts"],
  ])("%s is ended by the other thread", async (_what, module) => {
    const { child } = await started(module, "--watchdog", "1s");
    const ended = once(child, "exit") as Promise<[number | null, NodeJS.Signals | null]>;
    child.kill("SIGUSR2");
    expect(await ended).toEqual([null, "SIGKILL"]);
  });

  it(
    "whose audit trail cannot be written for 4 s answers all the while, and writes it then",
    { timeout: 60_000 },
    async () => {
      const { child, client, kill, serve, state } = await started("", "--watchdog", "1s");
      const disk = new DatabaseSync(join(state, "journal.sqlite"));
      onTestFinished(() => disk.close());
      disk.exec("BEGIN IMMEDIATE");
      const lockedMs = performance.now();
      serve(8);
      await until("the new number", async () => (await client.metrics(ref, "m"))[0]?.int === 8);
      serve(9);
      await until("the next number", async () => (await client.metrics(ref, "m"))[0]?.int === 9);
      await until("4 s", async () => {
        expect(await client.metrics(ref, "m")).toMatchObject([{ int: 9 }]);
        return performance.now() - lockedMs > 4_000;
      });
      disk.exec("COMMIT");
      expect(child.exitCode).toBeNull();
      expect(await kill("SIGTERM")).toBe(0);
      using trail = openTrail(state);
      const rows = [...trail.rows()].map(({ row }) => JSON.parse(row) as { after: { replicas: number } });
      expect(rows.map(({ after }) => after.replicas)).toEqual([5, 8, 9]);
    },
  );

  it(
    "that was stopped goes on, and never serves a number that expired meanwhile",
    { timeout: 60_000 },
    async () => {
      const { child, client, list, serve } = await started("", "--stale-after", "3s");
      child.kill("SIGSTOP");
      const stoppedMs = performance.now();
      serve(8);
      const waiting = Array.from({ length: 5 }, async () =>
        client.call("GetMetricSpec", Buffer.alloc(0), 20_000),
      );
      await until("a stop longer than decisions live", () => performance.now() - stoppedMs > 4_000);
      child.kill("SIGCONT");
      const numbers = new Set<number>();
      await until("the new number", async () => {
        const [metric] = await client.metrics(ref, "m").catch(() => []);
        if (metric !== undefined) numbers.add(metric.int);
        return numbers.has(8);
      });
      expect(numbers).toEqual(new Set([8]));
      await Promise.all(waiting);
      expect((await list()).predictor.reachable).toBe(true);
      expect(child.exitCode).toBeNull();
    },
  );
});
