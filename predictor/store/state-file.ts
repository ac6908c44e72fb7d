import { readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { readJsonWith } from "@tradewind/core/config.ts";
import { describeError } from "@tradewind/core/errors.ts";
import type { Logger } from "@tradewind/core/log.ts";
import { asidePath, replaceState } from "@tradewind/core/process/state-file.ts";
import type { z } from "zod";
import { PolicyState } from "../policy/state.ts";
import { IncidentState } from "../reason/incident-log.ts";

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
}

/** What the policies remember. */
export const POLICY_STATE: StateKind<PolicyState> = { name: "predictor-state.json", schema: PolicyState };

/** Times in which the objective was missed. */
export const INCIDENT_STATE: StateKind<IncidentState> = { name: "incidents.json", schema: IncidentState };

/**
 * Keeps a state in one file of a directory, replaced as a whole. Writes that come while one is under way are merged
 * to the newest.
 */
export class StateFile<State extends OwnedState> {
  readonly path: string;
  private readonly log: Logger;
  private readonly onError: () => void;
  private readonly schema: z.ZodType<State>;
  private pending: State | undefined;
  private writing: Promise<void> | undefined;

  constructor(directory: string, kind: StateKind<State>, log: Logger, onError: () => void) {
    this.path = join(directory, kind.name);
    this.schema = kind.schema;
    this.log = log;
    this.onError = onError;
  }

  /**
   * The state kept for this application, or undefined when there is none. A file that cannot be used is set aside:
   * without state nothing is scaled down, since decisions then start from what the platform runs.
   */
  async read(application: string, namespace: string, nowMs: number): Promise<State | undefined> {
    try {
      const state = readJsonWith(this.schema, await readFile(this.path, "utf8"), `the state ${this.path}`);
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

  private async drain(): Promise<void> {
    while (this.pending !== undefined) {
      const state = this.pending;
      this.pending = undefined;
      try {
        await replaceState(this.path, JSON.stringify(state));
      } catch (error) {
        this.onError();
        this.log.error({ path: this.path, problem: describeError(error) }, "the state cannot be written");
      }
    }
    this.writing = undefined;
  }
}
