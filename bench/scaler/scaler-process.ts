import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { z } from "zod";

/** As docker/exporter.Dockerfile starts it. */
const IMAGE_ENVIRONMENT = { NODE_ENV: "production", MALLOC_ARENA_MAX: "2" };
const IMAGE_FLAGS = ["--v8-pool-size=1"];
/** Cores: the one client of the benchmark stands for all of a cluster, and takes what it can get. */
const SENDER_WORK = "8";
const LoadResult = z.object({
  calls: z.number(),
  failed: z.number(),
  seconds: z.number(),
  p50Ms: z.number(),
  p99Ms: z.number(),
  maxMs: z.number(),
});
export type LoadResult = z.infer<typeof LoadResult>;

const Ready = z.object({ addresses: z.object({ http: z.string(), grpc: z.string() }) });

/** A scaler as its image starts it, beside this predictor. */
export async function startExporterProcess(predictor: string, state: string) {
  const cli = fileURLToPath(new URL("../../cli/main.ts", import.meta.url));
  const listen = ["--listen", "127.0.0.1:0", "--grpc-listen", "127.0.0.1:0"];
  const child = spawn(
    process.execPath,
    [
      ...IMAGE_FLAGS,
      cli,
      "scaler",
      ...listen,
      "--max-sender-work",
      SENDER_WORK,
      "--predictor",
      predictor,
      "--state",
      state,
      "--log-level",
      "warn",
    ],
    { stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, ...IMAGE_ENVIRONMENT } },
  );
  const { addresses } = Ready.parse(JSON.parse(await firstLine(child)));
  const scrape = async (): Promise<string> => (await fetch(`${addresses.http}/metrics`)).text();
  const scrapeBytes = async (): Promise<ArrayBuffer> =>
    (await fetch(`${addresses.http}/metrics`)).arrayBuffer();
  return {
    pid: child.pid ?? 0,
    scrapeBytes,
    http: addresses.http,
    grpc: addresses.grpc,
    stop: async () => {
      const exited = once(child, "exit");
      child.kill("SIGTERM");
      await exited;
    },
    decided: async (services: number): Promise<void> => {
      for (let attempt = 0; attempt < 100; attempt += 1) {
        const series = (await scrape()).split("\ntradewind_recommended_replicas{").length - 1;
        if (series === services) return;
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
      throw new Error("the exporter did not take up the plan");
    },
  };
}

async function firstLine(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error("the process has no standard output");
  const lines = createInterface(child.stdout);
  const [line] = (await Promise.race([
    once(lines, "line"),
    once(child, "exit").then(() => {
      throw new Error("the process ended before it was ready");
    }),
  ])) as [string];
  return line;
}

/** KEDA's side, in a process of its own. */
export async function load(job: object, onWarm: () => void): Promise<LoadResult> {
  const script = fileURLToPath(new URL("load.ts", import.meta.url));
  const child = spawn(process.execPath, [script, JSON.stringify(job)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let last = "";
  for await (const line of createInterface(child.stdout)) {
    if (line === "warm") onWarm();
    last = line;
  }
  return LoadResult.parse(JSON.parse(last));
}
