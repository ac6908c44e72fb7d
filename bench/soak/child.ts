import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { asInImage, ROOT } from "../image.ts";
import { trendOf } from "../trend.ts";
import type { Sample, Trend } from "../trend.ts";

export interface ChildOptions {
  readonly name: string;
  readonly command: "agent" | "predictor" | "exporter";
  /** Values by flag, without its dashes; empty for a flag without a value. */
  readonly flags: Readonly<Record<string, string>>;
}

export interface ChildFigures {
  readonly name: string;
  readonly starts: number;
  /** Ends that nobody had asked for. */
  readonly deaths: number;
  /** The longest life, of which the trends are. */
  readonly minutes: number;
  readonly rssBytes: Trend;
  readonly descriptors: Trend;
  /** Errors that it logged, by message. */
  readonly errors: Readonly<Record<string, number>>;
}

interface Life {
  readonly rss: Sample[];
  readonly descriptors: Sample[];
}

const STOP_MS = 10_000;
/** Messages told apart. */
const MOST_MESSAGES = 20;

/** One process of Tradewind, as its image starts it. It ends with the process that started it, however that ends. */
export class Child {
  readonly name: string;
  private readonly options: ChildOptions;
  private readonly lives: Life[] = [];
  private readonly errors = new Map<string, number>();
  private process: ChildProcess | undefined;
  private deaths = 0;

  constructor(options: ChildOptions) {
    this.name = options.name;
    this.options = options;
  }

  /** Starts it and waits until it is ready. */
  async start(): Promise<void> {
    const { command, name } = this.options;
    const { env, flags, script } = asInImage(command);
    const args = Object.entries({ "log-level": "error", ...this.options.flags }).flatMap(([flag, value]) =>
      value === "" ? [`--${flag}`] : [`--${flag}`, value],
    );
    const path = [script, script.replace(/\.js$/, ".ts")].find((each) => existsSync(join(ROOT, each)));
    const child = spawn(process.execPath, [...flags, join(ROOT, path ?? script), command, ...args], {
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    this.process = child;
    this.lives.push({ rss: [], descriptors: [] });
    child.once("exit", () => {
      if (this.process !== child) return;
      this.process = undefined;
      this.deaths += 1;
    });
    for (const stream of [child.stdout, child.stderr]) {
      if (stream !== null) createInterface({ input: stream }).on("line", (line) => this.noteLine(line));
    }
    const ready = once(child.stdout ?? child, "data");
    const ended = once(child, "close").then(() => {
      throw new Error(`${name} ended before it was ready: ${[...this.errors.keys()].join("; ")}`);
    });
    await Promise.race([ready, ended]);
    ended.catch(() => undefined);
  }

  /** Ends it: at once by SIGKILL, or as it is asked to by SIGTERM. */
  async stop(signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    const child = this.process;
    this.process = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill(signal);
    const timer = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
    await ended;
    clearTimeout(timer);
  }

  /** Notes what it uses now. */
  sample(atSeconds: number): void {
    const life = this.lives.at(-1);
    const pid = this.process?.pid;
    if (life === undefined || pid === undefined) return;
    try {
      const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1];
      if (kib === undefined) return;
      life.rss.push({ atSeconds, value: 1_024 * Number(kib) });
      life.descriptors.push({ atSeconds, value: readdirSync(`/proc/${pid}/fd`).length });
    } catch {
      // It ended meanwhile.
    }
  }

  figures(): ChildFigures {
    const secondsOf = ({ rss }: Life): number => (rss.at(-1)?.atSeconds ?? 0) - (rss[0]?.atSeconds ?? 0);
    const longest = this.lives.reduce((a, b) => (secondsOf(b) > secondsOf(a) ? b : a), {
      rss: [],
      descriptors: [],
    });
    return {
      name: this.name,
      starts: this.lives.length,
      deaths: this.deaths,
      minutes: secondsOf(longest) / 60,
      rssBytes: trendOf(longest.rss),
      descriptors: trendOf(longest.descriptors),
      errors: Object.fromEntries(this.errors),
    };
  }

  get isRunning(): boolean {
    return this.process !== undefined;
  }

  /** As of the last sample. */
  get residentBytes(): number {
    return this.lives.at(-1)?.rss.at(-1)?.value ?? 0;
  }

  private noteLine(line: string): void {
    if (line.includes('"ready":true')) return;
    const message = /"msg":"([^"]+)"/.exec(line)?.[1] ?? line.slice(0, 200);
    if (!this.errors.has(message) && this.errors.size >= MOST_MESSAGES) return;
    this.errors.set(message, (this.errors.get(message) ?? 0) + 1);
  }
}
