import { describe, expect, it } from "vitest";
import type { Window, WindowSet } from "@tradewind/core/contract/window.ts";
import { LostSpans } from "@tradewind/predictor/window/lost-spans.ts";
import type { HandledMessages, SpanEvidence } from "@tradewind/predictor/window/lost-spans.ts";
import { NO_RESOURCES } from "@tradewind/predictor/window/resources.ts";
import { ARRIVAL_MS, batchOf, newBuilder, T0, traceOf, WINDOW_MS } from "./traced.ts";
import type { Example } from "./traced.ts";

const SECONDS = 10;
const REQUESTS = 200;

interface Told extends Partial<SpanEvidence> {
  readonly calls?: number;
  readonly unanswered?: number;
  readonly idleCores?: number;
}

/** A window in which `bakery` had 200 requests by two pods, each of which asks `oven` and a database once. */
function told({ calls = REQUESTS, idleCores = 0.4, unanswered = REQUESTS, ...evidence }: Told = {}): {
  readonly set: WindowSet;
  readonly evidence: ReadonlyMap<string, SpanEvidence>;
} {
  const times = { startMs: T0, endMs: T0 + 1e3 * SECONDS };
  const pod = (podName: string, cpuUsageCores: number): Window["containers"][number] => ({
    id: podName,
    podName,
    node: "node-1",
    cpuUsageCores,
  });
  const window = (service: string, more: Partial<Window>): Window => ({
    namespace: "shop",
    service,
    ...times,
    requestsPerSecond: REQUESTS / SECONDS,
    unresolvedCallsPerSecond: 0,
    callees: [],
    containers: [],
    ...more,
  });
  const bakery = window("bakery", {
    unresolvedCallsPerSecond: unanswered / SECONDS,
    callees: [{ callee: "oven", callsPerSecond: calls / SECONDS, parallelRatio: 0 }],
    containers: [pod("bakery-0", 0.4), pod("bakery-1", idleCores)],
  });
  const whole = {
    called: REQUESTS,
    callerLost: 0,
    spans: 3 * REQUESTS,
    orphans: 0,
    doubled: 0,
    sent: 0,
    handled: new Map<string, HandledMessages>(),
  };
  const pods = new Map([
    ["bakery-0", 100],
    ["bakery-1", 100],
  ]);
  return {
    set: { ...times, windows: [bakery, window("oven", {})], flows: [] },
    evidence: new Map([
      ["bakery", { ...whole, called: 0, pods, ...(!("called" in evidence) && evidence) }],
      ["oven", { ...whole, pods: new Map(), ...("called" in evidence && evidence) }],
    ]),
  };
}

function missingAfter(usual: readonly Told[], now: Told): Record<string, string | undefined> {
  const lost = new LostSpans();
  for (const each of usual) {
    const { evidence, set } = told(each);
    lost.look(set, evidence);
  }
  const { evidence, set } = told(now);
  const { windows } = lost.look(set, evidence);
  return Object.fromEntries(windows.map(({ missing, service }) => [service, missing]));
}

const CALM: readonly Told[] = Array.from({ length: 6 }, () => ({}));
const NOTHING = { bakery: undefined, oven: undefined };

describe("lost spans are named", () => {
  it("of those whose calls arrive without them", () => {
    const { bakery, oven } = missingAfter(CALM, { called: 180, callerLost: 20 });
    expect(bakery).toBe(
      "20 of 200 requests of oven came without the spans of their callers: spans of bakery are lost",
    );
    expect(oven).toBeUndefined();
  });

  it("of a service whose inner spans have no request", () => {
    const { bakery } = missingAfter(CALM, { orphans: 40 });
    expect(bakery).toContain("40 of 600 spans of bakery lack the spans above them");
  });

  it("of those who are called and do not answer any more", () => {
    const { bakery, oven } = missingAfter(CALM, { calls: 170, unanswered: 230 });
    expect(oven).toBe("30 of 200 calls of bakery to oven have no answer: spans of oven are lost");
    expect(bakery).toBeUndefined();
  });

  it("of a pod that works and says nothing", () => {
    const { bakery } = missingAfter(CALM, { pods: new Map([["bakery-0", 100]]) });
    expect(bakery).toContain("no span came of bakery-1");
  });

  it("as doubled where one pod answers a call twice at once", () => {
    const { oven } = missingAfter(CALM, { called: 200, callerLost: 0, doubled: 90 });
    expect(oven).toContain("90 of 200 requests of oven have two spans at once");
  });
});

