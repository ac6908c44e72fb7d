import { renameSync, writeFileSync } from "node:fs";
import type { Rng } from "@tradewind/core/values/rng.ts";
import { SoakApplication } from "./application.ts";
import { attack } from "./hostile.ts";
import type { SoakInstallation } from "./installation.ts";
import { Polls } from "./keda.ts";
import type { PollFigures } from "./keda.ts";
import type { NodeFiles } from "./node-files.ts";
import type { Round } from "./rounds.ts";
import { Traces } from "./traces.ts";

/** Rhythms in seconds of life. */
const POLL_SECONDS = 15;
const SCRAPE_SECONDS = 15;
const ATTACK_SECONDS = 120;
const POD_SECONDS = 300;
const ROUTE_SECONDS = 900;
const GUEST_SECONDS = 1_200;
const DEPLOY_SECONDS = 3_600;
const WAVE_SECONDS = 3_600;
const STABILISATION_SECONDS = 300;
/** Rhythms in real time. */
const TRACES_MS = 250;
const FILES_MS = 500;
/** Services that are there for a while only, at once. */
const MOST_GUESTS = 2;

export interface SurroundingsOptions {
  readonly speed: number;
  readonly node: NodeFiles;
  readonly workloads: string;
  readonly rng: Rng;
}

/** Everything around an installation: an application, its load, KEDA, Prometheus, and strangers. */
export class Surroundings {
  private readonly installation: SoakInstallation;
  private readonly options: SurroundingsOptions;
  private readonly application: SoakApplication;
  private readonly traces: Traces;
  private readonly polls: Polls;
  private readonly counts = { requestsSent: 0, sendsFailed: 0, scrapes: 0, scrapesFailed: 0, attacks: 0 };
  private sends = 0;
  private routes = 0;

  constructor(installation: SoakInstallation, options: SurroundingsOptions) {
    const { rng, speed } = options;
    this.installation = installation;
    this.options = options;
    this.application = new SoakApplication(rng, WAVE_SECONDS / speed, Date.now());
    this.traces = new Traces(this.application, rng);
    this.polls = new Polls(installation.keda, STABILISATION_SECONDS / speed);
    this.writeFiles(0);
  }

  rounds(): Round[] {
    const { application, installation, options, traces } = this;
    const inLife = (seconds: number, round: Round["round"]): Round => ({
      periodMs: (1e3 * seconds) / options.speed,
      round,
    });
    return [
      { periodMs: TRACES_MS, round: async () => this.send(TRACES_MS / 1e3) },
      { periodMs: FILES_MS, round: () => this.writeFiles(FILES_MS / 1e3) },
      inLife(POLL_SECONDS, async () => this.poll()),
      inLife(SCRAPE_SECONDS, async () => this.scrape()),
      inLife(POD_SECONDS, () => application.replacePods(false, Date.now())),
      inLife(DEPLOY_SECONDS, () => application.replacePods(true, Date.now())),
      inLife(ROUTE_SECONDS, () => {
        this.routes += 1;
        traces.route = `GET /route-${this.routes}`;
      }),
      inLife(GUEST_SECONDS, () => {
        application.arrive(Date.now());
        if (application.guests().length > MOST_GUESTS) application.leave();
      }),
      inLife(ATTACK_SECONDS, async () => {
        this.counts.attacks += 1;
        await attack(installation.doors, options.rng);
      }),
    ];
  }

  figures(): PollFigures & Record<string, unknown> {
    return { ...this.polls.figures(), ...this.counts };
  }

  close(): void {
    this.polls.close();
  }

  private writeFiles(seconds: number): void {
    const { node, workloads } = this.options;
    const nowMs = Date.now();
    this.application.advance(nowMs, seconds);
    node.update(this.application, seconds);
    writeFileSync(`${workloads}.new`, JSON.stringify(this.application.list(nowMs)));
    renameSync(`${workloads}.new`, workloads);
  }

  /** Each export goes to one predictor in turn, as over a Service's connections; the other one takes it where that is away. */
  private async send(seconds: number): Promise<void> {
    const { otlp } = this.installation.doors;
    await Promise.all(
      this.traces.take(Date.now(), seconds).map(async (body) => {
        this.sends += 1;
        const turn = this.sends;
        for (let at = 0; at < otlp.length; at += 1) {
          if (await isTaken(`${otlp[(turn + at) % otlp.length] ?? ""}/v1/traces`, body)) return;
        }
        this.counts.sendsFailed += 1;
      }),
    );
    this.counts.requestsSent += 1;
  }

  private async poll(): Promise<void> {
    const services = [...this.application.services.keys()];
    await this.polls.poll(services);
    const nowMs = Date.now();
    for (const service of services) {
      const replicas = this.polls.replicas(service, nowMs);
      if (replicas !== undefined) this.application.scale(service, replicas, nowMs);
    }
  }

  private async scrape(): Promise<void> {
    await Promise.all(
      this.installation.scraped.map(async (url) => {
        this.counts.scrapes += 1;
        try {
          const response = await fetch(url, { signal: AbortSignal.timeout(5_000) });
          if (!(await response.text()).includes("tradewind_")) throw new Error("no metrics");
        } catch {
          this.counts.scrapesFailed += 1;
        }
      }),
    );
  }
}

async function isTaken(url: string, body: Uint8Array): Promise<boolean> {
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/x-protobuf" },
      body: new Uint8Array(body),
      signal: AbortSignal.timeout(2_000),
    });
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false;
  }
}
