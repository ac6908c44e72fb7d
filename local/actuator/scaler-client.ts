import { Client, credentials, loadPackageDefinition } from "@grpc/grpc-js";
import type { ServiceClientConstructor } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { parseWith } from "@tradewind/core/values/config.ts";

/** What KEDA sends of a ScaledObject: its name, its namespace, and the metadata of the trigger. */
export interface ScaledObjectRef {
  readonly name: string;
  readonly namespace: string;
  readonly scalerMetadata: Readonly<Record<string, string>>;
}

const GetMetricSpecResponse = z.object({
  metricSpecs: z.array(
    z.object({ metricName: z.string(), targetSize: z.number(), targetSizeFloat: z.number() }),
  ),
});
const GetMetricsResponse = z.object({
  metricValues: z.array(
    z.object({ metricName: z.string(), metricValue: z.number(), metricValueFloat: z.number() }),
  ),
});
const IsActiveResponse = z.object({ result: z.boolean() });

export interface MetricTarget {
  readonly metricName: string;
  readonly target: number;
}

/** The three calls of `externalscaler.ExternalScaler` that KEDA makes in its polling loop. */
export interface ScalerClient {
  getMetricSpec(ref: ScaledObjectRef): Promise<readonly MetricTarget[]>;
  /** Values of the metric; floats win where positive, as in KEDA 2.17 and later. */
  getMetrics(ref: ScaledObjectRef, metricName: string): Promise<readonly number[]>;
  isActive(ref: ScaledObjectRef): Promise<boolean>;
  close(): void;
}

/** KEDA's poll loop sets no deadline; a call that hangs must not hang the platform's stop. */
const CALL_DEADLINE_MILLIS = 5_000;

function loadConstructor(): ServiceClientConstructor {
  const path = fileURLToPath(new URL("../../exporter/serve/keda/externalscaler.proto", import.meta.url));
  const definition = loadSync(path, { keepCase: true, longs: Number, defaults: true });
  const loaded = loadPackageDefinition(definition) as unknown as {
    readonly externalscaler: { readonly ExternalScaler: ServiceClientConstructor };
  };
  return loaded.externalscaler.ExternalScaler;
}

type Unary = (
  request: object,
  options: { readonly deadline: number },
  callback: (error: Error | null, response: unknown) => void,
) => void;

/** KEDA's rule for a pair of fields: the float when it is positive, else the integer. */
const floatOrInteger = (float: number, integer: number): number => (float > 0 ? float : integer);

/**
 * A client as KEDA dials one: plaintext, fail-fast, round robin, no retry.
 * @param address `host:port`
 * @param onCall told of every finished call, for the figures
 */
export function createScalerClient(
  address: string,
  onCall: (millis: number, failed: boolean) => void,
): ScalerClient {
  const Constructor = loadConstructor();
  const client = new Constructor(address, credentials.createInsecure(), {
    "grpc.service_config": JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
    "grpc.enable_retries": 0,
  });

  async function call(
    method: "getMetricSpec" | "getMetrics" | "isActive",
    request: object,
  ): Promise<unknown> {
    const startMs = performance.now();
    const unary = (client[method] as Unary).bind(client);
    return new Promise((resolve, reject) => {
      unary(request, { deadline: Date.now() + CALL_DEADLINE_MILLIS }, (error, response) => {
        onCall(performance.now() - startMs, error !== null);
        if (error === null) resolve(response);
        else reject(error);
      });
    });
  }

  return {
    async getMetricSpec(ref) {
      const { metricSpecs } = parseWith(
        GetMetricSpecResponse,
        await call("getMetricSpec", ref),
        "GetMetricSpec",
      );
      return metricSpecs.map(({ metricName, targetSize, targetSizeFloat }) => ({
        metricName,
        target: floatOrInteger(targetSizeFloat, targetSize),
      }));
    },
    async getMetrics(ref, metricName) {
      const request = { scaledObjectRef: ref, metricName };
      const { metricValues } = parseWith(GetMetricsResponse, await call("getMetrics", request), "GetMetrics");
      return metricValues.map((each) => floatOrInteger(each.metricValueFloat, each.metricValue));
    },
    async isActive(ref) {
      return parseWith(IsActiveResponse, await call("isActive", ref), "IsActive").result;
    },
    close: () => Client.prototype.close.call(client),
  };
}
