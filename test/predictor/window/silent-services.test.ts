import type { CallEdge, Window, WindowSet } from "@tradewind/core/contract/window.ts";
import { SilentServices } from "@tradewind/predictor/window/silent-services.ts";
import type { ResourceView } from "@tradewind/predictor/window/resources.ts";
import { describe, expect, it } from "vitest";
import { batchOf, newBuilder, serviceIn, T0, traceOf, WINDOW_MS } from "./traced.ts";
import type { Example } from "./traced.ts";

/** What one service was seen to do in a window; undefined: nothing came of it. */
interface Seen {
  readonly requests: number;
  readonly calls?: Readonly<Record<string, number>>;
  readonly unresolved?: number;
  readonly missing?: string;
  /** The caller makes no CLIENT spans. */
  readonly unseen?: boolean;
}

let windows = 0;
/** One window of 10 s, each later than the one before. */
function setOf(seen: Readonly<Record<string, Seen | undefined>>): WindowSet {
  windows += 1;
  const [startMs, endMs] = [windows * 10_000, (windows + 1) * 10_000];
  const edges = ({ calls = {}, unseen }: Seen): CallEdge[] =>
    Object.entries(calls).map(([callee, count]) => ({
      callee,
      callsPerSecond: count / 10,
      parallelRatio: 0,
      ...(unseen !== true && { transitSeconds: 0.001 }),
    }));
  const window = (service: string, of: Seen | undefined): Window => ({
    namespace: "shop",
    service,
    startMs,
    endMs,
    callees: of === undefined ? [] : edges(of),
    containers: [],
    ...(of !== undefined && {
      requestsPerSecond: of.requests / 10,
      unresolvedCallsPerSecond: (of.unresolved ?? 0) / 10,
    }),
    ...(of?.missing !== undefined && { missing: of.missing }),
  });
  return { startMs, endMs, windows: Object.entries(seen).map(([name, of]) => window(name, of)), flows: [] };
}

const USUAL = { front: { requests: 100, calls: { geo: 50 } }, geo: { requests: 50 } };

/** After some windows like this one, what is said of a service in the next. */
function rateOf(
  service: string,
  usual: Readonly<Record<string, Seen | undefined>>,
  next: Readonly<Record<string, Seen | undefined>>,
  after = 10,
): number | undefined {
  const silent = new SilentServices();
  for (let window = 0; window < after; window += 1) silent.vouch(setOf(usual));
  const found = silent.vouch(setOf(next)).windows.find((each) => each.service === service);
  return found?.requestsPerSecond;
}

