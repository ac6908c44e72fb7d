import { Worker } from "node:worker_threads";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import { siblingModule } from "@tradewind/core/process/sibling-module.ts";
import type { TlsObserver } from "@tradewind/core/net/reloading-tls.ts";
import { NOTHING_YET } from "./messages.ts";
import type {
  Answers,
  CarriedError,
  FromScaler,
  News,
  Question,
  ScalerReport,
  ScalerThreadOptions,
  ToScaler,
} from "./messages.ts";
import type { ServedApplication, ServedRow } from "../../keep/served-table.ts";
import { arm, startWatchdog } from "./watchdog.ts";
import type { Beats, Watchdog } from "./watchdog.ts";

/** A thread that says nothing for this long is stuck: its answers take microseconds. */
const SILENCE_MS = 4_000;
/** Streams and calls have 2 s for their end. */
const STOP_MS = 5_000;

export interface ScalerThreadEdges {
  readonly observer: TlsObserver;
  /** Hears of the end of a started thread that nobody asked to end; its port is closed with it. */
  readonly onDeath: (error: TradewindError) => void;
}

interface WaitingQuestion {
  readonly resolve: (answer: Answers[Question]) => void;
  readonly reject: (error: TradewindError) => void;
  readonly timer: NodeJS.Timeout | undefined;
}

/** The thread that answers KEDA, as the rest of the exporter sees it. It serves nothing before {@link listen}. */
export class ScalerThread {
  readonly #worker: Worker;
  readonly #edges: ScalerThreadEdges;
  readonly #waiting = new Map<number, WaitingQuestion>();
  #nextId = 1;
  #lastReport = NOTHING_YET;
  #lastApplications = "";
  #lastProblem: string | undefined;
  #crash: unknown;
  readonly #watchdog: { readonly beats: Beats; readonly own: Watchdog } | undefined;
  #state: "starting" | "running" | "stopping" | "stopped" | "dead" = "starting";

