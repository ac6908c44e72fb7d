import { readFile, stat } from "node:fs/promises";
import type { Clock } from "@tradewind/core/process/clock.ts";
import { parseJsonWith } from "@tradewind/core/values/config.ts";
import { WorkloadList } from "@tradewind/core/contract/workload.ts";
import { describeError, TradewindError } from "@tradewind/core/values/errors.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import type { WorkloadSource } from "./workload-source.ts";

/** Larger files are refused: 10,000 workloads of a few pods need a tenth of it. */
const MAX_FILE_BYTES = 64 * 1024 * 1024;

export interface WorkloadsFileOptions {
  readonly path: string;
  readonly pollMs: number;
  /** A list whose file has been missing or unreadable for so long is no longer served. */
  readonly keepSeconds: number;
  readonly clock: Clock;
  readonly log: Logger;
  readonly onRead: (result: "ok" | "error") => void;
}

/**
 * Follows a workloads file that its writer replaces by rename. While the file is missing, half-written or garbage the
 * last good list is served for a bounded time, then none.
 */
export class WorkloadsFile implements WorkloadSource {
  private readonly options: WorkloadsFileOptions;
  private list: WorkloadList | undefined;
  private fingerprint: string | undefined;
  private problem: string | undefined;
  private lastGoodMs = 0;
  private timer: NodeJS.Timeout | undefined;
  private stopped = false;

  constructor(options: WorkloadsFileOptions) {
    this.options = options;
  }

  /** Reads the file once and then follows it. A file that is not there yet is no error here. */
  async start(): Promise<void> {
    await this.poll();
    this.schedule();
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
  }

  current(): WorkloadList | undefined {
    const ageMs = this.options.clock.monotonicMs() - this.lastGoodMs;
    return ageMs > this.options.keepSeconds * 1e3 ? undefined : this.list;
  }

  scalings(): WorkloadList["workloads"] | undefined {
    return this.current()?.workloads;
  }

  private schedule(): void {
    if (this.stopped) return;
    this.timer = setTimeout(() => {
      void this.poll().then(() => this.schedule());
    }, this.options.pollMs);
    this.timer.unref();
  }

  /**
   * Never throws: what is wrong with the file is logged once and counted. The same bad content is not read twice; a file that
   * could not be read is tried again.
   */
  private async poll(): Promise<void> {
    const { path, clock, log, onRead } = this.options;
    try {
      const { ino, mtimeMs, size } = await stat(path);
      const fingerprint = `${ino}:${mtimeMs}:${size}`;
      if (fingerprint !== this.fingerprint) {
        this.fingerprint = fingerprint;
        this.list = await readWorkloads(path, size);
        if (this.problem !== undefined) log.info({ path }, "the workloads file is readable again");
        this.problem = undefined;
        onRead("ok");
      }
      if (this.problem === undefined) this.lastGoodMs = clock.monotonicMs();
    } catch (error) {
      onRead("error");
      const problem = describeError(error);
      if (problem !== this.problem) log.warn({ path, problem }, "the workloads file cannot be used");
      this.problem = problem;
      if (!(error instanceof TradewindError)) this.fingerprint = undefined;
    }
  }
}

async function readWorkloads(path: string, bytes: number): Promise<WorkloadList> {
  if (bytes > MAX_FILE_BYTES) {
    throw new TradewindError("too-large", `${path} has ${bytes} bytes, at most ${MAX_FILE_BYTES} are read`);
  }
  return parseJsonWith(WorkloadList, await readFile(path, "utf8"), `the workloads file ${path}`);
}
