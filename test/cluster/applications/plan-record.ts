import { appendFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import type { ApiClient } from "@tradewind/kubernetes/client/client.ts";
import { RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import { NAMESPACE } from "./tradewind.ts";

const LOOK_MS = 3_000;
const SELECTOR = "app.kubernetes.io/component=scaler";

const Pods = z.object({
  items: z.array(
    z.object({
      metadata: z.object({ name: z.string() }),
      status: z.object({ podIP: z.string().optional() }),
    }),
  ),
});
const Plan = z.looseObject({ sequence: z.number(), policy: z.string() });

/** Keeps each plan of each predictor, as it was served, for whoever wants to know why pods came or did not. */
export class PlanRecord {
  readonly #api: ApiClient;
  readonly #file: string;
  readonly #sequences = new Map<string, number>();
  readonly #policies = new Map<string, string>();
  readonly #stopped = new AbortController();
  #watching: Promise<void> = Promise.resolve();
  /** Put beside each plan, such as `run 2`. */
  label = "";

  private constructor(api: ApiClient, file: string) {
    this.#api = api;
    this.#file = file;
  }

  /** @param file takes one JSON object a line: when, in which pod, what ran, and the plan */
  static start(api: ApiClient, file: string): PlanRecord {
    const record = new PlanRecord(api, file);
    record.#watching = record.#watch();
    return record;
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#watching;
  }

  /** Whether models decide, of every predictor that has made a plan. */
  get hasModels(): boolean {
    const policies = [...this.#policies.values()];
    return policies.length > 0 && policies.every((policy) => policy.startsWith("planner"));
  }

  async #watch(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      await this.#look().catch(() => undefined);
      await delay(LOOK_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  async #look(): Promise<void> {
    const query = { labelSelector: SELECTOR };
    const place = { resource: RESOURCES.pods, namespace: NAMESPACE };
    const { items } = Pods.parse(await this.#api.call({ ...place, verb: "list", query }));
    for (const { metadata, status } of items) {
      if (status.podIP === undefined) continue;
      const answer = await fetch(`http://${status.podIP}:9811/v1/plan`, {
        signal: AbortSignal.timeout(LOOK_MS),
      })
        .then(async (response) => (response.ok ? Plan.parse(await response.json()) : undefined))
        .catch(() => undefined);
      if (answer === undefined || this.#sequences.get(metadata.name) === answer.sequence) continue;
      this.#sequences.set(metadata.name, answer.sequence);
      this.#policies.set(metadata.name, answer.policy);
      const line = { at: new Date().toISOString(), pod: metadata.name, during: this.label, plan: answer };
      await appendFile(this.#file, `${JSON.stringify(line)}\n`);
    }
  }
}