  private constructor(options: ScalerThreadOptions, edges: ScalerThreadEdges) {
    this.#edges = edges;
    // Flags of the parent, such as a memory limit, are not the worker's.
    this.#worker = new Worker(siblingModule(import.meta.url, "./scaler-worker.ts"), {
      execArgv: [],
      workerData: options,
    });
    const { watchdog } = options;
    this.#watchdog =
      watchdog === undefined ? undefined : { beats: watchdog.beats, own: startWatchdog("main", watchdog) };
    this.#worker.on("message", (message: FromScaler) => this.#take(message));
    this.#worker.on("error", (error: unknown) => {
      this.#crash = error;
    });
    this.#worker.on("exit", (exitCode) => this.#ended(exitCode));
  }

  /** @throws TradewindError `tls-material` when the certificates cannot be used */
  static async start(options: ScalerThreadOptions, edges: ScalerThreadEdges): Promise<ScalerThread> {
    const thread = new ScalerThread(options, edges);
    try {
      await thread.#ask("open");
      thread.#state = "running";
      return thread;
    } catch (error) {
      await thread.stop();
      throw error;
    }
  }

  /**
   * Binds the port.
   * @returns `host:port`
   * @throws TradewindError `cannot-listen` naming the address
   */
  async listen(): Promise<string> {
    const address = await this.#ask("listen");
    if (this.#watchdog !== undefined) arm(this.#watchdog.beats, true);
    return address;
  }

  /** Serves these rows and no others. Resolves when they are in force; all come in force at one moment. */
  async serve(rows: Iterable<ServedRow>): Promise<void> {
    this.#tell({ kind: "rows", rows: [...rows] });
    try {
      await this.#ask("put-in-force");
    } catch (error) {
      // While the exporter stops nobody is served any more.
      if (!this.#isToStop) throw error;
    }
  }

  /** Says what keeps the predictor silent, if it is. */
  setPredictorProblem(problem: string | undefined): void {
    if (problem === this.#lastProblem) return;
    this.#lastProblem = problem;
    this.#tell({ kind: "predictor", problem });
  }

  /** Says which applications there are, where it may be several. */
  setApplications(applications: readonly ServedApplication[]): void {
    const text = JSON.stringify(applications);
    if (text === this.#lastApplications) return;
    this.#lastApplications = text;
    this.#tell({ kind: "applications", applications });
  }

  /** What the thread has counted; what it said last when it does not answer. */
  async report(): Promise<ScalerReport> {
    try {
      this.#lastReport = await this.#ask("report", SILENCE_MS);
    } catch {
      // A scrape that shows old counts says more than none.
    }
    return this.#lastReport;
  }

  /** Whether the thread answers. One that was asked to stop need not. */
  async isResponsive(): Promise<boolean> {
    try {
      await this.#ask("ping", SILENCE_MS);
      return true;
    } catch {
      return this.#isToStop;
    }
  }

  /** The thread that this one is asked from has answered somebody. */
  progress(): void {
    this.#watchdog?.own.progress();
  }

  /** Ends streams cleanly, then the port, then the thread. */
  async stop(): Promise<void> {
    if (this.#isToStop || this.#state === "dead") return;
    this.#state = "stopping";
    this.#unwatch();
    try {
      await this.#ask("stop", STOP_MS);
    } catch {
      // It is ended all the same.
    }
    await this.#worker.terminate();
  }

  #unwatch(): void {
    if (this.#watchdog === undefined) return;
    arm(this.#watchdog.beats, false);
    this.#watchdog.own.stop();
  }

  get #isToStop(): boolean {
    return this.#state === "stopping" || this.#state === "stopped";
  }

  #tell(message: News): void {
    this.#worker.postMessage(message satisfies ToScaler, []);
  }

  #ask<Each extends Question>(question: Each, patienceMs?: number): Promise<Answers[Each]> {
    const { promise, resolve, reject } = Promise.withResolvers<Answers[Each]>();
    if (this.#state === "stopped" || this.#state === "dead") {
      reject(gone(undefined));
      return promise;
    }
    const id = this.#nextId;
    this.#nextId += 1;
    const timer =
      patienceMs === undefined
        ? undefined
        : setTimeout(() => this.#settle(id)?.reject(silent(question, patienceMs)), patienceMs);
    this.#waiting.set(id, { resolve: resolve as WaitingQuestion["resolve"], reject, timer });
    this.#worker.postMessage({ kind: "question", id, question } satisfies ToScaler, []);
    return promise;
  }

  #take(message: FromScaler): void {
    switch (message.kind) {
      case "answer":
        this.#settle(message.id)?.resolve(message.answer);
        break;
      case "refused":
        this.#settle(message.id)?.reject(errorFrom(message.error));
        break;
      case "tls":
        this.#edges.observer.tlsReloaded(...message.reloaded);
        break;
    }
  }

  #settle(id: number): WaitingQuestion | undefined {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    clearTimeout(waiting?.timer);
    return waiting;
  }

  #ended(exitCode: number): void {
    const wasRunning = this.#state === "running";
    this.#unwatch();
    this.#state = this.#isToStop ? "stopped" : "dead";
    const error = gone(this.#crash ?? `exit code ${exitCode}`);
    for (const id of this.#waiting.keys()) this.#settle(id)?.reject(error);
    if (wasRunning) this.#edges.onDeath(error);
  }
}

const errorFrom = ({ code, message, cause }: CarriedError): TradewindError =>
  new TradewindError(code, message, cause === "" ? {} : { cause: new Error(cause) });

const gone = (cause: unknown): TradewindError =>
  new TradewindError("scaler-gone", "the thread that answers KEDA has ended", { cause });

const silent = (question: Question, ms: number): TradewindError =>
  new TradewindError(
    "scaler-silent",
    `the thread that answers KEDA did not answer '${question}' in ${ms} ms`,
  );
