import { expect, it, onTestFinished } from "vitest";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import { startOtlpReceiver } from "../../../../predictor/sources/otlp/receiver.ts";
import { NO_RESOURCES } from "../../../../predictor/window/resources.ts";
import { WindowBuilder } from "../../../../predictor/window/window-builder.ts";
import { aSpan, jsonRequest, NOW_MS, protobufRequest } from "./messages.ts";
import type { WireSpan } from "./messages.ts";

const ENCODINGS = {
  protobuf: (spans: readonly WireSpan[]) => ({
    body: protobufRequest(spans),
    headers: { "content-type": "application/x-protobuf" },
  }),
  JSON: (spans: readonly WireSpan[]) => ({
    body: JSON.stringify(jsonRequest(spans)),
    headers: { "content-type": "application/json" },
  }),
};
const KUBELET = "kube-probe/1.34";
const BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";

let ids = 0;
const request = (more: Partial<WireSpan> = {}): WireSpan => {
  ids += 1;
  return aSpan({
    traceId: String(ids).padStart(32, "1"),
    spanId: String(ids).padStart(16, "2"),
    startMs: NOW_MS - 1_025,
    endMs: NOW_MS - 1_000,
    ...more,
  });
};

/** The window and the probes among spans posted to a receiver. */
async function posted(
  encoding: keyof typeof ENCODINGS,
  spans: readonly WireSpan[],
): Promise<{ set: WindowSet; probes: Readonly<Record<string, number>> }> {
  const builder = new WindowBuilder({
    windowSeconds: 15,
    namespace: "shop",
    probePaths: () => new Map([["frontend", ["/readyz", "/"]]]),
  });
  const receiver = await startOtlpReceiver({
    listen: "127.0.0.1:0",
    onSpans: (batch) => builder.add(batch, NOW_MS),
  });
  onTestFinished(async () => receiver.stop());
  const answer = await fetch(`${receiver.address}/v1/traces`, {
    method: "POST",
    ...ENCODINGS[encoding](spans),
  });
  expect(answer.status).toBe(200);
  const set = builder.build(NOW_MS - 15_000, NOW_MS, NO_RESOURCES, NOW_MS + 10_000);
  return { set, probes: builder.totals().probes };
}

const routes = ({ flows }: WindowSet): (string | number)[][] =>
  flows.map(({ flow, requestsPerSecond }) => [flow, Math.round(15 * requestsPerSecond)]);

it.each(["protobuf", "JSON"] as const)(
  "spans in %s whose user agent is a kubelet's are no requests and no route, by either attribute",
  async (encoding) => {
    const other = { "http.request.method": "GET", "url.path": "/live" };
    const { set, probes } = await posted(encoding, [
      request({ attributes: { ...other, "user_agent.original": BROWSER } }),
      request(),
      request({ name: "GET /live", attributes: { ...other, "user_agent.original": KUBELET } }),
      request({ name: "GET /live", attributes: { "http.user_agent": KUBELET, ...other } }),
    ]);
    expect(routes(set)).toEqual([["GET /hotels", 2]]);
    expect(set.windows[0]).toMatchObject({ requestsPerSecond: 2 / 15, beganPerSecond: 2 / 15 });
    expect(set.windows[0]?.ownLatency?.count).toBe(2);
    expect(probes).toEqual({ "user-agent": 2, path: 0 });
  },
);

it.each(["protobuf", "JSON"] as const)(
  "spans in %s that do not say who asked are probes by a declared path, but never by / or where somebody else asked",
  async (encoding) => {
    const { set, probes } = await posted(encoding, [
      request({ name: "GET /readyz" }),
      request({ name: "/readyz" }),
      request({ name: "GET /readyz", attributes: { "user_agent.original": BROWSER } }),
      request({ name: "POST /readyz" }),
      request({ name: "GET /" }),
    ]);
    expect(routes(set)).toEqual([
      ["GET /", 1],
      ["GET /readyz", 1],
      ["POST /readyz", 1],
    ]);
    expect(probes).toEqual({ "user-agent": 0, path: 2 });
  },
);

it.each(["protobuf", "JSON"] as const)(
  "spans in %s that have a parent, or are of another kind, are requests whatever their user agent",
  async (encoding) => {
    const attributes = { "user_agent.original": KUBELET };
    const { set, probes } = await posted(encoding, [
      request({ parentId: "00000000000000f1", attributes }),
      request({ kind: 5, attributes }),
    ]);
    expect(set.windows[0]).toMatchObject({ requestsPerSecond: 2 / 15 });
    expect(probes).toEqual({ "user-agent": 0, path: 0 });
  },
);

it.each(["protobuf", "JSON"] as const)(
  "spans in %s that are named by method alone are probes by the path of their attributes, unless a browser asks",
  async (encoding) => {
    const { set, probes } = await posted(encoding, [
      request({ name: "GET", attributes: { "url.path": "/healthz" } }),
      request({
        name: "HTTP GET",
        attributes: { "http.target": "/readyz?verbose=1", "http.useragent": "curl" },
      }),
      request({ name: "GET", attributes: { "url.path": "/healthz", "user_agent.original": BROWSER } }),
      request({ name: "GET", attributes: { "user_agent.original": BROWSER, "url.path": "/healthz" } }),
      request({ name: "POST", attributes: { "url.path": "/healthz-of-users" } }),
    ]);
    expect(routes(set)).toEqual([
      ["GET", 2],
      ["POST", 1],
    ]);
    expect(probes).toEqual({ "user-agent": 0, path: 2 });
  },
);

it.each(["protobuf", "JSON"] as const)(
  "spans in %s of a function that a timer calls are work, however short they are",
  async (encoding) => {
    const { set } = await posted(encoding, [
      request(),
      request({ name: "report", attributes: { "faas.trigger": "timer" } }),
    ]);
    expect(set.windows[0]).toMatchObject({ requestsPerSecond: 1 / 15 });
    expect(routes(set)).toEqual([["GET /hotels", 1]]);
  },
);
