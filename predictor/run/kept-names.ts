import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describeError } from "@tradewind/core/values/errors.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import { readRecordLines, recordLines } from "@tradewind/core/process/record-lines.ts";
import { replaceState } from "@tradewind/core/process/state-file.ts";
import { readNameHolders } from "../window/name-holders.ts";
import type { NameHoldersState } from "../window/name-holders.ts";

const FILE = "name-holders.json";

/** Keeps on disk who had which name of a service first. */
export class KeptNames {
  readonly #path: string | undefined;
  readonly #log: Logger;
  readonly #onError: () => void;

  /** @param directory absent: nothing is kept */
  constructor(directory: string | undefined, log: Logger, onError: () => void) {
    this.#path = directory && join(directory, FILE);
    this.#log = log;
    this.#onError = onError;
  }

  /** What can be read of the file; undefined where there is none. Never throws: what is not known is in doubt. */
  async read(): Promise<NameHoldersState | undefined> {
    if (this.#path === undefined) return undefined;
    try {
      const text = await readFile(this.#path, "utf8");
      const { damage, document } = readRecordLines(text, "names", this.#path);
      if (damage.length > 0) this.#failed(damage[0] ?? "", "holders of names were lost");
      return readNameHolders(document);
    } catch (error) {
      if ((error as { code?: unknown }).code !== "ENOENT")
        this.#failed(describeError(error), "who has which name cannot be read");
      return undefined;
    }
  }

  /** Never throws: it is written again with the next change. */
  async write({ names, schema }: NameHoldersState): Promise<void> {
    if (this.#path === undefined) return;
    try {
      await replaceState(
        this.#path,
        recordLines(
          { schema },
          "names",
          names.map((each) => JSON.stringify(each)),
        ),
      );
    } catch (error) {
      this.#failed(describeError(error), "who has which name cannot be written");
    }
  }

  #failed(problem: string, message: string): void {
    this.#onError();
    this.#log.error({ path: this.#path, problem }, message);
  }
}
