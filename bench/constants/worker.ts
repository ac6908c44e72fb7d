/** Loads the product with one constant changed, and replays recorded runs with it or makes new ones. */
import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { parentPort, workerData } from "node:worker_threads";
import { describeError } from "@tradewind/core/values/errors.ts";
import { withChange } from "./declared.ts";
import type { Change } from "./declared.ts";
import type { Asked, Recorded } from "./replay.ts";
import type { LoopJob, LoopResult } from "./loop.ts";

export interface Task {
  /** Absent: as shipped. */
  readonly change: Change | undefined;
  /** File with recorded runs, one JSON a line; absent: nothing is replayed. */
  readonly recordedPath: string | undefined;
  readonly loops: readonly LoopJob[];
}

export interface Done {
  /** By run, decision and service. */
  readonly asked: Asked[][][];
  readonly loops: LoopResult[];
  readonly problem?: string;
}

/** Source as a loader gives it. */
const textOf = (source: string | NodeJS.TypedArray | ArrayBuffer | undefined | null): string =>
  typeof source === "string"
    ? source
    : Buffer.from((source ?? new ArrayBuffer(0)) as ArrayBuffer).toString("utf8");

async function work({ change, loops, recordedPath }: Task): Promise<Done> {
  if (change !== undefined)
    registerHooks({
      load(url, context, nextLoad) {
        const loaded = nextLoad(url, context);
        if (!url.endsWith(`/${change.file}`)) return loaded;
        return { ...loaded, source: withChange(textOf(loaded.source), change) };
      },
    });
  const { replayed } = await import("./replay.ts");
  const asked =
    recordedPath === undefined
      ? []
      : readFileSync(recordedPath, "utf8")
          .split("\n")
          .filter((line) => line !== "")
          .map((line) => replayed(JSON.parse(line) as Recorded));
  const { looped } = await import("./loop.ts");
  const results: LoopResult[] = [];
  for (const loop of loops) results.push(await looped(loop));
  return { asked, loops: results };
}

async function done(): Promise<Done> {
  try {
    return await work(workerData as Task);
  } catch (error) {
    return { asked: [], loops: [], problem: describeError(error) };
  }
}

parentPort?.postMessage(await done(), []);
