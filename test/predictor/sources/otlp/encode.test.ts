import fc from "fast-check";
import { expect, it } from "vitest";
import { ProtobufDecoder } from "../../../../predictor/sources/otlp/decode-protobuf.ts";
import { encodeSpans } from "../../../../predictor/sources/otlp/encode-protobuf.ts";
import { DERIVED_KIND, SPAN_KIND, SpanBatch } from "../../../../predictor/window/span.ts";
import type { SpanKind } from "../../../../predictor/window/span.ts";
import { NOW_MS, recordsOf } from "./messages.ts";

it("spans that are encoded for other predictors are the same spans there", () => {
  const hex = (digits: number) => fc.stringMatching(new RegExp(`^[0-9a-f]{${digits}}$`));
  const resources = ["a", "b", "ü"].map((service, index) =>
    index === 1
      ? {
          service,
          instance: "pod-1",
          isPod: true,
          host: "pod-1",
          namespace: "shop",
          cluster: "eu",
          environment: "prod",
          region: "eu-1",
          group: "shops",
        }
      : { service },
  );
  const span = fc.record({
    traceId: hex(32),
    spanId: hex(16),
    parentId: fc.option(hex(16), { nil: undefined }),
    name: fc.string({ unit: "grapheme" }),
    kind: fc.nat(5).map((kind) => kind as SpanKind),
    startMs: fc.integer({ min: NOW_MS - 1e7, max: NOW_MS + 1e7 }),
    durationMs: fc.integer({ min: -1_000, max: 4_000_000 }),
    error: fc.boolean(),
    adjustedCount: fc.constantFrom(undefined, 1, 2, 4, 1_024),
    userAgent: fc.constantFrom(undefined, "kube-probe/1.34", "curl/8.5.0", "/healthz"),
    resource: fc.constantFrom(...resources),
  });
  fc.assert(
    fc.property(fc.array(span, { maxLength: 20 }), (spans) => {
      const [sent, got] = [new SpanBatch(), new SpanBatch()];
      sent.clear(NOW_MS);
      // Decoders read who asked of SERVER spans without a parent alone.
      for (const { userAgent, ...each } of spans)
        sent.add(
          each.kind === SPAN_KIND.server && each.parentId === undefined ? { ...each, userAgent } : each,
        );
      // Where it is decoded the clock says something else.
      got.clear(NOW_MS);
      new ProtobufDecoder().decode(encodeSpans(sent), got);
      const comparable = (batch: SpanBatch) =>
        // A name is kept only by spans that may begin something.
        recordsOf(batch).map((record, index) => ({ ...record, name: got.names[index] && record["name"] }));
      expect(comparable(got)).toEqual(comparable(sent));
    }),
  );
});

it("polls and streams are still such for other predictors", () => {
  const [sent, got] = [new SpanBatch(), new SpanBatch()];
  for (const batch of [sent, got]) batch.clear(NOW_MS);
  for (const kind of Object.values(DERIVED_KIND).slice(0, 2)) {
    sent.add({
      traceId: "1".repeat(32),
      spanId: "2".repeat(16),
      resource: { service: "a" },
      kind: kind as (typeof DERIVED_KIND)["receive" | "stream"],
      startMs: NOW_MS,
      durationMs: 30_000,
    });
  }
  new ProtobufDecoder().decode(encodeSpans(sent), got);
  expect([...got.kind.subarray(0, 2)]).toEqual([DERIVED_KIND.receive, DERIVED_KIND.stream]);
});
