import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { readRecordLines } from "@tradewind/core/process/record-lines.ts";
import { z } from "zod";

const Decisions = z.looseObject({ decisions: z.array(z.looseObject({ service: z.string() })) });

/** What is on disk: services with a decision, and stored windows. */
export interface Stored {
  readonly decisions: ReadonlySet<string>;
  readonly windows: ReadonlySet<string>;
}

/** Reads the state of one exporter and of one predictor; what cannot be read is not there. */
export function readStored(exporterState: string, predictorState: string): Stored {
  return {
    decisions: new Set(decisionsIn(join(exporterState, "decisions.json"))),
    windows: new Set(windowsIn(join(predictorState, "history.sqlite"))),
  };
}

/** How many parts of `before` are not there any more. */
export function lostSince(before: Stored, after: Stored): number {
  const missing = (from: ReadonlySet<string>, to: ReadonlySet<string>): number =>
    [...from].filter((key) => !to.has(key)).length;
  return missing(before.decisions, after.decisions) + missing(before.windows, after.windows);
}

function decisionsIn(path: string): string[] {
  try {
    const { document } = readRecordLines(readFileSync(path, "utf8"), "decisions", path);
    return Decisions.parse(document).decisions.map(({ service }) => service);
  } catch {
    return [];
  }
}

function windowsIn(path: string): string[] {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, { readOnly: true });
    const rows = database
      .prepare(
        "SELECT w.start_ms AS start, s.service AS service FROM windows w JOIN services s ON s.id = w.service_id WHERE w.resolution < 60",
      )
      .all();
    return rows.map(({ service, start }) => `${String(start)} ${String(service)}`);
  } catch {
    return [];
  } finally {
    database?.close();
  }
}
