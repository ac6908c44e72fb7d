import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { WORKLOADS_SCHEMA } from "@tradewind/core/contract/workload.ts";
import { aSpan, protobufRequest } from "../../test/predictor/sources/otlp/messages.ts";
import { RealProcess } from "../stage/process.ts";

const WINDOW_SECONDS = 3;
const SERVICES = ["frontend", "geo"];
const PLAN_MS = 60_000;

/** An agent, a predictor that has made a plan, and a scaler that follows it, on loopback. */
export interface Stage {
  readonly agent: RealProcess;
  readonly predictor: RealProcess;
  readonly scaler: RealProcess;
}

const HERE = "127.0.0.1:0";

/** @throws Error where a process does not start or no plan is made */
export async function startStage(undo: AsyncDisposableStack): Promise<Stage> {
  const folder = await mkdtemp(join(tmpdir(), "tradewind-adversary-"));
  undo.defer(async () => rm(folder, { recursive: true, force: true }));
  const [config, workloads] = [join(folder, "app.yaml"), join(folder, "workloads.json")];
  await writeFile(config, "entry: frontend\nmode: act\nobjective: { milliseconds: 100 }\n");
  await writeFile(workloads, JSON.stringify(workloadList()));
  const start = async (command: string, ...args: readonly string[]): Promise<RealProcess> => {
    const started = await RealProcess.start(command, [...args, "--log-level", "error"]);
    undo.defer(async () => started.kill());
    return started;
  };
  const agent = await start("agent", "--listen", HERE, "--no-inventory", "--kubernetes", "off");
  const predictor = await start(
    "predictor",
    "--config",
    config,
    "--workloads",
    workloads,
    "--policy",
    "queue",
    "--window",
    `${WINDOW_SECONDS}s`,
    "--listen",
    HERE,
    "--otlp-listen",
    HERE,
    "--otlp-grpc-listen",
    HERE,
  );
  const scaler = await start(
    "exporter",
    "--listen",
    HERE,
    "--grpc-listen",
    HERE,
    "--predictor",
    predictor.addresses["http"] ?? "",
    "--config",
    config,
    "--stale-after",
    "24h",
  );
  await untilPlanned(predictor);
  return { agent, predictor, scaler };
}

function workloadList(): object {
  const nowMs = Date.now();
  return {
    schema: WORKLOADS_SCHEMA,
    observedAtMs: nowMs,
    workloads: SERVICES.map((service) => ({
      namespace: "default",
      kind: "Deployment",
      name: service,
      service,
      replicasWanted: 2,
      replicasReady: 2,
      pods: [],
    })),
  };
}

async function untilPlanned({ addresses }: RealProcess): Promise<void> {
  const endMs = performance.now() + PLAN_MS;
  while (performance.now() < endMs) {
    const nowMs = Date.now();
    for (const service of SERVICES) {
      const span = aSpan({ startMs: nowMs - 20, endMs: nowMs });
      const body = new Uint8Array(protobufRequest([span], { "service.name": service }));
      const headers = { "content-type": "application/x-protobuf" };
      await (await fetch(`${addresses["otlp"]}/v1/traces`, { method: "POST", body, headers })).arrayBuffer();
    }
    const plan = await fetch(`${addresses["http"]}/v1/plan`);
    await plan.arrayBuffer();
    if (plan.status === 200) return;
    await delay(500);
  }
  throw new Error("the predictor has made no plan");
}

/** CPU seconds of all threads of these processes so far, to the nanosecond; of threads that run still. */
export async function cpuSecondsOf(processes: readonly RealProcess[]): Promise<number> {
  let nanoseconds = 0;
  for (const { pid } of processes) {
    for (const thread of await readdir(`/proc/${pid}/task`)) {
      const text = await readFile(`/proc/${pid}/task/${thread}/schedstat`, "utf8").catch(() => "0");
      nanoseconds += Number(text.split(" ")[0]);
    }
  }
  return nanoseconds / 1e9;
}
