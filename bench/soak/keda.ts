import { createScalerClient } from "@tradewind/local/actuator/scaler-client.ts";
import type { ScalerClient } from "@tradewind/local/actuator/scaler-client.ts";
import { ServiceSpec } from "@tradewind/core/contract/application.ts";

/** The application says nothing of a service's bounds, so those are the defaults. */
const MOST_REPLICAS = ServiceSpec.parse({ name: "any" }).maxReplicas;

const METRIC = "recommended-replicas";
/** Wrong answers that are written down word for word. */
const MOST_EXAMPLES = 5;

export interface PollFigures {
  readonly polls: number;
  /** Answers that are no number of replicas within the bounds, or that should not have been given. */
  readonly wrongNumbers: number;
  readonly examples: readonly string[];
  /** Polls without an answer: refused, or nobody there. */
  readonly unavailable: number;
}

/** KEDA's poll loop over all exporters, as a Service's endpoints, and what the HPA makes of the answers. */
export class Polls {
  private readonly clients: readonly ScalerClient[];
  private readonly stabilisationMs: number;
  private readonly wishes = new Map<string, { readonly atMs: number; readonly replicas: number }[]>();
  private polls = 0;
  private wrong = 0;
  private unavailable = 0;
  private readonly examples: string[] = [];

  constructor(addresses: readonly string[], stabilisationSeconds: number) {
    this.clients = addresses.map((address) => createScalerClient(address, () => undefined));
    this.stabilisationMs = 1e3 * stabilisationSeconds;
  }

  /** Asks every exporter for each of these services, and for one that is not there. */
  async poll(services: readonly string[]): Promise<void> {
    for (const client of this.clients) {
      await Promise.all(services.map(async (service) => this.ask(client, service)));
      await this.askUnknown(client);
    }
  }

  /** What the HPA sets: up at once, down only to the highest wish of its stabilisation window; undefined without any. */
  replicas(service: string, nowMs: number): number | undefined {
    const wishes = (this.wishes.get(service) ?? []).filter(
      ({ atMs }) => atMs >= nowMs - this.stabilisationMs,
    );
    if (wishes.length === 0) {
      this.wishes.delete(service);
      return undefined;
    }
    this.wishes.set(service, wishes);
    return wishes.reduce((most, { replicas }) => Math.max(most, replicas), 0);
  }

  figures(): PollFigures {
    const { examples, polls, unavailable, wrong: wrongNumbers } = this;
    return { polls, wrongNumbers, examples, unavailable };
  }

  close(): void {
    for (const client of this.clients) client.close();
  }

  private async ask(client: ScalerClient, service: string): Promise<void> {
    const values = await this.answer(client, service);
    if (values === undefined) {
      this.unavailable += 1;
      return;
    }
    const [value = Number.NaN] = values;
    if (values.length !== 1 || !Number.isInteger(value) || value < 1 || value > MOST_REPLICAS) {
      this.note(`${service}: ${JSON.stringify(values)}`);
      return;
    }
    const wishes = this.wishes.get(service) ?? [];
    wishes.push({ atMs: Date.now(), replicas: value });
    this.wishes.set(service, wishes);
  }

  private async askUnknown(client: ScalerClient): Promise<void> {
    const values = await this.answer(client, "never-there");
    if (values !== undefined) this.note(`never-there: ${JSON.stringify(values)}`);
  }

  private async answer(client: ScalerClient, service: string): Promise<readonly number[] | undefined> {
    this.polls += 1;
    const ref = { name: service, namespace: "default", scalerMetadata: { service } };
    return client.getMetrics(ref, METRIC).catch(() => undefined);
  }

  private note(example: string): void {
    this.wrong += 1;
    if (this.examples.length < MOST_EXAMPLES) this.examples.push(example);
  }
}
