import { readdirSync } from "node:fs";
import { asInImage } from "../stage/image.ts";
import { RealProcess } from "../stage/process.ts";
import { trendOf } from "../statistics.ts";
import type { Sample, Trend } from "../statistics.ts";

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

/** Messages told apart. */
const MOST_MESSAGES = 20;

/** One process of Tradewind, as its image starts it. It ends with the process that started it, however that ends. */
export class Child {
  readonly name: string;
  private readonly options: ChildOptions;
  private readonly lives: Life[] = [];
  private readonly errors = new Map<string, number>();
  private process: RealProcess | undefined;
  private deaths = 0;

  constructor(options: ChildOptions) {
    this.name = options.name;
    this.options = options;
  }

  /** Starts it and waits until it is ready. */
  async start(): Promise<void> {
    const { command, flags } = this.options;
    const args = Object.entries({ "log-level": "error", ...flags }).flatMap(([flag, value]) =>
      value === "" ? [`--${flag}`] : [`--${flag}`, value],
    );
    const onLine = (line: string): void => this.noteLine(line);
    const started = await RealProcess.start(command, args, { ...asInImage(command), onLine });
    this.process = started;
    this.lives.push({ rss: [], descriptors: [] });
    started.child.once("exit", () => {
      if (this.process !== started) return;
      this.process = undefined;
      this.deaths += 1;
    });
  }

  /** Ends it: at once by SIGKILL, or as it is asked to by SIGTERM. */
  async stop(signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    const ending = this.process;
    this.process = undefined;
    await ending?.kill(signal);
  }

  /** Notes what it uses now. */
  sample(atSeconds: number): void {
    const life = this.lives.at(-1);
    const running = this.process;
    if (life === undefined || running === undefined) return;
    try {
      const descriptors = readdirSync(`/proc/${running.pid}/fd`).length;
      life.rss.push({ atSeconds, value: running.residentBytes() });
      life.descriptors.push({ atSeconds, value: descriptors });
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
    const message = /"msg":"([^"]+)"/.exec(line)?.[1] ?? line.slice(0, 200);
    if (!this.errors.has(message) && this.errors.size >= MOST_MESSAGES) return;
    this.errors.set(message, (this.errors.get(message) ?? 0) + 1);
  }
}
