import { execFile } from "node:child_process";
import { readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import type { Fault } from "../fault.ts";
import type { Part } from "../../stage/setting.ts";
import type { Stage } from "../../stage/stage.ts";

const run = promisify(execFile);
const PARTS: readonly Part[] = ["predictor", "exporter"];
const BEFORE_RESTART_MS = 3_000;
const FEW_DESCRIPTORS = 24;
const ENOUGH_DESCRIPTORS = 1_024;

/** kill -9 of the first pod. */
async function killPod(stage: Stage): Promise<void> {
  await Promise.all(PARTS.map(async (part) => stage.process(0, part).kill()));
}

const filler = (stage: Stage): string => join(stage.stateRoot, "filler");

/** Writes until the disk is full, or to the end of a file that is far larger. */
async function fillDisk(stage: Stage): Promise<void> {
  await writeFile(filler(stage), Buffer.alloc(64 * 2 ** 20)).catch(() => undefined);
}

/** Overwrites the middle of every file of the first pod's state. */
async function corrupt(stage: Stage): Promise<void> {
  for (const part of PARTS) {
    const directory = stage.stateOf(0, part);
    for (const name of await readdir(directory)) {
      const path = join(directory, name);
      const bytes = await readFile(path);
      const from = bytes.length >> 1;
      bytes.fill(0x55, from, Math.min(bytes.length, from + 4_096));
      await writeFile(path, bytes);
    }
  }
}

/** Changes what the exporters stored, as a later version might have written it. */
async function laterVersion(stage: Stage): Promise<void> {
  const path = join(stage.stateOf(0, "exporter"), "decisions.json");
  const state = JSON.parse(await readFile(path, "utf8")) as { decisions: object[] };
  const decisions = state.decisions.map((record, index) =>
    index === 0 ? { ...record, sayings: "of a later version" } : record,
  );
  await writeFile(path, JSON.stringify({ ...state, decisions }));
}

async function limitDescriptors(stage: Stage, count: number): Promise<void> {
  // The soft limit alone: what is lowered may be raised again without a privilege.
  const limit = `--nofile=${count}:`;
  await Promise.all(
    PARTS.map(async (part) => run("prlimit", ["--pid", String(stage.process(0, part).pid), limit])),
  );
}

export const DISK_FAULTS: readonly Fault[] = [
  {
    name: "disk-full",
    summary: "the disk of both pods is full; the first pod is killed and started again on it",
    stage: "small-disk",
    seconds: 6,
    begin: async (stage) => {
      await fillDisk(stage);
      await delay(BEFORE_RESTART_MS);
      await killPod(stage);
      await stage.heal();
    },
    end: async (stage) => rm(filler(stage), { force: true }),
  },
  {
    name: "state-removed",
    summary: "the state of the first pod is deleted under it, and the pod is then killed and started again",
    seconds: 6,
    allows: { storedLost: true },
    begin: async (stage) => {
      for (const part of PARTS) await rm(stage.stateOf(0, part), { recursive: true, force: true });
      await delay(BEFORE_RESTART_MS);
      await killPod(stage);
      await stage.heal();
    },
    end: async () => undefined,
  },
  {
    name: "state-corrupt",
    summary:
      "the first pod is killed, 4 KiB in the middle of each of its files are overwritten, and it is started again",
    seconds: 6,
    allows: { storedLost: true },
    begin: async (stage) => {
      await killPod(stage);
      await corrupt(stage);
      await stage.heal();
    },
    end: async () => undefined,
  },
  {
    name: "state-truncated",
    summary: "the first pod is killed, all of its files are cut in half, and it is started again",
    seconds: 6,
    allows: { storedLost: true },
    begin: async (stage) => {
      await killPod(stage);
      for (const part of PARTS) {
        for (const name of await readdir(stage.stateOf(0, part))) {
          const path = join(stage.stateOf(0, part), name);
          await truncate(path, (await readFile(path)).length >> 1);
        }
      }
      await stage.heal();
    },
    end: async () => undefined,
  },
  {
    name: "state-of-a-later-version",
    summary:
      "one stored decision has a field that this version does not know; its exporter starts without a predictor",
    seconds: 4,
    begin: async (stage) => {
      await killPod(stage);
      await stage.process(1, "predictor").kill();
      await laterVersion(stage);
      await stage.start(0, "exporter");
      await stage.process(1, "exporter").kill();
    },
    end: async () => undefined,
  },
  {
    name: "descriptors-exhausted",
    summary: "the first pod may have no more open files than it has",
    seconds: 8,
    // A process that can open nothing is rightly ended.
    allows: { livenessFailures: true },
    survives: true,
    begin: async (stage) => limitDescriptors(stage, FEW_DESCRIPTORS),
    end: async (stage) => limitDescriptors(stage, ENOUGH_DESCRIPTORS),
  },
];
