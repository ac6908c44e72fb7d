import { fork } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { APPLICATION_NAMES } from "@tradewind/local/application/applications.ts";
import { calibrate, createMachine, processCpuMillis } from "@tradewind/local/application/work.ts";
import type { LocalOrder, LocalSet } from "./cases.ts";

/**
 * Injects faults into both applications, each on a platform of its own, side by side.
 * @throws Error where a platform ended before it was done
 */
export async function localSets(count: number, seed: number): Promise<LocalSet[]> {
  const scratch = await mkdtemp(join(tmpdir(), "tradewind-rca-"));
  const calibration = join(scratch, "work.json");
  try {
    await writeFile(calibration, JSON.stringify(calibrate(createMachine(), processCpuMillis)));
    const orders = APPLICATION_NAMES.map((application, at) => ({
      application,
      count,
      seed: seed + at,
      calibration,
    }));
    return await Promise.all(orders.map(async (order) => inItsProcess(order)));
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function inItsProcess(order: LocalOrder): Promise<LocalSet> {
  const child = fork(join(import.meta.dirname, "..", "application-worker.ts"), [JSON.stringify(order)], {
    serialization: "advanced",
  });
  return new Promise((resolve, reject) => {
    // What a child of our own sends is what `application-worker.ts` says.
    child.once("message", (set) => resolve(set as LocalSet));
    child.once("error", reject);
    child.once("exit", (code) =>
      reject(new Error(`${order.application}: its process ended with code ${code}`)),
    );
  });
}
