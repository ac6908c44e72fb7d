import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { chooseQuota } from "@tradewind/local/quota/choose.ts";
import type { Quota } from "@tradewind/local/quota/quota.ts";

/** A process that, told `go`, burns CPU for the given CPU time and answers how much time passed on the wall. */
const BURNER = `
import { blockThread, createBucket } from ${JSON.stringify(new URL("../../../local/quota/token-bucket.ts", import.meta.url).href)};
const cpuMillis = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1e3; };
process.on("message", ({ burnMillis, cpuCores }) => {
  const bucket = cpuCores && createBucket({ cpuCores, cpuMillis, monotonicMs: () => performance.now(), stall: blockThread });
  const start = performance.now();
  const cpuStart = cpuMillis();
  let x = 1;
  while (cpuMillis() - cpuStart < burnMillis) {
    for (let i = 0; i < 50_000; i += 1) x = (x * 31 + i) | 0;
    bucket?.pay();
  }
  process.send({ wallMillis: performance.now() - start, x });
});
process.send("ready");
`;
const BURN_MILLIS = 200;
const CPU_CORES = 0.2;

const real = await chooseQuota({ cgroupRoot: "/sys/fs/cgroup", pid: process.pid, wanted: "auto" });
if (real.kind === "token-bucket") {
  await real.close();
  // eslint-disable-next-line no-console -- a skip must be seen
  console.warn(`SKIPPED: the comparison with the kernel's CFS quota; ${real.description}`);
}

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "tradewind-test-quota-"));
  await writeFile(join(directory, "burner.mts"), BURNER);
});
afterAll(async () => {
  await real.close();
  await rm(directory, { recursive: true, force: true });
});

async function burn(quota: Quota): Promise<number> {
  const place = await quota.open("uid", `container-${quota.kind}`);
  const child = fork(join(directory, "burner.mts"));
  await once(child, "message");
  await place.admit(child.pid!);
  await place.limit(CPU_CORES, 2 ** 28);
  const isEmulated = quota.kind === "token-bucket";
  child.send({ burnMillis: BURN_MILLIS, ...(isEmulated && { cpuCores: CPU_CORES }) });
  const [{ wallMillis }] = (await once(child, "message")) as [{ wallMillis: number }];
  child.kill("SIGKILL");
  await place.remove();
  return wallMillis;
}

describe("200 ms of work under a limit of 0.2 cores", () => {
  // 20 ms in each of ten periods of 100 ms: at least nine full periods pass, whatever else the machine does.
  const LEAST_MILLIS = 900 - 20;

  it("take about a second under the token bucket", async () => {
    const emulated = await chooseQuota({ cgroupRoot: "/nowhere", pid: process.pid, wanted: "emulated" });
    const wallMillis = await burn(emulated);
    expect(wallMillis).toBeGreaterThan(LEAST_MILLIS);
    expect(wallMillis).toBeLessThan(5_000);
  });

  it.skipIf(real.kind === "token-bucket")("take as long under the kernel's quota", async () => {
    const wallMillis = await burn(real);
    // The kernel hands out its quota in slices of 5 ms on each CPU, and a first period may be under way.
    expect(wallMillis).toBeGreaterThan(LEAST_MILLIS - 100);
    expect(wallMillis).toBeLessThan(5_000);
  });
});
