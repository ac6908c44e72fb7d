import { link, readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { readWith } from "@tradewind/core/values/config.ts";
import { describeError } from "@tradewind/core/values/errors.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import { readRecordLines, recordLines } from "@tradewind/core/process/record-lines.ts";
import { asidePath, replaceState } from "@tradewind/core/process/state-file.ts";
import type { z } from "zod";
import { PolicyState } from "../../decide/state.ts";
import { IncidentState } from "../../answers/reason/incident-log.ts";
import { ShadowState } from "../../answers/shadow/state.ts";

/** A state of one application that is kept in a file. */
interface OwnedState {
  readonly application: string;
  readonly namespace: string;
}

/** What is kept in a file of this name. */
export interface StateKind<State extends OwnedState> {
  /** In the state directory. */
  readonly name: string;
  readonly schema: z.ZodType<State>;
  /** The list that is written with one record a line, of which each survives the loss of another. */
  readonly list: keyof State & string;
}

/** What the policies remember. */
export const POLICY_STATE: StateKind<PolicyState> = {
  name: "predictor-state.json",
  schema: PolicyState,
  list: "services",
};

/** Times in which the objective was missed. */
export const INCIDENT_STATE: StateKind<IncidentState> = {
  name: "incidents.json",
  schema: IncidentState,
  list: "incidents",
};

/** What the HPA before would have come to. */
export const SHADOW_STATE: StateKind<ShadowState> = {
  name: "shadow.json",
  schema: ShadowState,
  list: "hours",
};

/**
 * Keeps a state in one file of a directory, replaced as a whole. Writes that come while one is under way are merged
 * to the newest.
 */
export class StateFile<State extends OwnedState> {
  readonly path: string;
  private readonly log: Logger;
  private readonly onError: () => void;
  private readonly kind: StateKind<State>;
  private pending: State | undefined;
  private writing: Promise<void> | undefined;

  constructor(directory: string, kind: StateKind<State>, log: Logger, onError: () => void) {
    this.path = join(directory, kind.name);
    this.kind = kind;
    this.log = log;
    this.onError = onError;
  }

  /**
   * The state kept for this application, or undefined when there is none. A file that lost some of its records counts without them. One
   * that cannot be used is set aside: without state nothing is scaled down, since decisions then start from what the platform runs.
   */
  async read(application: string, namespace: string, nowMs: number): Promise<State | undefined> {
    try {
      const what = `the state ${this.path}`;
      const { damage, document } = readRecordLines(await readFile(this.path, "utf8"), this.kind.list, what);
      const state = readWith(this.kind.schema, document, what);
      if (damage.length > 0) await this.damaged(damage, nowMs);
      if (state.application === application && state.namespace === namespace) return state;
      this.log.warn(
        { path: this.path, application: state.application },
        "the state is of another application",
      );
    } catch (error) {
      if ((error as { code?: unknown }).code === "ENOENT") return undefined;
      this.onError();
      const setAsidePath = asidePath(this.path, nowMs);
      this.log.error(
        { problem: describeError(error), setAsidePath },
        "the state cannot be used, starting without",
      );
      await rename(this.path, setAsidePath).catch(() => undefined);
    }
    return undefined;
  }

  /** Never throws: a disk that is full or gone must not stop decisions. It is logged and counted. */
  write(state: State): void {
    this.pending = state;
    this.writing ??= this.drain();
  }

  /** Waits for what has been handed to {@link write}. */
  async flush(): Promise<void> {
    await this.writing;
  }

  private async damaged(damage: readonly string[], nowMs: number): Promise<void> {
    this.onError();
    const setAsidePath = asidePath(this.path, nowMs);
    this.log.error({ problem: damage[0], setAsidePath }, "the state lost records, going on with the others");
    await link(this.path, setAsidePath).catch(() => undefined);
  }

  private async drain(): Promise<void> {
    const { list } = this.kind;
    while (this.pending !== undefined) {
      const state = this.pending;
      this.pending = undefined;
      try {
        const { [list]: records, ...header } = state;
        const recordsJson = (records as readonly unknown[]).map((record) => JSON.stringify(record));
        await replaceState(this.path, recordLines(header, list, recordsJson));
      } catch (error) {
        this.onError();
        this.log.error({ path: this.path, problem: describeError(error) }, "the state cannot be written");
      }
    }
    this.writing = undefined;
  }
}