/** Of 200 messages of `bakery` so many were handled, so long after each was sent. */
const messages = (count: number, seconds = 0.3): Told => ({
  sent: 200,
  handled: new Map([["oven", { count, waitSeconds: count * seconds }]]),
});
const HANDLED = Array.from({ length: 6 }, () => messages(200));

it("messages that are handled as soon as ever, but fewer of them, tell of lost spans of those who handle them", () => {
  const { bakery, oven } = missingAfter(HANDLED, messages(150));
  expect(oven).toBe("50 of 200 messages of bakery were not handled: spans of oven are lost");
  expect(bakery).toBeUndefined();
});

describe("nothing is said to be lost", () => {
  it.each([
    { what: "that come later than ever", now: messages(150, 6) },
    { what: "of which hardly any is handled", now: messages(10) },
    { what: "that were lost by chance", now: messages(198) },
  ])("of messages $what: they wait in a queue, or it is no loss", ({ now }) => {
    expect(missingAfter(HANDLED, now)).toEqual(NOTHING);
  });

  it("where all is as usual", () => {
    expect(missingAfter(CALM, {})).toEqual(NOTHING);
  });

  it("where a database is asked more often, and nobody less", () => {
    expect(missingAfter(CALM, { unanswered: 800 })).toEqual(NOTHING);
  });

  it("where a service is asked less often, and nothing else more", () => {
    expect(missingAfter(CALM, { calls: 100 })).toEqual(NOTHING);
  });

  it("where a pod has nothing to do", () => {
    expect(missingAfter(CALM, { idleCores: 0.01, pods: new Map([["bakery-0", 200]]) })).toEqual(NOTHING);
  });

  it("that never came, as of callers that send no spans", () => {
    const usual = Array.from({ length: 6 }, () => ({ called: 100, callerLost: 100 }));
    expect(missingAfter(usual, { called: 97, callerLost: 103 })).toEqual(NOTHING);
  });

  it("before it is known what is usual", () => {
    expect(missingAfter([{}], { called: 100, callerLost: 100 })).toEqual(NOTHING);
  });

  it("any more after an hour in which it was", () => {
    const changed = Array.from({ length: 260 }, () => ({ called: 180, callerLost: 20 }));
    expect(missingAfter([...CALM, ...changed], { called: 180, callerLost: 20 })).toEqual(NOTHING);
  });
});

describe("what windows tell of lost spans", () => {
  const request = (at: number): Example => ({
    service: "bakery",
    kind: "server",
    at,
    for: 60,
    children: [
      {
        service: "bakery",
        kind: "client",
        at: at + 5,
        for: 40,
        children: [{ service: "oven", kind: "server", at: at + 6, for: 30 }],
      },
    ],
  });

  it("counts requests of which the first span did not come, while they are waited for", () => {
    const builder = newBuilder({ knownServices: () => ["bakery", "oven"], entries: () => ["bakery"] });
    const said: string[] = [];
    for (let window = 0; window < 8; window += 1) {
      const fromMs = T0 + window * WINDOW_MS;
      for (let second = 1; second <= 15; second += 1) {
        const spans = Array.from({ length: 10 }, (_, index) =>
          traceOf(request(fromMs - T0 + 1e3 * second - 900 + 80 * index)).slice(
            window >= 6 && index === 0 ? 1 : 0,
          ),
        ).flat();
        builder.add(batchOf(spans), fromMs + 1e3 * second);
      }
      const set = builder.build(fromMs, fromMs + WINDOW_MS, NO_RESOURCES, fromMs + WINDOW_MS + 5_000);
      const missing = set.windows.flatMap((each) => each.missing ?? []);
      said.push(missing.join());
    }
    expect(said.slice(0, 6).join("")).toBe("");
    expect(said[7]).toContain("spans of bakery are lost");
  });

  it("counts refused spans by service and reason", () => {
    const builder = newBuilder({ knownServices: () => ["bakery"] });
    const [span] = traceOf(request(100));
    builder.add(batchOf([{ ...span!, durationMs: -5 }]), ARRIVAL_MS);
    expect(builder.totals().refused).toEqual([{ service: "bakery", reason: "negative-duration", count: 1 }]);
  });

  it("counts the streams that were open at once", () => {
    const builder = newBuilder({ maxPastSeconds: 600 });
    const stream: Example = { service: "bakery", kind: "stream", at: 1_000, for: 3_000 };
    builder.add(batchOf([...traceOf(stream), ...traceOf(stream)]), ARRIVAL_MS);
    builder.build(T0, T0 + WINDOW_MS, NO_RESOURCES, ARRIVAL_MS + 10_000);
    expect(builder.totals().streams.get("bakery")).toBeCloseTo(6 / 15, 6);
  });
});
