import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { SensitivityList } from "@tradewind/core/contract/sensitivities.ts";
import type { Running } from "@tradewind/core/process/running.ts";
import { startPredictor } from "@tradewind/predictor/predictor.ts";
import { waitUntil } from "../wait-until.ts";
import { RunningApplication } from "./running-application.ts";

export const TOKEN = "0123456789abcdef0123456789abcdef";

export interface ShopOptions {
  readonly policy?: "auto" | "queue";
  /** Whether its predictor takes calls with {@link TOKEN} only. */
  readonly asksForToken?: boolean;
  /** A language model that it asks. */
  readonly reasonerUrl?: string;
  /** Whether it keeps its windows. */
  readonly hasState?: boolean;
}

/** A running predictor, and an application with load. */
export class Shop {
  readonly application: RunningApplication;
  readonly tokenFile: string;
  private readonly running: Running;
  private readonly timer: NodeJS.Timeout;

  private constructor(application: RunningApplication, tokenFile: string, running: Running) {
    this.application = application;
    this.tokenFile = tokenFile;
    this.running = running;
    this.timer = setInterval(() => {
      void application.sendTraces(running.addresses["otlp"]!, 10, 60).catch(() => undefined);
    }, 100);
  }

  static async open({
    policy = "auto",
    asksForToken = false,
    hasState = false,
    reasonerUrl,
  }: ShopOptions = {}): Promise<Shop> {
    const application = await RunningApplication.start();
    application.podUsageCores = 0.2;
    const tokenFile = join(application.directory, "token");
    await writeFile(tokenFile, TOKEN);
    const running = await startPredictor({
      config: application.config,
      listen: "127.0.0.1:0",
      otlpListen: "127.0.0.1:0",
      ...(asksForToken && { httpTokenFile: tokenFile }),
      ...(reasonerUrl !== undefined && {
        reasoner: { url: reasonerUrl, model: "stub", requestsPerDay: 100, timeoutSeconds: 10 },
      }),
      ...(hasState && { state: application.state }),
      agents: [application.agent.url],
      workloads: application.workloads,
      policy,
      windowSeconds: 1,
      graceSeconds: 0.2,
      agentPollMs: 100,
      agentTimeoutMs: 300,
      workloadsPollMs: 30,
      logLevel: "silent",
    });
    return new Shop(application, tokenFile, running);
  }

  get url(): string {
    return this.running.addresses["http"]!;
  }

  async get(path: string): Promise<Response> {
    return fetch(`${this.url}${path}`, { headers: { authorization: `Bearer ${TOKEN}` } });
  }

  async post(path: string, body: unknown): Promise<Response> {
    const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };
    return fetch(`${this.url}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  }

  async list(fits: (list: SensitivityList) => boolean): Promise<SensitivityList> {
    let found: SensitivityList | undefined;
    await waitUntil(async () => {
      const answer = await this.get("/v1/sensitivities");
      const body: unknown = await answer.json();
      if (answer.status !== 200) return false;
      const list = SensitivityList.parse(body);
      if (fits(list)) found = list;
      return found !== undefined;
    }, 15_000);
    return found!;
  }

  async close(): Promise<void> {
    clearInterval(this.timer);
    await this.running.stop();
    await this.application.stop();
  }
}
