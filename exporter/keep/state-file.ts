import { join } from "node:path";
import { z } from "zod";
import { DecisionRecord } from "@tradewind/core/contract/recommendation.ts";
import { readWith } from "@tradewind/core/values/config.ts";
import { describeError, TradewindError } from "@tradewind/core/values/errors.ts";
import { readRecordLines, recordLines } from "@tradewind/core/process/record-lines.ts";
import { asidePath, replaceState, systemDisk } from "@tradewind/core/process/state-file.ts";
import type { Disk } from "@tradewind/core/process/state-file.ts";

const STATE_SCHEMA = "tradewind.dev/exporter-state/v1";
/** Of any release. */
const STATE_SCHEMAS = /^tradewind\.dev\/exporter-state\/v\d+$/;
const STATE_FILE = "decisions.json";
const MAX_STATE_BYTES = 256 * 2 ** 20;

/** Of a plan of 10,000 services, three decisions each that changed a size. */
const MOST_RECORDS = 40_000;

/** The decisions that changed a size, beside those in force. */
export const CHANGES_FILE = "changes.json";

/** What an exporter keeps across its restarts: decision records. Each is read by itself. */
const ExporterState = z.looseObject({
  schema: z.string().regex(STATE_SCHEMAS),
  decisions: z.array(z.unknown()).max(MOST_RECORDS),
});

/** Records that could not be read. */
export interface RejectedRecords {
  readonly count: number;
  readonly firstReason: string;
  /** Where the file as it was lies now, too, if a link could be made; absent where the file itself keeps them. */
  readonly setAsidePath?: string;
}

/** What reading the state came to. */
export type LoadedState =
  | { readonly kind: "absent" }
  | {
      readonly kind: "read";
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
  readonly #disk: Disk;
  /** Records, as JSON, that this release cannot read and another one may. */
  #kept: readonly string[] = [];

  constructor(directory: string, name = STATE_FILE, disk = systemDisk) {
    this.path = join(directory, name);
    this.#disk = disk;
  }

  /**
   * Reads the state back, a record at a time: one that was cut short or that this release cannot read costs its own service the decision.
   * Records of another release are written back with each {@link save}, for the day when that release returns. A damaged file is kept as
   * `decisions.json.corrupt-<time>`, too; one that is not ours at all is renamed so.
   * @throws TradewindError `state-unreadable` when the disk itself refuses
   */
  async load(nowMs: number): Promise<LoadedState> {
    try {
      const text = await this.#read();
      if (text === undefined) return { kind: "absent" };
      return { kind: "read", ...(await this.#sorted(text, nowMs)) };
    } catch (error) {
      if (!(error instanceof TradewindError)) {
        throw new TradewindError("state-unreadable", `cannot read ${this.path}; check owner and mode`, {
          cause: error,
        });
      }
      const setAsidePath = asidePath(this.path, nowMs);
      await this.#disk.rename(this.path, setAsidePath);
      return { kind: "corrupt", error, setAsidePath };
    }
  }

  /**
   * Replaces the state by these records, given as JSON, behind those of another release: the last record of a service counts.
   * @throws TradewindError `state-unwritable` when the disk is full or refuses; the state before is then untouched
   */
  async save(recordsJson: readonly string[], nowMs: number): Promise<void> {
    try {
      const records = [...this.#kept, ...recordsJson].slice(-MOST_RECORDS);
      const header = { schema: STATE_SCHEMA, savedAtMs: nowMs };
      await replaceState(this.path, recordLines(header, "decisions", records), this.#disk);
    } catch (error) {
      throw new TradewindError(
        "state-unwritable",
        `cannot write ${this.path}; free space or check the mode of the directory`,
        { cause: error },
      );
    }
  }

  async #sorted(
    text: string,
    nowMs: number,
  ): Promise<{ decisions: DecisionRecord[]; rejected?: RejectedRecords }> {
    const what = `state file ${this.path}`;
    const { damage, document } = readRecordLines(text, "decisions", what);
    const decisions: DecisionRecord[] = [];
    const reasons = [...damage];
    const kept: string[] = [];
    for (const [index, record] of readWith(ExporterState, document, what).decisions.entries()) {
      try {
        decisions.push(readWith(DecisionRecord, record, `decision ${index}`));
      } catch (error) {
        reasons.push(describeError(error).slice(0, 1_000));
        kept.push(JSON.stringify(record));
      }
    }
    this.#kept = kept;
    const [firstReason] = reasons;
    if (firstReason === undefined) return { decisions };
    const rejected = { count: reasons.length, firstReason };
    if (damage.length === 0) return { decisions, rejected };
    const setAsidePath = asidePath(this.path, nowMs);
    // The decisions that can be read matter more.
    await this.#disk.link(this.path, setAsidePath).catch(() => undefined);
    return { decisions, rejected: { ...rejected, setAsidePath } };
  }

  async #read(): Promise<string | undefined> {
    try {
      const file = await this.#disk.open(this.path, "r");
      try {
        const { size } = await file.stat();
        if (size > MAX_STATE_BYTES) {
          throw new TradewindError("invalid-input", `${this.path} is too large: ${size} bytes`);
        }
        return await file.readFile("utf8");
      } finally {
        await file.close();
      }
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
      throw error;
    }
  }
}
