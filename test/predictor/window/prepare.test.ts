import { describe, expect, it } from "vitest";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import { NO_RESOURCES } from "../../../predictor/window/resources.ts";
import type { SpanRecord } from "../../../predictor/window/span.ts";
import type { WindowBuilder } from "../../../predictor/window/window-builder.ts";
import { batchOf, newBuilder, serviceIn, T0, traceOf, WINDOW_MS } from "./traced.ts";

const END_MS = T0 + WINDOW_MS;
/** All spans have just arrived: no trace is quiet yet when the window is built. */
const BUILD_MS = END_MS + 1_000;
const TRACES = 5_000;

const shop = (at: number): SpanRecord[] =>
  traceOf({
    service: "front",
    kind: "server",
    at,
    for: 50,
    children: [
      {
        service: "front",
        kind: "client",
        at: at + 5,
        for: 30,
        children: [{ service: "cart", kind: "server", at: at + 10, for: 20 }],
      },
    ],
  });

/** Requests within the window, and as many that end after it. */
const TRAFFIC = Array.from({ length: TRACES }, (_, index) =>
  shop((index % 2) * (WINDOW_MS - 20) + (index % 7)),
).flat();

function builderWith(spans: readonly SpanRecord[], nowMs = BUILD_MS): WindowBuilder {
  const builder = newBuilder();
  builder.add(batchOf(spans), nowMs);
  return builder;
}

const built = (builder: WindowBuilder): WindowSet => builder.build(T0, END_MS, NO_RESOURCES, BUILD_MS);

/** @returns the number of steps */
function prepare(builder: WindowBuilder, nowMs = BUILD_MS): number {
  return [...builder.prepare(END_MS, () => nowMs)].length + 1;
}

describe("a window that is prepared in steps", () => {
  it("is the same as one that is built at once, and so is the next", () => {
    const [prepared, atOnce] = [builderWith(TRAFFIC), builderWith(TRAFFIC)];
    expect(prepare(prepared)).toBe(3);
    expect(built(prepared)).toEqual(built(atOnce));
    const next = (builder: WindowBuilder): WindowSet =>
      builder.build(END_MS, END_MS + WINDOW_MS, NO_RESOURCES, BUILD_MS + WINDOW_MS);
    prepared.prepare(END_MS + WINDOW_MS, () => BUILD_MS + WINDOW_MS).next();
    expect(next(prepared)).toEqual(next(atOnce));
    expect(prepared.totals()).toEqual(atOnce.totals());
  });

  it("evaluates traces that have fallen quiet in steps, too", () => {
    const [prepared, atOnce] = [builderWith(TRAFFIC, T0), builderWith(TRAFFIC, T0)];
    expect(prepare(prepared)).toBe(3);
    expect(prepared.totals().openTraces).toBe(0);
    expect(built(prepared)).toEqual(built(atOnce));
  });

  it("counts spans that come between two steps, and after the last", () => {
    const builder = builderWith(TRAFFIC);
    const steps = builder.prepare(END_MS, () => BUILD_MS);
    steps.next();
    builder.add(batchOf(shop(100)), BUILD_MS);
    while (steps.next().done !== true);
    builder.add(batchOf(shop(200)), BUILD_MS);
    expect(serviceIn(built(builder), "cart").ownLatency?.count).toBe(TRACES / 2 + 2);
  });

  it("is given up when the clock is set meanwhile, and counts nothing of what comes then", () => {
    const builder = builderWith(TRAFFIC);
    const steps = builder.prepare(END_MS, () => BUILD_MS);
    steps.next();
    builder.restart();
    builder.add(batchOf(shop(100)), BUILD_MS + WINDOW_MS);
    expect(steps.next().done).toBe(true);
    expect(builder.totals()).toMatchObject({ openTraces: 1, drops: {} });
  });

  it("has nothing to do before the first span", () => {
    expect(prepare(newBuilder())).toBe(1);
  });
});
