import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { seededRng } from "@tradewind/core/values/rng.ts";
import { HISTORY_FILE } from "@tradewind/predictor/store/history-file.ts";
import type { Benchmark, BenchmarkOptions } from "../benchmark.ts";
import { SoakInstallation } from "./installation.ts";
import { NodeFiles } from "./node-files.ts";
import { goRound } from "./rounds.ts";
import type { Round } from "./rounds.ts";
import { StateSamples } from "./state.ts";
import { Surroundings } from "./surroundings.ts";

const DEFAULT_MINUTES = 10;
const QUICK_MINUTES = 1;
const DEFAULT_SPEED = 20;
/** A window of 15 s is then half a second long, the shortest that a predictor takes. */
const MOST_SPEED = 30;
const SAMPLE_MS = 2_000;
const PROGRESS_MS = 15_000;

/** One run in a folder of its own; everything is ended and removed whatever happens. */
class Soak {
  private readonly folder = mkdtempSync(join(tmpdir(), "tradewind-soak-"));
  private readonly state = join(this.folder, "state");
  private readonly stopping = new AbortController();
  private readonly startMs = performance.now();
  private readonly options: BenchmarkOptions;
  private readonly minutes: number;
  private readonly speed: number;

  constructor(options: BenchmarkOptions, minutes: number, speed: number) {
    this.options = options;
    this.minutes = minutes;
    this.speed = speed;
    mkdirSync(this.state);
  }

  async run(): Promise<Record<string, unknown>> {
    const { folder, minutes, speed, state, stopping } = this;
    const interrupt = (): void => stopping.abort(new Error("interrupted"));
    for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, interrupt);
    const node = new NodeFiles(join(folder, "node"));
    const workloads = join(folder, "workloads.json");
    const parts = { folder, state, minutes, speed, workloads, nodePaths: node.paths };
    const installation = await SoakInstallation.plan(parts);
    const rng = seededRng(this.options.seed);
    const surroundings = new Surroundings(installation, { speed, node, workloads, rng });
    const samples = new StateSamples(state, join(state, "predictor-a", HISTORY_FILE));
    try {
      await installation.start();
      const timer = setTimeout(() => stopping.abort(), 60e3 * minutes);
      await goRound(
        [
          ...installation.rounds(),
          ...surroundings.rounds(),
          ...this.looks(installation, surroundings, samples),
        ],
        stopping.signal,
      ).finally(() => clearTimeout(timer));
      const { reason } = stopping.signal as { reason: unknown };
      if (reason instanceof Error && reason.message === "interrupted") throw reason;
    } finally {
      stopping.abort();
      surroundings.close();
      await installation.stop();
      rmSync(folder, { recursive: true, force: true });
    }
    return {
      minutes,
      speed,
      processes: installation.children.map((child) => child.figures()),
      ...samples.figures(),
      ...surroundings.figures(),
    };
  }

  private looks(installation: SoakInstallation, surroundings: Surroundings, samples: StateSamples): Round[] {
    const seconds = (): number => (performance.now() - this.startMs) / 1e3;
    return [
      {
        periodMs: SAMPLE_MS,
        round: () => {
          for (const child of installation.children) child.sample(seconds());
          samples.sample(seconds());
        },
      },
      {
        periodMs: PROGRESS_MS,
        round: () => {
          const resident = installation.children.map(
            ({ name, residentBytes }) => `${name} ${Math.round(residentBytes / 2 ** 20)}`,
          );
          const { polls, unavailable, wrongNumbers } = surroundings.figures();
          const gone = seconds() / 60;
          this.options.progress(
            `soak: ${gone.toFixed(1)} of ${this.minutes} min, ${Math.max(0, this.minutes - gone).toFixed(1)} left; ` +
              `MiB: ${resident.join(", ")}; ${polls} polls, ${unavailable} unavailable, ${wrongNumbers} wrong`,
          );
        },
      },
    ];
  }
}

async function run(options: BenchmarkOptions): Promise<Record<string, unknown>> {
  const { values } = options;
  const minutes = Number(values["minutes"] ?? (options.quick ? QUICK_MINUTES : DEFAULT_MINUTES));
  const speed = Number(values["speed"] ?? DEFAULT_SPEED);
  if (!(minutes > 0)) throw new RangeError("--minutes must be more than 0");
  if (!(speed >= 1 && speed <= MOST_SPEED)) throw new RangeError(`--speed must be 1 to ${MOST_SPEED}`);
  return new Soak(options, minutes, speed).run();
}

export const benchmark: Benchmark = {
  summary: "all processes for --minutes N at --speed N with churn, restarts and hostile input: what grows",
  options: { minutes: { type: "string" }, speed: { type: "string" } },
  run,
};
