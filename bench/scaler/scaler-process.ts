import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { asInImage } from "../stage/image.ts";
import { RealProcess } from "../stage/process.ts";

const LoadResult = z.object({
  calls: z.number(),
  failed: z.number(),
  seconds: z.number(),
  p50Ms: z.number(),
  p99Ms: z.number(),
  maxMs: z.number(),
});
export type LoadResult = z.infer<typeof LoadResult>;

/** Cores: the one client of the benchmark stands for all of a cluster, and takes what it can get. */
const SENDER_WORK = "8";

/**
 * A scaler as its image starts it, beside this predictor.
 * @param compiled folder of {@link compileImage}
 */
export async function startScaler(compiled: string, predictor: string, state: string): Promise<RealProcess> {
  const listen = ["--listen", "127.0.0.1:0", "--grpc-listen", "127.0.0.1:0"];
  const limits = ["--max-sender-work", SENDER_WORK, "--log-level", "warn"];
  const args = [...listen, "--predictor", predictor, "--state", state, ...limits];
  return RealProcess.start("exporter", args, { ...asInImage("exporter", compiled), isTied: false });
}

export const scrape = async ({ addresses }: RealProcess): Promise<string> =>
  (await fetch(`${addresses["http"] ?? ""}/metrics`)).text();

/** Waits until it recommends for so many services. */
export async function hasDecided(scaler: RealProcess, services: number): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const series = (await scrape(scaler)).split("\ntradewind_recommended_replicas{").length - 1;
    if (series === services) return;
    await delay(200);
  }
  throw new Error("the scaler did not take up the plan");
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
