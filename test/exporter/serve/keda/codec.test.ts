import { fileURLToPath } from "node:url";
import { loadSync } from "@grpc/proto-loader";
import type { MethodDefinition } from "@grpc/proto-loader";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decodeGetMetricsRequest,
  decodeScaledObjectRef,
  encodeIsActive,
  encodeMetricSpec,
  encodeMetricValue,
} from "@tradewind/exporter/serve/keda/codec.ts";
import { EXTERNAL_SCALER } from "@tradewind/exporter/serve/keda/service.ts";
import { decodeIsActive, decodeMetrics, encodeMetricsRequest, encodeRef } from "./wire.ts";

const proto = fileURLToPath(new URL("../../../../exporter/serve/keda/externalscaler.proto", import.meta.url));
const loaded = loadSync(proto, {
  keepCase: true,
  longs: Number,
  defaults: true,
  arrays: true,
  objects: true,
});
const methods = loaded["externalscaler.ExternalScaler"] as unknown as Record<
  string,
  MethodDefinition<object, object>
>;

describe("externalscaler.proto", () => {
  it("names the same RPCs, paths and directions as the server serves", () => {
    const shape = (all: object) =>
      Object.entries(all as Record<string, MethodDefinition<object, object>>)
        .map(([name, { path, requestStream, responseStream }]) => ({
          name,
          path,
          requestStream,
          responseStream,
        }))
        .sort((a, b) => (a.name < b.name ? -1 : 1));
    expect(shape(EXTERNAL_SCALER)).toEqual(shape(methods));
  });

  it("reads what the codec writes", () => {
    const read = (name: string, bytes: Buffer) => methods[name]!.responseDeserialize(bytes);
    expect(read("IsActive", encodeIsActive(true))).toEqual({ result: true });
    expect(read("IsActive", encodeIsActive(false))).toEqual({ result: false });
    expect(read("GetMetricSpec", encodeMetricSpec("recommended-replicas", 1))).toEqual({
      metricSpecs: [{ metricName: "recommended-replicas", targetSize: 1, targetSizeFloat: 1 }],
    });
    expect(read("GetMetrics", encodeMetricValue("m", 7))).toEqual({
      metricValues: [{ metricName: "m", metricValue: 7, metricValueFloat: 7 }],
    });
  });

  it("writes what the codec reads", () => {
    const ref = {
      name: "so",
      namespace: "shop",
      scalerMetadata: { service: "search", scalerAddress: "a:1" },
    };
    const request = methods["GetMetrics"]!.requestSerialize({ scaledObjectRef: ref, metricName: "m" });
    expect(decodeGetMetricsRequest(request)).toEqual({
      name: "so",
      namespace: "shop",
      metricName: "m",
      metadata: new Map([["service", "search"]]),
      entries: 2,
    });
  });
});

describe("the codec", () => {
  const anyRef = fc.record({
    name: fc.string({ maxLength: 60 }),
    namespace: fc.string({ maxLength: 60 }),
    metadata: fc.array(
      fc.tuple(
        fc.oneof(fc.constantFrom("service", "application", "serviceFromEnv"), fc.string()),
        fc.string({ unit: "grapheme", maxLength: 100 }),
      ),
      { maxLength: 20 },
    ),
  });

  it("reads any request that a client writes by the field numbers, the last of equal keys winning", () => {
    fc.assert(
      fc.property(anyRef, fc.string({ maxLength: 60 }), (ref, metricName) => {
        const read = decodeGetMetricsRequest(encodeMetricsRequest(ref, metricName));
        expect(read.problem).toBeUndefined();
        expect(read).toMatchObject({ name: ref.name, namespace: ref.namespace, metricName });
        const last = ref.metadata.findLast(([key]) => key === "service");
        expect(read.metadata.get("service")).toBe(last?.[1]);
      }),
    );
  });

  it("never throws, whatever the bytes are", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        expect(decodeScaledObjectRef(bytes)).toHaveProperty("namespace");
        expect(decodeGetMetricsRequest(bytes)).toHaveProperty("namespace");
      }),
      { numRuns: 2_000 },
    );
  });

  it("calls every cut of a request a problem or reads it as a shorter request, but never makes up a service", () => {
    const whole = encodeRef({ name: "so", namespace: "shop", metadata: { service: "search" } });
    for (let length = 0; length < whole.length; length += 1) {
      const { metadata, problem } = decodeScaledObjectRef(whole.subarray(0, length));
      expect([undefined, "search"]).toContain(metadata.get("service"));
      if (metadata.get("service") === undefined) continue;
      expect(problem).toBeUndefined();
    }
  });

  it("skips fields it does not know, as protobuf asks", () => {
    const unknown = Buffer.from([0x48, 0x01, 0x52, 0x01, 0x78]);
    const ref = Buffer.concat([
      unknown,
      encodeRef({ namespace: "shop", metadata: { service: "search" } }),
      unknown,
    ]);
    expect(decodeScaledObjectRef(ref).metadata.get("service")).toBe("search");
  });

  it("writes whole replica counts exactly, up to the largest a double holds", () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), (replicas) => {
        expect(decodeMetrics(encodeMetricValue("m", replicas))).toEqual([
          { metricName: "m", int: replicas, float: replicas },
        ]);
      }),
    );
    expect([decodeIsActive(encodeIsActive(true)), decodeIsActive(encodeIsActive(false))]).toEqual([
      true,
      false,
    ]);
  });
});