describe("the rate of a service of which no span came", () => {
  it("is no rate of 0 for one that others measure calls to: its own clock may be behind (node-behind)", () => {
    const next = { front: { requests: 100, calls: { geo: 50 } }, geo: undefined };
    expect(rateOf("geo", USUAL, next)).toBeUndefined();
    expect(rateOf("geo", USUAL, { front: { requests: 100 }, geo: undefined })).toBe(0);
  });

  it("is 0 where its callers were measured and called nobody who did not answer", () => {
    expect(rateOf("geo", USUAL, { front: { requests: 100 }, geo: undefined })).toBe(0);
  });

  it("is not known where its caller went on to call somebody who did not answer", () => {
    const lost = { front: { requests: 100, unresolved: 50 }, geo: undefined };
    expect(rateOf("geo", USUAL, lost)).toBeUndefined();
    expect(
      rateOf("geo", USUAL, { front: { requests: 100, unresolved: 26 }, geo: undefined }),
    ).toBeUndefined();
  });

  it("is told through calls that never have an answer, those to a database, as far as chance allows", () => {
    const usual = {
      front: { requests: 1_000, calls: { geo: 500 }, unresolved: 1_000 },
      geo: { requests: 500 },
    };
    const next = (unresolved: number) => ({ front: { requests: 1_000, unresolved }, geo: undefined });
    expect(rateOf("geo", usual, next(1_010))).toBe(0);
    expect(rateOf("geo", usual, next(1_500))).toBeUndefined();
    const rare = {
      front: { requests: 1_000, calls: { geo: 20 }, unresolved: 5_000 },
      geo: { requests: 20 },
    };
    expect(rateOf("geo", rare, next(5_000))).toBeUndefined();
  });

  it.each<[string, Record<string, Seen | undefined>]>([
    ["its caller is silent, too", { front: undefined, geo: undefined }],
    [
      "a part of its caller's spans is missing",
      { front: { requests: 100, missing: "a peer" }, geo: undefined },
    ],
    ["its caller is not there", { geo: undefined }],
    ["its caller had no requests that were measured", { front: { requests: 0 }, geo: undefined }],
  ])("is not known where %s", (_, next) => {
    expect(rateOf("geo", USUAL, next)).toBeUndefined();
  });

  it("is not known of a service that was never seen, or hardly ever", () => {
    expect(rateOf("geo", { front: { requests: 100 } }, { front: { requests: 100 }, geo: undefined })).toBe(
      undefined,
    );
    const hardly = { front: { requests: 100, calls: { geo: 2 } }, geo: { requests: 2 } };
    expect(rateOf("geo", hardly, { front: { requests: 100 }, geo: undefined }, 2)).toBeUndefined();
  });

  it("is not known of a service that others reach than its callers: users, timers, queues", () => {
    const usual = { front: { requests: 100, calls: { geo: 50 } }, geo: { requests: 80 } };
    expect(rateOf("geo", usual, { front: { requests: 100 }, geo: undefined })).toBeUndefined();
  });

  it("is not known where callers make no spans of their calls", () => {
    const usual = { ...USUAL, front: { ...USUAL.front, unseen: true } };
    expect(rateOf("geo", usual, { front: { requests: 100 }, geo: undefined })).toBeUndefined();
  });

  it("is 0 along a chain and around a circle when whoever stands before it called nobody", () => {
    const usual = {
      front: { requests: 100, calls: { a: 50 } },
      a: { requests: 100, calls: { b: 100 } },
      b: { requests: 100, calls: { a: 50 } },
    };
    const idle = { front: { requests: 100 }, a: undefined, b: undefined };
    expect([rateOf("a", usual, idle), rateOf("b", usual, idle)]).toEqual([0, 0]);
    const lost = { front: { requests: 100, unresolved: 50 }, a: undefined, b: undefined };
    expect([rateOf("a", usual, lost), rateOf("b", usual, lost)]).toEqual([undefined, undefined]);
  });

  it("does not come to be 0 because spans are lost for long: what is usual is not learnt from that", () => {
    const silent = new SilentServices();
    for (let window = 0; window < 10; window += 1) silent.vouch(setOf(USUAL));
    for (let window = 0; window < 500; window += 1) {
      const set = silent.vouch(setOf({ front: { requests: 100, unresolved: 50 }, geo: undefined }));
      expect(set.windows[1]?.requestsPerSecond).toBeUndefined();
    }
  });

  it("stays 0 for as long as a service is idle", () => {
    const silent = new SilentServices();
    for (let window = 0; window < 10; window += 1) silent.vouch(setOf(USUAL));
    for (let window = 0; window < 500; window += 1) {
      const set = silent.vouch(setOf({ front: { requests: 100 }, geo: undefined }));
      expect(set.windows[1]?.requestsPerSecond).toBe(0);
    }
  });

  it("is judged in a few ms for thousands of services that call each other", () => {
    const names = Array.from({ length: 5_000 }, (_, index) => `s-${index}`);
    const all = Object.fromEntries(
      names.map((name, index) => [
        name,
        {
          requests: 40,
          calls: { [`s-${(index * 7 + 1) % 5_000}`]: 20, [`s-${(index * 13 + 5) % 5_000}`]: 20 },
        },
      ]),
    );
    const silent = new SilentServices();
    for (let window = 0; window < 5; window += 1) silent.vouch(setOf(all));
    const set = silent.vouch(setOf({ ...all, "s-17": undefined }));
    expect(set.windows).toHaveLength(5_000);
  });
});

describe("spans of a service that stop, from the spans themselves", () => {
  const replicas = { namespace: "shop", containers: [], replicasReady: 2 };
  const view: ResourceView = { services: new Map([["geo", replicas]]) };

  /** The frontend's request; its call to geo as both see it, as the frontend alone does, or none. */
  function request(geo: "answered" | "lost" | "none", at: number): Example {
    const server: Example = { service: "geo", kind: "server", at: at + 11, for: 8 };
    const client: Example = {
      service: "frontend",
      kind: "client",
      at: at + 10,
      for: 10,
      children: geo === "answered" ? [server] : [],
    };
    const children = geo === "none" ? [] : [client];
    return { service: "frontend", kind: "server", at, for: 50, children };
  }

  function geoAfter(last: "answered" | "lost" | "none"): Window {
    const builder = newBuilder();
    const silent = new SilentServices();
    let window: Window | undefined;
    for (let number = 0; number < 5; number += 1) {
      const startMs = T0 + number * WINDOW_MS;
      const kind = number === 4 ? last : "answered";
      for (let index = 0; index < 20; index += 1) {
        builder.add(batchOf(traceOf(request(kind, number * WINDOW_MS + 100 * index))), startMs + WINDOW_MS);
      }
      const built = builder.build(startMs, startMs + WINDOW_MS, view, startMs + WINDOW_MS + 10_000);
      window = serviceIn(silent.vouch(built), "geo");
    }
    return window!;
  }

  it("are no load that went away: the rate is not known while the frontend goes on calling", () => {
    expect(geoAfter("answered").requestsPerSecond).toBeGreaterThan(1);
    expect(geoAfter("lost").requestsPerSecond).toBeUndefined();
    expect(geoAfter("lost").replicasReady).toBe(2);
  });

  it("are a rate of 0 when the frontend does not call any more", () => {
    expect(geoAfter("none").requestsPerSecond).toBe(0);
  });
});
