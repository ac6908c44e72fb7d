import { describeError } from "@tradewind/core/values/errors.ts";
import type { ExternalMetric } from "@tradewind/core/hpa/hpa.ts";
import type { MetricReading, MetricSource } from "./metric-source.ts";
import { hpaMetricName, scalerMetricName } from "./scaled-object.ts";
import type { ScaledObject } from "./scaled-object.ts";
import type { ScalerClient } from "./scaler-client.ts";

/** KEDA's operator as far as one external scaler sees it: reads throw when two in a row fail, the second with a rebuilt client. */
export interface Keda extends MetricSource<ScaledObject> {
  read(object: ScaledObject): Promise<MetricReading<ExternalMetric>>;
  /** Readings that failed for good. */
  readonly failedReads: number;
}

async function readOnce(client: ScalerClient, { ref }: ScaledObject): Promise<MetricReading<ExternalMetric>> {
  const specs = await client.getMetricSpec(ref);
  if (specs.length === 0) throw new Error("GetMetricSpec answered no metric");
  const metrics: MetricReading<ExternalMetric>["metrics"][number][] = [];
  for (const { metricName, target } of specs) {
    const name = hpaMetricName(0, metricName);
    const values = await client.getMetrics(ref, scalerMetricName(name));
    if (values.length === 0) throw new Error(`GetMetrics answered no value for ${metricName}`);
    metrics.push({ name, usage: values.reduce((sum, value) => sum + value, 0), targetAverageValue: target });
  }
  return { metrics, active: await client.isActive(ref) };
}

/** @param connect dials the scaler; called again after an error, as KEDA rebuilds its scaler object */
export function createKeda(connect: () => ScalerClient): Keda {
  let client = connect();
  let failedReads = 0;
  return {
    get failedReads() {
      return failedReads;
    },
    async read(object) {
      const used = client;
      try {
        return await readOnce(used, object);
      } catch {
        // Several readings share the client: whoever fails first rebuilds it for all.
        if (used === client) {
          client = connect();
          used.close();
        }
      }
      try {
        return await readOnce(client, object);
      } catch (error) {
        failedReads += 1;
        throw new Error(`scaler of ${object.service} failed: ${describeError(error)}`, { cause: error });
      }
    },
    close: () => client.close(),
  };
}
