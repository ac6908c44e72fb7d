import { z } from "zod";
import { patternedText } from "@tradewind/core/contract/quantity.ts";
import type { Prices } from "@tradewind/core/contract/prices.ts";
import { EndpointClient } from "@tradewind/core/net/endpoint/client.ts";
import { EndpointOptions } from "@tradewind/core/net/endpoint/options.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import { describeError, TradewindError } from "@tradewind/core/values/errors.ts";
import { problem } from "../check.ts";
import type { Finding } from "../source.ts";

export const OpenCostOptions = EndpointOptions.extend({
  name: z.string().min(1).max(63).default("opencost"),
  window: patternedText(4, /^[1-9]\d{0,2}[hd]$/)
    .default("1d")
    .describe("Time whose costs are divided by what was allocated in it, in hours or days: 12h, 7d."),
});
export type OpenCostOptions = z.infer<typeof OpenCostOptions>;

/** What a core and a gigabyte cost for an hour. */
export type MeasuredPrices = Pick<Prices, "cpuCoreHour" | "memoryGigabyteHour">;

/** Fields of an allocation (https://opencost.io/docs/integrations/api) that say what was had for how much. */
const Allocation = z.object({
  cpuCoreHours: z.number().nonnegative(),
  cpuCost: z.number(),
  cpuCostAdjustment: z.number().default(0),
  ramByteHours: z.number().nonnegative(),
  ramCost: z.number(),
  ramCostAdjustment: z.number().default(0),
});
const Answer = z.object({ data: z.array(z.record(z.string(), z.unknown()).nullable()) });

const BYTES_PER_GIGABYTE = 1e9;
const REFRESH_MS = 3_600_000;

/**
 * What was paid over what was allocated, of all namespaces. Idle and unmounted resources (`__idle__`) are nobody's.
 * @throws TradewindError `no-prices`
 */
export function pricesOf(answer: z.infer<typeof Answer>): MeasuredPrices {
  const sums = { cores: 0, cpu: 0, bytes: 0, memory: 0 };
  for (const [name, value] of answer.data.flatMap((set) => Object.entries(set ?? {}))) {
    const allocation = name.startsWith("__") ? undefined : Allocation.safeParse(value).data;
    if (allocation === undefined) continue;
    sums.cores += allocation.cpuCoreHours;
    sums.cpu += allocation.cpuCost + allocation.cpuCostAdjustment;
    sums.bytes += allocation.ramByteHours;
    sums.memory += allocation.ramCost + allocation.ramCostAdjustment;
  }
  const cpuCoreHour = sums.cpu / sums.cores;
  const memoryGigabyteHour = (BYTES_PER_GIGABYTE * sums.memory) / sums.bytes;
  if (!(cpuCoreHour > 0 && memoryGigabyteHour > 0 && Number.isFinite(cpuCoreHour + memoryGigabyteHour)))
    throw new TradewindError(
      "no-prices",
      "OpenCost has no cost of CPU and memory in this time: give it prices, or a longer window",
    );
  return { cpuCoreHour: +cpuCoreHour.toPrecision(4), memoryGigabyteHour: +memoryGigabyteHour.toPrecision(4) };
}

/** Prices of an OpenCost server, read every hour. While it does not answer, the last ones hold. */
export class OpenCostPrices {
  readonly #client: EndpointClient;
  readonly #options: OpenCostOptions;
  #last: MeasuredPrices | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: OpenCostOptions) {
    this.#options = options;
    this.#client = new EndpointClient(options.name, "opencost", options);
  }

  /** Undefined before the first answer. */
  get last(): MeasuredPrices | undefined {
    return this.#last;
  }

  /** Reads now, and then every hour. Never throws. */
  async follow(log: Logger): Promise<void> {
    this.#timer = setInterval(() => void this.#look(log), REFRESH_MS).unref();
    await this.#look(log);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#client.close();
  }

  async read(): Promise<MeasuredPrices> {
    const { window } = this.#options;
    const query = { window, aggregate: "namespace", accumulate: "true" };
    return pricesOf(await this.#client.json({ path: "allocation", query }, Answer));
  }

  async check(): Promise<Finding[]> {
    const subject = `opencost ${this.#options.name}`;
    try {
      const { cpuCoreHour, memoryGigabyteHour } = await this.read();
      const message = `a core costs ${cpuCoreHour} an hour, a gigabyte of memory ${memoryGigabyteHour}`;
      return [{ subject, level: "ok", message }];
    } catch (error) {
      return [problem(subject, error)];
    } finally {
      await this.#client.close();
    }
  }

  async #look(log: Logger): Promise<void> {
    try {
      const prices = await this.read();
      const isNew = JSON.stringify(prices) !== JSON.stringify(this.#last);
      this.#last = prices;
      if (isNew) log.info({ ...prices }, "prices of OpenCost");
    } catch (error) {
      log.warn({ problem: describeError(error), prices: this.#last }, "OpenCost gives no prices");
    }
  }
}
