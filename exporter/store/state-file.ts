import { open, readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { DecisionRecord } from "@tradewind/core/contract/recommendation.ts";
import { EpochMs } from "@tradewind/core/contract/quantity.ts";
import { readJsonWith, readWith } from "@tradewind/core/config.ts";
import { describeError, TradewindError } from "@tradewind/core/errors.ts";
import { asidePath, replaceState } from "@tradewind/core/process/state-file.ts";

const STATE_SCHEMA = "tradewind.dev/exporter-state/v1";
const STATE_FILE = "decisions.json";
const MAX_STATE_BYTES = 256 * 2 ** 20;
const CHUNK_CHARACTERS = 256 * 1024;

/** Of a plan of 10,000 services, three decisions each that changed a size. */
const MOST_RECORDS = 40_000;

/** The decisions that changed a size, beside those in force. */
export const CHANGES_FILE = "changes.json";

/** What an exporter keeps across its restarts: decision records. */
const ExporterState = z.strictObject({
  schema: z.literal(STATE_SCHEMA),
  savedAtMs: EpochMs,
  decisions: z.array(z.unknown()).max(MOST_RECORDS),
});

/** Records that could not be read, each with its reason; they lie at `setAsidePath` now, if it could be written. */
export interface RejectedRecords {
  readonly count: number;
  readonly firstReason: string;
  readonly setAsidePath: string;
}

/** What reading the state came to. */
export type LoadedState =
  | { readonly kind: "absent" }
  | {
      readonly kind: "read";
      readonly savedAtMs: number;
      readonly decisions: readonly DecisionRecord[];
      readonly rejected?: RejectedRecords;
    }
  /** The file could not be used and lies at `setAsidePath` now. */
  | { readonly kind: "corrupt"; readonly error: TradewindError; readonly setAsidePath: string };

/**
 * The state file of one exporter, replaced as a whole, so that at any moment the disk holds one complete state. One writer per
 * directory.
 */
export class StateFile {
  readonly path: string;

  constructor(directory: string, name = STATE_FILE) {
    this.path = join(directory, name);
  }

  /**
   * Reads the state back. A file that is truncated or not ours is renamed to `decisions.json.corrupt-<time>` and reported,
   * never deleted. A single record that cannot be read costs its own service the decision: it is written to
   * `decisions.json.rejected.corrupt-<time>`, and the others count.
   * @throws TradewindError `state-unreadable` when the disk itself refuses
   */
  async load(nowMs: number): Promise<LoadedState> {
    try {
      const text = await this.#read();
      if (text === undefined) return { kind: "absent" };
      const what = `state file ${this.path}`;
      const { savedAtMs, decisions } = readJsonWith(ExporterState, text, what);
      return { kind: "read", savedAtMs, ...(await this.#sorted(decisions, nowMs)) };
    } catch (error) {
      if (!(error instanceof TradewindError)) {
        throw new TradewindError("state-unreadable", `cannot read ${this.path}; check owner and mode`, {
          cause: error,
        });
      }
      const setAsidePath = asidePath(this.path, nowMs);
      await rename(this.path, setAsidePath);
      return { kind: "corrupt", error, setAsidePath };
    }
  }

  /**
   * Replaces the state by these records, given as JSON.
   * @throws TradewindError `state-unwritable` when the disk is full or refuses; the state before is then untouched
   */
  async save(recordsJson: readonly string[], nowMs: number): Promise<void> {
    try {
      await replaceState(this.path, chunks(recordsJson.slice(0, MOST_RECORDS), nowMs));
    } catch (error) {
      throw new TradewindError(
        "state-unwritable",
        `cannot write ${this.path}; free space or check the mode of the directory`,
        { cause: error },
      );
    }
  }

  async #sorted(
    values: readonly unknown[],
    nowMs: number,
  ): Promise<{ decisions: DecisionRecord[]; rejected?: RejectedRecords }> {
    const decisions: DecisionRecord[] = [];
    const rejected: { reason: string; record: unknown }[] = [];
    for (const [index, record] of values.entries()) {
      try {
        decisions.push(readWith(DecisionRecord, record, `decision ${index}`));
      } catch (error) {
        rejected.push({ reason: describeError(error).slice(0, 1_000), record });
      }
    }
    const [first] = rejected;
    if (first === undefined) return { decisions };
    const setAsidePath = asidePath(`${this.path}.rejected`, nowMs);
    // On a full disk the decisions that can be read matter more.
    await replaceState(setAsidePath, JSON.stringify(rejected)).catch(() => undefined);
    return { decisions, rejected: { count: rejected.length, firstReason: first.reason, setAsidePath } };
  }

  async #read(): Promise<string | undefined> {
    try {
      const file = await open(this.path, "r");
      try {
        const { size } = await file.stat();
        if (size > MAX_STATE_BYTES) {
          throw new TradewindError("invalid-input", `${this.path} is too large: ${size} bytes`);
        }
        return await readFile(file, "utf8");
      } finally {
        await file.close();
      }
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
      throw error;
    }
  }
}

/** The document in pieces, so that thousands of records never hold up the event loop. */
function* chunks(recordsJson: readonly string[], savedAtMs: number): Generator<string> {
  let chunk = `{"schema":"${STATE_SCHEMA}","savedAtMs":${savedAtMs},"decisions":[`;
  let separator = "\n";
  for (const json of recordsJson) {
    chunk += separator + json;
    separator = ",\n";
    if (chunk.length < CHUNK_CHARACTERS) continue;
    yield chunk;
    chunk = "";
  }
  yield `${chunk}\n]}\n`;
}
