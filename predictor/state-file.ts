import { mkdir, open, readFile, rename } from "node:fs/promises";
import { dirname, join } from "node:path";
import { parseJsonWith } from "@tradewind/core/config.ts";
import { describeError } from "@tradewind/core/errors.ts";
import type { Logger } from "@tradewind/core/log.ts";
import { PolicyState } from "./policy/state.ts";

/**
 * Keeps the policies' state in one file of a directory. Written to a neighbour, flushed and renamed, so that a crash leaves
 * the old or the new state, never half of one. Writes that come while one is under way are merged to the newest.
 */
export class StateFile {
  readonly path: string;
  private readonly log: Logger;
  private readonly onError: () => void;
  private pending: PolicyState | undefined;
  private writing: Promise<void> | undefined;

  constructor(directory: string, log: Logger, onError: () => void) {
    this.path = join(directory, "predictor-state.json");
    this.log = log;
    this.onError = onError;
  }

  /**
   * The state kept for this application, or undefined when there is none. A file that cannot be used is set aside as
   * `….bad`: without state nothing is scaled down, since decisions then start from what the platform runs.
   */
  async read(application: string, namespace: string): Promise<PolicyState | undefined> {
    try {
      const state = parseJsonWith(PolicyState, await readFile(this.path, "utf8"), `the state ${this.path}`);
      if (state.application === application && state.namespace === namespace) return state;
      this.log.warn(
        { path: this.path, application: state.application },
        "the state is of another application",
      );
    } catch (error) {
      if ((error as { code?: unknown }).code === "ENOENT") return undefined;
      this.onError();
      this.log.error({ problem: describeError(error) }, "the state cannot be used, starting without");
      await rename(this.path, `${this.path}.bad`).catch(() => undefined);
    }
    return undefined;
  }

  /** Never throws: a disk that is full or gone must not stop decisions. It is logged and counted. */
  write(state: PolicyState): void {
    this.pending = state;
    this.writing ??= this.drain();
  }

  /** Waits for what has been handed to {@link write}. */
  async flush(): Promise<void> {
    await this.writing;
  }

  private async drain(): Promise<void> {
    while (this.pending !== undefined) {
      const state = this.pending;
      this.pending = undefined;
      try {
        await replaceFile(this.path, JSON.stringify(state));
      } catch (error) {
        this.onError();
        this.log.error({ path: this.path, problem: describeError(error) }, "the state cannot be written");
      }
    }
    this.writing = undefined;
  }
}

async function replaceFile(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const neighbour = `${path}.${process.pid}.new`;
  const file = await open(neighbour, "w", 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(neighbour, path);
  await flushDirectory(dirname(path));
}

/** Without it a power cut may bring the old name back. */
async function flushDirectory(directory: string): Promise<void> {
  const handle = await open(directory, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
