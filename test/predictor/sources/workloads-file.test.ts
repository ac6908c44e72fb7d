import { mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Clock } from "@tradewind/core/process/clock.ts";
import { systemClock } from "@tradewind/core/process/clock.ts";
import { WORKLOADS_SCHEMA } from "@tradewind/core/contract/workload.ts";
import type { WorkloadList } from "@tradewind/core/contract/workload.ts";
import { createLog } from "@tradewind/core/process/log.ts";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { WorkloadsFile } from "@tradewind/predictor/sources/workloads-file.ts";
import { waitUntil } from "../../wait-until.ts";

vi.mock("node:fs/promises", async (original) => {
  const real = await original<{ readFile: () => unknown }>();
  return { ...real, readFile: vi.fn(real.readFile) };
});

let directory: string;
let path: string;
let file: WorkloadsFile | undefined;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "tradewind-workloads-"));
  path = join(directory, "workloads.json");
});
afterEach(async () => {
  file?.stop();
  await rm(directory, { recursive: true });
});

const list = (name: string): WorkloadList => ({
  schema: WORKLOADS_SCHEMA,
  observedAtMs: 1,
  workloads: [
    {
      namespace: "shop",
      kind: "Deployment",
      name,
      service: name,
      replicasWanted: 1,
      replicasReady: 1,
      pods: [],
    },
  ],
});

async function replace(value: unknown): Promise<void> {
  await writeFile(`${path}.new`, typeof value === "string" ? value : JSON.stringify(value));
  await rename(`${path}.new`, path);
}

async function follow(clock: Clock = systemClock): Promise<{ reads: string[] }> {
  const reads: string[] = [];
  file = new WorkloadsFile({
    path,
    pollMs: 10,
    keepSeconds: 60,
    clock,
    log: createLog("test", "silent"),
    onRead: (result) => reads.push(result),
  });
  await file.start();
  return { reads };
}

const service = (): string | undefined => file?.current()?.workloads[0]?.service;

describe("a workloads file", () => {
  it("is read at once, and again when it is replaced", async () => {
    await replace(list("geo"));
    const { reads } = await follow();
    expect(service()).toBe("geo");
    await replace(list("rate"));
    await waitUntil(() => service() === "rate");
    expect(reads).toEqual(["ok", "ok"]);
  });

  it("may come later", async () => {
    await follow();
    expect(file?.current()).toBeUndefined();
    await replace(list("geo"));
    await waitUntil(() => service() === "geo");
  });

  it.each([
    ["half-written", JSON.stringify(list("rate")).slice(0, 80)],
    ["empty", ""],
    ["of another schema", JSON.stringify({ ...list("rate"), schema: "tradewind.dev/workloads/v9" })],
    [
      "with negative replicas",
      JSON.stringify(list("rate")).replace('"replicasReady":1', '"replicasReady":-1'),
    ],
  ])("that is %s leaves the last good list, is counted once and recovers", async (_name, text) => {
    await replace(list("geo"));
    const { reads } = await follow();
    await replace(text);
    await waitUntil(() => reads.includes("error"));
    expect(service()).toBe("geo");
    await replace(list("user"));
    await waitUntil(() => service() === "user");
    expect(reads).toEqual(["ok", "error", "ok"]);
  });

  it("whose read failed once is read at the next poll, without a change", async () => {
    await replace(list("geo"));
    const failure = Object.assign(new Error("EMFILE: too many open files"), { code: "EMFILE" });
    vi.mocked(readFile).mockRejectedValueOnce(failure);
    const { reads } = await follow();
    expect(file?.current()).toBeUndefined();
    await waitUntil(() => service() === "geo");
    expect(reads).toEqual(["error", "ok"]);
  });

  it("that has been gone for too long tells nothing any more", async () => {
    let nowMs = 0;
    await replace(list("geo"));
    const { reads } = await follow({ nowMs: () => nowMs, monotonicMs: () => nowMs });
    await rm(path);
    await waitUntil(() => reads.includes("error"));
    nowMs = 59_000;
    expect(service()).toBe("geo");
    nowMs = 61_000;
    expect(file?.current()).toBeUndefined();
    await replace(list("geo"));
    await waitUntil(() => service() === "geo");
  });
});
