import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm, truncate } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { RecommendationList } from "@tradewind/core/contract/recommendation.ts";
import { fakePredictor } from "./fake-predictor.ts";
import type { FakePredictor } from "./fake-predictor.ts";
import { until } from "./until.ts";
import { planOf, wishOf } from "./wish.ts";
import { failure, WireClient } from "./keda/wire-client.ts";

const script = fileURLToPath(new URL("../../cli/main.ts", import.meta.url));
interface Ready {
  readonly process: string;
  readonly ready: boolean;
  readonly addresses: { readonly http: string; readonly grpc: string };
}
const ref = { name: "so", namespace: "shop", metadata: { service: "search" } };

interface ExporterProcess {
  readonly child: ChildProcess;
  readonly http: string;
  readonly client: WireClient;
  list(): Promise<RecommendationList>;
  kill(signal: NodeJS.Signals): Promise<number | null>;
}

/** A real exporter process; the first line it prints says where it listens. */
async function exporterProcess(
  predictor: FakePredictor,
  state: string,
  ...more: string[]
): Promise<ExporterProcess> {
  const args = ["--listen", "127.0.0.1:0", "--grpc-listen", "127.0.0.1:0", "--predictor", predictor.url];
  const child = spawn(process.execPath, [script, "exporter", ...args, "--state", state, ...more], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [line] = (await once(createInterface(child.stdout), "line")) as [string];
  const { addresses, ...rest } = JSON.parse(line) as Ready;
  expect(rest).toEqual({ process: "exporter", ready: true });
  const client = new WireClient(addresses.grpc);
  onTestFinished(() => client.close());
  return {
    child,
    http: addresses.http,
    client,
    list: async () =>
      RecommendationList.parse(await (await fetch(`${addresses.http}/v1/recommendations`)).json()),
    kill: async (signal) => {
      const exited = once(child, "exit") as Promise<[number | null]>;
      child.kill(signal);
      return (await exited)[0];
    },
  };
}

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
    expect(read!.ageSeconds).toBeGreaterThan(decided.ageSeconds);
    const record = await fetch(`${after.http}/v1/decisions/${decided.decisionId}`);
    expect(await record.json()).toMatchObject({ id: decided.decisionId, final: { replicas: 5 } });
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
    expect(list.recommendations[0]).toMatchObject({ replicas: 5, guard: [{ step: "restart-grace" }] });
  });

  it("starts without a state that was cut short, keeps the remains, and says so in its metrics", async () => {
    const { predictor, state } = await surroundings();
    const before = await exporterProcess(predictor, state);
    await firstDecision(before);
    await before.kill("SIGKILL");
    await predictor.stop();
    await truncate(join(state, "decisions.json"), 100);
    const after = await exporterProcess(predictor, state);
    expect((await failure(after.client.metrics(ref, "recommended-replicas"))).code).toBe(14);
    expect(await (await fetch(`${after.http}/metrics`)).text()).toMatch(
      /state_events_total\{event="corrupt"\} 1/,
    );
    expect((await readdir(state)).some((name) => name.startsWith("decisions.json.corrupt-"))).toBe(true);
  });

  it("asked to stop does so with exit code 0, however often it is asked", async () => {
    const { predictor, state } = await surroundings();
    const exporter = await exporterProcess(predictor, state, "--log-level", "silent");
    await firstDecision(exporter);
    exporter.child.kill("SIGTERM");
    expect(await exporter.kill("SIGINT")).toBe(0);
  });
});
