import type { ServiceError } from "@grpc/grpc-js";
import type { Ref, WireMetric } from "./wire.ts";
import { WireClient } from "./wire-client.ts";

/** What one poll of one trigger came to. */
export interface PollResult {
  readonly spec: WireMetric[];
  /** Value of the metric as KEDA makes it: the float when above zero, else the int. */
  readonly value: number;
  readonly active: boolean;
}

export interface PollCounts {
  polls: number;
  specFailures: number;
  retries: number;
  failures: number;
}

/**
 * Polls a scaler as KEDA's operator does: a fresh GetMetricSpec, then GetMetrics by the name without its `sN-` prefix,
 * then IsActive. It fails fast when no connection is there, and after an error builds its scaler anew and asks once
 * more at once. With several addresses it takes them in turn, as round robin over a headless Service does.
 */
export class KedaShapedClient {
  readonly counts: PollCounts = { polls: 0, specFailures: 0, retries: 0, failures: 0 };
  readonly #addresses: () => readonly string[];
  readonly #clients = new Map<string, WireClient>();
  #turn = 0;

  constructor(addresses: () => readonly string[]) {
    this.#addresses = addresses;
  }

  async poll(ref: Ref, triggerIndex = 0): Promise<PollResult> {
    this.counts.polls += 1;
    try {
      return await this.#ask(ref, triggerIndex);
    } catch {
      this.counts.retries += 1;
      this.#dropConnections();
      try {
        return await this.#ask(ref, triggerIndex);
      } catch (error) {
        this.counts.failures += 1;
        throw error;
      }
    }
  }

  close(): void {
    this.#dropConnections();
  }

  async #ask(ref: Ref, triggerIndex: number): Promise<PollResult> {
    const client = this.#nextClient();
    const spec = await client.metricSpec(ref).catch((error: unknown) => {
      this.counts.specFailures += 1;
      throw error as ServiceError;
    });
    const [metric] = spec;
    if (metric === undefined) throw new Error("no metric spec: KEDA would not build an HPA");
    const hpaName = `s${triggerIndex}-${metric.metricName}`;
    const values = await client.metrics(ref, hpaName.replace(/^s\d+-/, ""));
    const active = await client.isActive(ref);
    const value = values.reduce((sum, { int, float }) => sum + (float > 0 ? float : int), 0);
    return { spec, value, active };
  }

  #nextClient(): WireClient {
    const addresses = this.#addresses();
    const address = addresses[this.#turn % addresses.length];
    this.#turn += 1;
    if (address === undefined) throw new Error("the headless Service has no endpoints");
    const known = this.#clients.get(address);
    if (known !== undefined) return known;
    const client = new WireClient(address);
    this.#clients.set(address, client);
    return client;
  }

  #dropConnections(): void {
    for (const client of this.#clients.values()) client.close();
    this.#clients.clear();
  }
}
