import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { RecommendationList } from "@tradewind/core/contract/recommendation.ts";
import { RunComparison, RunReport } from "@tradewind/core/contract/run-report.ts";
import { WorkloadList } from "@tradewind/core/contract/workload.ts";
import { createScalerClient } from "@tradewind/local/actuator/scaler-client.ts";
import { NAMESPACE } from "@tradewind/local/supervise/workloads.ts";
import { isAlive, RUNS_DIRECTORY } from "@tradewind/local/supervise/run-directory.ts";
import { waitUntil } from "../wait-until.ts";

const PROGRAM = join(import.meta.dirname, "..", "..", "bin", "tradewind.mjs");

interface RunningCommand {
  readonly child: ChildProcess;
  readonly output: () => string;
  readonly exited: Promise<number | null>;
}

let directory: string;
const started: RunningCommand[] = [];
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "tradewind-test-local-"));
});
afterEach(async () => {
  for (const { child, exited } of started.splice(0)) {
    child.kill("SIGKILL");
    await exited;
  }
  await rm(directory, { recursive: true, force: true });
});

function tradewindLocal(...args: readonly string[]): RunningCommand {
  const child = spawn(process.execPath, [PROGRAM, "local", "--ports", "free", "--seed", "7", ...args], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (part: string) => {
      text += part;
    });
  }
  const exited = once(child, "exit").then(([code]) => code as number | null);
  const command = { child, output: () => text, exited };
  started.push(command);
  return command;
}

interface KnownProcess {
  readonly name: string;
  readonly pid: number;
}

/** Processes that a platform has started and that it would have to end. */
async function processesOf(platformPid: number): Promise<readonly KnownProcess[]> {
  const text = await readFile(join(RUNS_DIRECTORY, String(platformPid), "processes.json"), "utf8").catch(
    () => "",
  );
  return text === "" ? [] : (JSON.parse(text) as { processes: KnownProcess[] }).processes;
}

/** Names of everything a platform may leave on the machine. */
function remainsOf(platformPid: number, processes: readonly KnownProcess[]): readonly string[] {
  const cgroups = existsSync("/sys/fs/cgroup")
    ? ["", ...readdirSync("/sys/fs/cgroup")].map((mount) =>
        join("/sys/fs/cgroup", mount, `tradewind-local-${platformPid}`),
      )
    : [];
  const paths = [...cgroups, join(RUNS_DIRECTORY, String(platformPid))].filter((path) => existsSync(path));
  const alive = processes.filter(({ pid }) => isAlive(pid)).map(({ name, pid }) => `${name} ${pid}`);
  return [...paths, ...alive];
}

async function loadFile(rates: readonly number[]): Promise<string> {
  const path = join(directory, "rates.txt");
  await writeFile(path, rates.join("\n"));
  return path;
}

/** What KEDA would be told now for each service. */
async function kedaMetrics(
  address: string,
  services: readonly string[],
): Promise<Readonly<Record<string, readonly number[]>>> {
  const client = createScalerClient(address, () => undefined);
  try {
    const answers = services.map(async (service) => {
      const ref = {
        name: service,
        namespace: NAMESPACE,
        scalerMetadata: { scalerAddress: address, service },
      };
      const [spec] = await client.getMetricSpec(ref);
      return [service, await client.getMetrics(ref, spec!.metricName)] as const;
    });
    return Object.fromEntries(await Promise.all(answers));
  } finally {
    client.close();
  }
}

