import { answer } from "@tradewind/exporter/serve/keda/answer.ts";
import type { AnswerSource } from "@tradewind/exporter/serve/keda/answer.ts";
import {
  decodeGetMetricsRequest,
  decodeScaledObjectRef,
  encodeMetricValue,
  REQUEST_LIMITS,
} from "@tradewind/exporter/serve/keda/codec.ts";
import type { ScalerRequest } from "@tradewind/exporter/serve/keda/codec.ts";
import { decodeMetrics, encodeMetricsRequest, encodeRef } from "../../exporter/serve/keda/wire.ts";
import type { Ref } from "../../exporter/serve/keda/wire.ts";
import { attempt, expect, expectEqual, never } from "../engine/oracle.ts";
import { ProtobufMutator } from "../engine/protobuf.ts";
import type { Target } from "../engine/target.ts";
import { bytesTarget, valueTarget } from "./kinds.ts";

const REF: Ref = {
  name: "search",
  namespace: "shop",
  metadata: { service: "search", scalerAddress: "tradewind:9813", application: "shop" },
};
const REQUESTS = [encodeMetricsRequest(REF, "s0-recommended-replicas"), encodeMetricsRequest({}, "")];
const KNOWN = ["service", "serviceFromEnv", "application", "applicationFromEnv"];

/** One service with a decision, one with a refusal. */
const SOURCE: AnswerSource = {
  find: (namespace, service) =>
    namespace !== "shop"
      ? undefined
      : service === "search"
        ? {
            namespace,
            service,
            decided: { application: "shop", replicas: 5, decidedMs: 0, lifetimeMs: 1 },
          }
        : { namespace, service, refusal: "stale-input: late" },
  predictorProblem: undefined,
};

function expectRequest(request: ScalerRequest): void {
  const { metadata, metricName, name, namespace } = request;
  for (const text of [name, namespace, metricName]) {
    expect(text.length <= REQUEST_LIMITS.nameBytes, "limit", () => `a name of ${text.length} characters`);
  }
  for (const [key, value] of metadata) {
    expect(KNOWN.includes(key), "key", () => `metadata key ${key}`);
    expect(value.length <= REQUEST_LIMITS.valueBytes, "limit", () => `a value of ${value.length} characters`);
  }
  const found = attempt(() => answer(request, SOURCE, 0), never);
  if (found?.problem === undefined) {
    expect(found?.replicas === 5, "number", () => `${found?.replicas} replicas`);
    // Only the one service has a number, and only for its own namespace.
    expect(namespace === "shop", "namespace", () => `a number for namespace ${namespace}`);
  } else {
    expect(found.message.length < 1_000, "message", () => `a message of ${found.message.length} characters`);
    expect(found.message.isWellFormed(), "message", () => "a message that is no text");
  }
}

export const KEDA_TARGETS: readonly Target[] = [
  bytesTarget("keda/codec", new ProtobufMutator([...REQUESTS, encodeRef(REF)], KNOWN), (bytes) => {
    for (const decode of [decodeScaledObjectRef, decodeGetMetricsRequest]) {
      const request = attempt(() => decode(bytes), never);
      if (request !== undefined) expectRequest(request);
    }
  }),
  valueTarget("keda/round-trip", [{ name: "m", value: 7 }], (input) => {
    const { name, value } = (input ?? {}) as { name?: unknown; value?: unknown };
    if (typeof name !== "string" || typeof value !== "number" || !Number.isSafeInteger(value) || value < 0)
      return;
    const metricName = name.toWellFormed();
    const [metric] = decodeMetrics(encodeMetricValue(metricName, value));
    expectEqual(metric, { metricName, int: Math.abs(value), float: Math.abs(value) }, "round-trip");
  }),
];
