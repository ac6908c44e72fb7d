import { readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { MOST_OVERRIDES, Override } from "@tradewind/core/contract/override.ts";
import { readRecordLines, recordLines } from "@tradewind/core/process/record-lines.ts";
import { asidePath, replaceState } from "@tradewind/core/process/state-file.ts";
import { readWith } from "@tradewind/core/values/config.ts";
import { describeError, TradewindError } from "@tradewind/core/values/errors.ts";

const FILE = "overrides.json";
const SCHEMA = "tradewind.dev/overrides/v1";

const OverrideState = z.looseObject({ overrides: z.array(z.unknown()).max(4 * MOST_OVERRIDES) });

/** Overrides beside the decisions in force, replaced as a whole. One writer per directory. */
export class OverrideFile {
  readonly path: string;

  constructor(directory: string) {
    this.path = join(directory, FILE);
  }

  /**
   * One that cannot be read costs no other; the file as it was is then kept beside.
   * @throws TradewindError `state-unreadable` when the disk refuses
   */
  async load(nowMs: number): Promise<{ readonly overrides: readonly Override[]; readonly problem?: string }> {
    try {
      const text = await readFile(this.path, "utf8");
      const overrides: Override[] = [];
      const problems: string[] = [];
      try {
        const { damage, document } = readRecordLines(text, "overrides", this.path);
        problems.push(...damage);
        for (const value of readWith(OverrideState, document, this.path).overrides) {
          const { data, error } = Override.safeParse(value);
          if (data === undefined) problems.push(error.issues[0]?.message ?? "not an override");
          else overrides.push(data);
        }
      } catch (error) {
        problems.push(describeError(error));
      }
      if (problems.length === 0) return { overrides };
      const aside = asidePath(this.path, nowMs);
      await rename(this.path, aside);
      const problem = `${problems.length} of ${this.path} cannot be read, see ${aside}: ${problems[0]}`;
      return { overrides, problem: problem.slice(0, 1_000) };
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return { overrides: [] };
      throw new TradewindError("state-unreadable", `cannot read ${this.path}; check owner and mode`, {
        cause: error,
      });
    }
  }

  /** @throws TradewindError `state-unwritable`; what was kept before is then untouched */
  async save(overrides: readonly Override[], nowMs: number): Promise<void> {
    const records = overrides.map((each) => JSON.stringify(each));
    try {
      await replaceState(this.path, recordLines({ schema: SCHEMA, savedAtMs: nowMs }, "overrides", records));
    } catch (error) {
      throw new TradewindError(
        "state-unwritable",
        `cannot write ${this.path}, so nothing was changed; free space or check the mode of the directory`,
        { cause: error },
      );
    }
  }
}