describe("tradewind local", () => {
  it(
    "runs the whole of it, writes a report of real figures that a later run is compared with, and leaves nothing behind",
    { timeout: 180_000 },
    async () => {
      const report = join(directory, "run.json");
      const load = await loadFile([110]);
      const run = tradewindLocal("--for", "20s", "--policy", "queue", "--load", load, "--json", report);
      const platformPid = run.child.pid!;
      await waitUntil(() => run.output().includes("quota "), 60_000, "the platform says that it is up");
      await waitUntil(
        async () => (await processesOf(platformPid)).length >= 11,
        20_000,
        "all processes are started",
      );
      const processes = await processesOf(platformPid);

      expect({ code: await run.exited, output: run.output() }).toMatchObject({ code: 0 });
      const figures = RunReport.parse(JSON.parse(await readFile(report, "utf8")));
      expect(figures).toMatchObject({ seed: 7, policy: "queue", application: "hotel" });
      expect(figures.phases.map(({ name }) => name)).toEqual([
        "warmup",
        "calm",
        "surge",
        "interference",
        "recovery",
      ]);
      const requests = figures.phases.reduce((sum, phase) => sum + phase.requests, 0);
      expect(requests).toBeGreaterThan(110 * 20 * 0.75);
      expect(figures.spans).toBeGreaterThan(requests);
      expect(figures.windows).toBeGreaterThanOrEqual(8);
      expect(figures.recommendations).toBeGreaterThanOrEqual(8);
      expect(figures.actuations).toBeGreaterThan(0);
      expect(figures.keda.rpcs).toBeGreaterThan(0);
      expect(figures.keda.errors).toBe(0);
      expect(figures.agent.samples).toBeGreaterThan(0);
      expect(figures.agent.rssBytes).toBeGreaterThan(0);
      // Replicas report once a second: on a busy machine what they used in one phase may arrive in the next.
      expect(figures.phases.reduce((sum, { cpuCoresMean }) => sum + cpuCoresMean, 0)).toBeGreaterThan(0);
      for (const phase of figures.phases) {
        // Eight services of 0.2 cores and 256 MiB at least: nothing is resized under queue balancing.
        expect(phase.allocatedCpuCoresMean).toBeGreaterThan(8 * 0.2 - 1e-9);
        expect(phase.allocatedMemoryBytesMean).toBeGreaterThan(8 * 2 ** 28 - 1);
      }
      expect(figures.timeline?.p95Ms.length).toBeGreaterThan(50);
      expect(figures.totals?.costPerHour).toBeGreaterThan(0);
      expect(remainsOf(platformPid, processes)).toEqual([]);

      const comparison = join(directory, "comparison.json");
      const compared = tradewindLocal(
        "--for",
        "20s",
        "--load",
        load,
        "--compare",
        report,
        "--json",
        comparison,
      );
      expect({ code: await compared.exited, output: compared.output() }).toMatchObject({ code: 0 });
      expect(compared.output()).toContain("queue is a recording (seed 7), not a run of now.");
      const { ours, recorded, rival } = RunComparison.parse(JSON.parse(await readFile(comparison, "utf8")));
      expect({ recorded, rival }).toEqual({ recorded: true, rival: figures });
      expect(ours).toMatchObject({ seed: 7, policy: "auto" });

      const other = tradewindLocal("--for", "25s", "--compare", report);
      expect({ code: await other.exited, output: other.output() }).toMatchObject({ code: 1 });
      expect(other.output()).toContain("is of another load: --for 20, not 25");
    },
  );

  it(
    "keeps its decisions through kill -9 of predictor and exporter, and its successor cleans up after its own kill -9",
    { timeout: 150_000 },
    async () => {
      const state = join(directory, "state");
      const load = await loadFile([6]);
      const run = tradewindLocal("--for", "10m", "--policy", "queue", "--load", load, "--state", state);
      const platformPid = run.child.pid!;
      const addressesPath = join(state, "addresses.json");
      await waitUntil(() => existsSync(addressesPath), 40_000, "the addresses are written");
      const addresses = JSON.parse(await readFile(addressesPath, "utf8")) as Record<string, string>;

      const recommendations = async (): Promise<RecommendationList> => {
        const response = await fetch(`${addresses["exporter"]}/v1/recommendations`, {
          signal: AbortSignal.timeout(2_000),
        });
        return RecommendationList.parse(await response.json());
      };
      const replicasWanted = async (): Promise<Readonly<Record<string, number>>> => {
        const list = WorkloadList.parse(JSON.parse(await readFile(join(state, "workloads.json"), "utf8")));
        return Object.fromEntries(list.workloads.map((each) => [each.service, each.replicasWanted]));
      };
      /** Undefined while one is dead and its successor has not been noted. */
      const newestPid = async (name: string): Promise<number | undefined> =>
        (await processesOf(platformPid)).findLast((each) => each.name === name)?.pid;
      const awaitSuccessor = async (name: string, pid: number): Promise<void> =>
        waitUntil(
          async () => ![undefined, pid].includes(await newestPid(name)),
          20_000,
          `the ${name} is started again`,
        );
      const answers = async (): Promise<boolean> =>
        recommendations().then(
          ({ recommendations: all }) => all.length === 8 && all.every(({ valid }) => valid),
          () => false,
        );

      await waitUntil(answers, 40_000, "the exporter recommends for all services");
      const before = await recommendations();
      const wantedBefore = await replicasWanted();

      const predictorPid = (await newestPid("predictor"))!;
      process.kill(predictorPid, "SIGKILL");
      await waitUntil(
        async () => !(await recommendations()).predictor.reachable,
        10_000,
        "the exporter misses the predictor",
      );
      const orphaned = await recommendations();
      expect(orphaned.recommendations.every(({ valid, ageSeconds }) => valid && ageSeconds! > 0)).toBe(true);
      for (const { service, replicas } of before.recommendations) {
        const now = orphaned.recommendations.find((each) => each.service === service);
        expect(now!.replicas).toBeGreaterThanOrEqual(replicas);
      }
      await awaitSuccessor("predictor", predictorPid);
      await waitUntil(
        async () => (await recommendations()).predictor.reachable,
        20_000,
        "the exporter sees it again",
      );
      for (const [service, replicas] of Object.entries(await replicasWanted())) {
        expect(replicas).toBeGreaterThanOrEqual(wantedBefore[service]!);
      }

      // With the predictor held, no new plan comes between: what is served must be what was kept.
      const numbers = async (): Promise<object> => {
        const { recommendations: all } = await recommendations();
        return Object.fromEntries(
          all.map(({ service, replicas, cpuCores, memoryBytes, decisionId }) => [
            service,
            { replicas, cpuCores, memoryBytes, decisionId },
          ]),
        );
      };
      const heldPid = (await newestPid("predictor"))!;
      const exporterPid = (await newestPid("exporter"))!;
      process.kill(heldPid, "SIGSTOP");
      try {
        const lastServed = await numbers();
        const lastMetrics = await kedaMetrics(addresses["grpc"]!, Object.keys(lastServed));
        expect(Object.keys(lastMetrics)).toHaveLength(8);
        process.kill(exporterPid, "SIGKILL");
        await awaitSuccessor("exporter", exporterPid);
        await waitUntil(answers, 10_000, "the exporter answers again");
        expect(await numbers()).toEqual(lastServed);
        expect(await kedaMetrics(addresses["grpc"]!, Object.keys(lastServed))).toEqual(lastMetrics);
      } finally {
        process.kill(heldPid, "SIGCONT");
      }

      const processes = await processesOf(platformPid);
      run.child.kill("SIGKILL");
      await run.exited;
      await waitUntil(
        () => processes.every(({ pid }) => !isAlive(pid)),
        10_000,
        "its processes end by themselves",
      );
      const second = tradewindLocal("--for", "10m", "--load", await loadFile([3]));
      await waitUntil(
        () => second.output().includes(`cleaned up after platform ${platformPid}`),
        10_000,
        "it sweeps",
      );
      await waitUntil(
        () => remainsOf(platformPid, processes).length === 0,
        10_000,
        "nothing of the dead one is left",
      );
      await waitUntil(() => second.output().includes("quota "), 60_000, "the second one is up");
      const ownProcesses = await processesOf(second.child.pid!);
      expect(ownProcesses.length).toBeGreaterThanOrEqual(11);
      second.child.kill("SIGINT");
      expect({ code: await second.exited, output: second.output() }).toMatchObject({ code: 130 });
      expect(remainsOf(second.child.pid!, ownProcesses)).toEqual([]);
    },
  );
});
