import type { ChannelCredentials } from "@grpc/grpc-js";
import { headlessChannel } from "./headless-service.ts";
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
  /** Polls in which GetMetricSpec was not answered even when asked again: KEDA's fallback would not count them. */
  specFailures: number;
  retries: number;
  failures: number;
}

export interface KedaOptions {
  readonly channel?: ChannelCredentials | undefined;
  /** How long a call of this KEDA may take; default: that of the client. */
  readonly deadlineMs?: number | undefined;
  /** Least time between two resolutions of the scaler's name; default: none. */
  readonly resolveEveryMs?: number | undefined;
}

/** A poll that could not even learn which metrics there are. */
class SpecFailure extends Error {}

/**
 * Polls a scaler as KEDA's operator does: a fresh GetMetricSpec, then GetMetrics by the name without its `sN-` prefix,
 * then IsActive, over one channel that takes the addresses of a headless Service in turn, call by call. It fails fast
 * when no connection is there, and after an error asks everything once more at once.
 */
export class KedaShapedClient {
  counts: PollCounts = noPolls();
  readonly #client: WireClient;

  constructor(
    addresses: readonly string[] | (() => readonly string[]),
    { channel, deadlineMs, resolveEveryMs }: KedaOptions = {},
  ) {
    const { target, options } = headlessChannel(addresses, resolveEveryMs);
    this.#client = new WireClient(target, channel, options, deadlineMs);
  }

  /** Counts from now on. */
  countAnew(): void {
    this.counts = noPolls();
  }

  async poll(ref: Ref, triggerIndex = 0): Promise<PollResult> {
    this.counts.polls += 1;
    try {
      return await this.#ask(ref, triggerIndex);
    } catch {
      this.counts.retries += 1;
      try {
        return await this.#ask(ref, triggerIndex);
      } catch (error) {
        this.counts.failures += 1;
        if (error instanceof SpecFailure) this.counts.specFailures += 1;
        throw error;
      }
    }
  }

  close(): void {
    this.#client.close();
  }

  async #ask(ref: Ref, triggerIndex: number): Promise<PollResult> {
    const spec = await this.#client.metricSpec(ref).catch((error: unknown) => {
      throw new SpecFailure("GetMetricSpec failed", { cause: error });
    });
    const [metric] = spec;
    if (metric === undefined) throw new SpecFailure("no metric spec: KEDA would not build an HPA");
    const hpaName = `s${triggerIndex}-${metric.metricName}`;
    const values = await this.#client.metrics(ref, hpaName.replace(/^s\d+-/, ""));
    const active = await this.#client.isActive(ref);
    const value = values.reduce((sum, { int, float }) => sum + (float > 0 ? float : int), 0);
    return { spec, value, active };
  }
}

const noPolls = (): PollCounts => ({ polls: 0, specFailures: 0, retries: 0, failures: 0 });
