import { describe, expect, it } from "vitest";
import { NONE, NO_POD, SpanArena } from "../../../predictor/window/span-arena.ts";
import { SPAN_KIND } from "../../../predictor/window/span.ts";
import type { SpanRecord } from "../../../predictor/window/span.ts";
import { TraceTree } from "../../../predictor/window/trace-tree.ts";
import { batchOf, T0 } from "./traced.ts";

const SERVICES = ["storefront", "oven"];
const id = (value: number): string => value.toString(16).padStart(16, "0");

interface Sent {
  readonly parent: number;
  readonly service: string;
  readonly kind: "client" | "server";
  readonly at: number;
  readonly ms: number;
}

/** The number of the request that each span belongs to, or `NONE`. Spans have their numbers for ids. */
function requestsOf(sent: readonly Sent[]): number[] {
  const records = sent.map(({ at, kind, ms, parent, service }, number): SpanRecord => ({
    traceId: "a".repeat(32),
    spanId: id(number + 1),
    parentId: id(parent + 1),
    resource: { service },
    kind: SPAN_KIND[kind],
    startMs: T0 + at,
    durationMs: ms,
  }));
  const batch = batchOf(records);
  const arena = new SpanArena();
  let head = NONE;
  for (const [index, { service }] of sent.toReversed().entries()) {
    const span = sent.length - 1 - index;
    const startNs = batch.startNs[span] ?? 0;
    head = arena.put(batch, span, { startNs, service: SERVICES.indexOf(service), next: head, pod: NO_POD });
  }
  const tree = new TraceTree(0, () => true);
  tree.load(arena, head, sent.length, (service) => SERVICES[service] ?? "");
  return [...tree.request.subarray(0, sent.length)];
}

const LOST = 90;
const call = (service: string, parent: number, at: number, ms: number): Sent => ({
  service,
  kind: "client",
  parent,
  at,
  ms,
});
const served = (service: string, parent: number, at: number, ms: number): Sent => ({
  service,
  kind: "server",
  parent,
  at,
  ms,
});

describe("a span whose parent did not arrive", () => {
  it("belongs to the request of its service within which it lies, as what it leads to does", () => {
    const sent = [served("storefront", LOST, 0, 100), call("storefront", LOST, 10, 50)];
    expect(requestsOf([...sent, served("oven", 1, 20, 30), call("oven", LOST, 25, 5)])).toEqual([0, 0, 2, 2]);
  });

  it("belongs to no request below it, whatever their clocks say", () => {
    expect(
      requestsOf([
        call("storefront", LOST, 100, 50),
        served("oven", 0, 110, 30),
        call("oven", 1, 115, 20),
        served("storefront", 2, 50, 500),
      ]),
    ).toEqual([NONE, 1, 1, 3]);
  });

  it("belongs to no request below a span that was given to a request below it", () => {
    expect(
      requestsOf([
        call("storefront", LOST, 100, 50),
        served("oven", 0, 0, 900),
        call("oven", LOST, 100, 50),
        served("storefront", 2, 0, 900),
      ]),
    ).toEqual([3, 1, NONE, 3]);
  });
});
