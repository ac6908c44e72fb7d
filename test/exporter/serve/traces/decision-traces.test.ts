import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { describe, expect, it, onTestFinished } from "vitest";
import { EventList } from "@tradewind/core/contract/audit.ts";
import { JsonDecoder } from "@tradewind/predictor/sources/otlp/decode-json.ts";
import { SpanBatch } from "@tradewind/predictor/window/span.ts";
import type { OtlpSpan } from "@tradewind/exporter/serve/traces/decision-spans.ts";
import { runningExporter } from "../../running-exporter.ts";
import { until } from "../../until.ts";
import { planOf, wishOf } from "../../wish.ts";

interface SentSpans {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[];
  }[];
}

/** A collector that keeps what it gets, and answers with this status. */
async function collector(status = 200): Promise<{ readonly url: string; readonly bodies: Buffer[] }> {
  const bodies: Buffer[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    bodies.push(await buffer(request));
    response.writeHead(request.url === "/v1/traces" ? status : 404, { "content-type": "application/json" });
    response.end("{}");
  };
  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, bodies };
}

const decisionsOf = async (http: string) => {
  const { events } = EventList.parse(await (await fetch(`${http}/v1/events`)).json());
  return events.flatMap((event) => (event.kind === "decision" ? [event] : []));
};

describe("traces of decisions", () => {
  it("go to a collector by OTLP, one for each change of a size, with the id that the audit trail has", async () => {
    const { bodies, url } = await collector();
    const { http } = await runningExporter(planOf([wishOf(), wishOf({ service: "rate" })]), {
      tracesEndpoint: url,
      limits: { maxReplicas: 4 },
    });
    const [body] = await until("spans", () => (bodies.length > 0 ? bodies : undefined));
    const { resourceSpans } = JSON.parse(body!.toString()) as SentSpans;
    const spans = resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans));
    const decisions = await decisionsOf(http);
    expect(decisions).toHaveLength(2);
    expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(
      new Set(decisions.map((each) => each.traceId)),
    );
    const [{ decisionId, traceId }] = decisions as [(typeof decisions)[0]];
    const decisionSpans = spans.filter((span) => span.traceId === traceId);
    const [root] = decisionSpans;
    expect(decisionSpans.map(({ name, parentSpanId }) => [name, parentSpanId])).toEqual([
      ["decision", undefined],
      ["plan", root!.spanId],
      ["guard", root!.spanId],
    ]);
    expect(root!.attributes).toContainEqual({
      key: "tradewind.decision.id",
      value: { stringValue: decisionId },
    });
    expect(root!.attributes).toContainEqual({ key: "tradewind.after.replicas", value: { doubleValue: 4 } });
    expect(decisionSpans[2]!.events).toContainEqual(expect.objectContaining({ name: "bounds" }));
    const batch = new SpanBatch();
    batch.clear(Date.now());
    new JsonDecoder().decode(body!, batch);
    expect(batch.length).toBe(6);
  });

  it("are off by default: no line of the audit trail names one", async () => {
    const { http } = await runningExporter(planOf([wishOf()]));
    const decisions = await until("a decision", async () => {
      const found = await decisionsOf(http);
      return found.length > 0 ? found : undefined;
    });
    expect(decisions.map(({ traceId }) => traceId)).toEqual([undefined]);
  });

  it("keep no decision back while the collector refuses them", async () => {
    const { bodies, url } = await collector(400);
    const { list } = await runningExporter(planOf([wishOf()]), { tracesEndpoint: url });
    expect((await list()).recommendations.map(({ replicas }) => replicas)).toEqual([5]);
    await until("the refusal", () => bodies.length > 0);
  });
});
