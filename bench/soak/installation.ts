import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { choosePort } from "@tradewind/local/supervise/ports.ts";
import { stringify } from "yaml";
import { ENTRY } from "./application.ts";
import { Child } from "./child.ts";
import type { Doors } from "./hostile.ts";
import type { Round } from "./rounds.ts";

const APPLICATION_FILE = "application.yaml";
const WINDOW_SECONDS = 15;
const OBJECTIVE_MILLISECONDS = 300;
const STALE_SECONDS = 300;
const RESTART_GRACE_SECONDS = 120;
/** How often the second of each is ended, in seconds of life. */
const PREDICTOR_RESTART_SECONDS = 2_400;
const EXPORTER_RESTART_SECONDS = 3_600;
const AWAY_SECONDS = 60;
/** The others are killed once, one after the other, before the time that the trends are about. */
const KILL_SHARE = 0.03;
const REVIVE_MS = 1_000;
/** What the predictors prove to each other that they know. */
const SECRET_FILE = "peers-secret";

export interface InstallationOptions {
  readonly folder: string;
  /** Every process keeps its state in a folder below it. */
  readonly state: string;
  readonly minutes: number;
  /** Seconds of life in one second. */
  readonly speed: number;
  /** Where the agent finds the node's files, by flag. */
  readonly nodePaths: Readonly<Record<string, string>>;
  /** The workloads file. */
  readonly workloads: string;
}

interface Pair {
  readonly predictor: string;
  readonly otlp: string;
  /** Where the other predictor sends. */
  readonly peers: string;
  readonly exporter: string;
  readonly keda: string;
}

/** A node agent and two pods of a predictor and an exporter each, as the chart makes them. */
export class SoakInstallation {
  readonly children: readonly Child[];
  readonly doors: Doors;
  /** `host:port` of the exporters' gRPC. */
  readonly keda: readonly string[];
  /** What Prometheus scrapes. */
  readonly scraped: readonly string[];
  private readonly options: InstallationOptions;
  /** Ended on purpose, not to be revived. */
  private readonly away = new Set<Child>();

  private constructor(options: InstallationOptions, agent: string, pairs: readonly [Pair, Pair]) {
    this.options = options;
    this.children = [this.agent(agent), ...pairs.flatMap((pair, at) => this.pod(pair, at, agent, pairs))];
    const all = pairs.flatMap(({ predictor, otlp, exporter, keda }) => [predictor, otlp, exporter, keda]);
    this.doors = { otlp: pairs.map(({ otlp }) => `http://${otlp}`), all: [agent, ...all] };
    this.keda = pairs.map(({ keda }) => keda);
    this.scraped = [agent, ...pairs.flatMap(({ predictor, exporter }) => [predictor, exporter])].map(
      (address) => `http://${address}/metrics`,
    );
  }

  static async plan(options: InstallationOptions): Promise<SoakInstallation> {
    const address = async (): Promise<string> => `127.0.0.1:${(await choosePort(0)).port}`;
    const pair = async (): Promise<Pair> => ({
      predictor: await address(),
      otlp: await address(),
      peers: await address(),
      exporter: await address(),
      keda: await address(),
    });
    writeFileSync(join(options.folder, SECRET_FILE), randomBytes(32).toString("hex"), { mode: 0o600 });
    return new SoakInstallation(options, await address(), [await pair(), await pair()]);
  }

  async start(): Promise<void> {
    const { folder, minutes, speed } = this.options;
    const days = (share: number): number => (share * minutes) / 1_440;
    writeFileSync(
      join(folder, APPLICATION_FILE),
      stringify({
        entry: ENTRY,
        mode: "act",
        objective: {
          milliseconds: OBJECTIVE_MILLISECONDS,
          windowSeconds: (4 * WINDOW_SECONDS) / speed,
        },
        // All of the store's tiers are full before the time that the trends are about.
        store: { rawDays: days(1 / 6), fiveMinuteDays: days(1 / 4), hourDays: days(1 / 3) },
      }),
    );
    for (const child of this.children) await child.start();
  }

  async stop(): Promise<void> {
    await Promise.all(this.children.map(async (child) => child.stop("SIGTERM")));
  }

  /** Restarts and kills. */
  rounds(): Round[] {
    const { minutes, speed } = this.options;
    const [agent, predictorA, exporterA, predictorB, exporterB] = this.children;
    const doomed = [predictorA, exporterA, agent];
    let restarts = 0;
    return [
      {
        periodMs: KILL_SHARE * 60e3 * minutes,
        round: async () => this.restart(doomed.shift(), "SIGKILL", 0),
      },
      {
        periodMs: (1e3 * PREDICTOR_RESTART_SECONDS) / speed,
        round: async () => {
          restarts += 1;
          const signal = restarts % 2 === 0 ? "SIGTERM" : "SIGKILL";
          await this.restart(predictorB, signal, (1e3 * AWAY_SECONDS) / speed);
        },
      },
      {
        periodMs: (1e3 * EXPORTER_RESTART_SECONDS) / speed,
        round: async () => this.restart(exporterB, "SIGKILL", 0),
      },
      { periodMs: REVIVE_MS, round: async () => this.revive() },
    ];
  }

  private async restart(
    child: Child | undefined,
    signal: "SIGKILL" | "SIGTERM",
    awayMs: number,
  ): Promise<void> {
    if (child === undefined || this.away.has(child)) return;
    this.away.add(child);
    await child.stop(signal);
    await new Promise((resolve) => {
      setTimeout(resolve, awayMs);
    });
    await child.start();
    this.away.delete(child);
  }

  /** What ended by itself is started again, as kubelet would. */
  private async revive(): Promise<void> {
    for (const child of this.children) {
      if (!child.isRunning && !this.away.has(child)) await child.start();
    }
  }

  private agent(listen: string): Child {
    const { nodePaths, workloads } = this.options;
    const flags = { listen, node: "node-1", workloads, "no-inventory": "", ...nodePaths };
    return new Child({ name: "agent", command: "agent", flags });
  }

  private pod(pair: Pair, number: number, agent: string, pairs: readonly Pair[]): Child[] {
    const letter = number === 0 ? "a" : "b";
    const urls = (name: keyof Pair): string => pairs.map((each) => `http://${each[name]}`).join(",");
    const { folder, speed, workloads } = this.options;
    const predictor = {
      config: join(folder, APPLICATION_FILE),
      workloads,
      listen: pair.predictor,
      "otlp-listen": pair.otlp,
      agents: `http://${agent}`,
      peers: urls("peers"),
      "peers-listen": pair.peers,
      "peers-secret-file": join(folder, SECRET_FILE),
      window: `${(1e3 * WINDOW_SECONDS) / speed}ms`,
      state: this.stateOf(`predictor-${letter}`),
    };
    const exporter = {
      listen: pair.exporter,
      "grpc-listen": pair.keda,
      predictor: urls("predictor"),
      application: join(folder, APPLICATION_FILE),
      "stale-after": `${STALE_SECONDS / speed}s`,
      "restart-grace": `${RESTART_GRACE_SECONDS / speed}s`,
      state: this.stateOf(`exporter-${letter}`),
    };
    return [
      new Child({ name: `predictor-${letter}`, command: "predictor", flags: predictor }),
      new Child({ name: `exporter-${letter}`, command: "exporter", flags: exporter }),
    ];
  }

  private stateOf(name: string): string {
    const directory = join(this.options.state, name);
    mkdirSync(directory, { recursive: true });
    return directory;
  }
}
