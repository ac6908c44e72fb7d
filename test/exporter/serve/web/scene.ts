import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Running } from "@tradewind/core/process/running.ts";
import { startExporter } from "@tradewind/exporter/exporter.ts";
import { startPredictor } from "@tradewind/predictor/predictor.ts";
import { RunningApplication } from "../../../predictor/running-application.ts";

const CALENDARS = `calendars:
  - { name: office, from: "0 8 * * 1-5", until: "0 18 * * 1-5", timeZone: Europe/Zurich, floor: { replicas: 2 } }
`;

/** A predictor and a scaler with an application that has load, and models that decide. */
export class Scene {
  readonly application: RunningApplication;
  private readonly processes: readonly Running[];
  private readonly timer: NodeJS.Timeout;
  /** How long a request takes now. */
  milliseconds = 60;
  /** No request is sent: what was compared stays as it is. */
  isIdle = false;

  private constructor(application: RunningApplication, processes: readonly Running[]) {
    this.application = application;
    this.processes = processes;
    this.timer = setInterval(() => {
      if (this.isIdle) return;
      void application
        .sendTraces(this.processes[0]!.addresses["otlp"]!, 10, this.milliseconds)
        .catch(() => undefined);
    }, 100);
  }

  static async open(): Promise<Scene> {
    const application = await RunningApplication.start();
    application.podUsageCores = 0.2;
    const own = join(application.directory, "own.yaml");
    await writeFile(own, `entry: frontend\nobjective: { milliseconds: 100 }\n${CALENDARS}`);
    const predictor = await startPredictor({
      config: application.config,
      listen: "127.0.0.1:0",
      otlpListen: "127.0.0.1:0",
      agents: [application.agent.url],
      workloads: application.workloads,
      policy: "auto",
      windowSeconds: 1,
      graceSeconds: 0.2,
      agentPollMs: 100,
      agentTimeoutMs: 300,
      workloadsPollMs: 30,
      logLevel: "silent",
    });
    const scaler = await startExporter({
      listen: "127.0.0.1:0",
      grpcListen: "127.0.0.1:0",
      predictor: predictor.addresses["http"]!,
      application: [own],
      restartGrace: 0,
      pollMs: 200,
      logLevel: "silent",
    });
    return new Scene(application, [predictor, scaler]);
  }

  /** New pods of every service run another template. */
  async deploy(): Promise<void> {
    this.application.revision = "two";
    await this.application.writeWorkloads();
  }

  get url(): string {
    return this.processes[1]!.addresses["http"]!;
  }

  get predictorUrl(): string {
    return this.processes[0]!.addresses["http"]!;
  }

  async json<Body>(path: string, init?: RequestInit): Promise<Body> {
    return (await (await fetch(`${this.url}${path}`, init)).json()) as Body;
  }

  async close(): Promise<void> {
    clearInterval(this.timer);
    for (const each of this.processes.toReversed()) await each.stop();
    await this.application.stop();
  }
}
