import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { AuditEvent } from "@tradewind/core/contract/audit.ts";
import type { Override } from "@tradewind/core/contract/override.ts";
import { createLog } from "@tradewind/core/process/log.ts";
import { AnnotatedOverrides } from "@tradewind/exporter/decide/override/annotations.ts";
import { Overrides } from "@tradewind/exporter/decide/override/overrides.ts";
import type { OverrideOrder } from "@tradewind/exporter/decide/override/rules.ts";
import { OverrideFile } from "@tradewind/exporter/keep/override-file.ts";
import { keptPlaces } from "./overriding.ts";

const NOW = Date.UTC(2026, 2, 2, 4, 0);
const HOUR_MS = 3_600_000;
const CART = { namespace: "shop", application: "hotel", service: "cart" };
const log = createLog("test", "silent");

/** Overrides by a clock that stands where it is set. */
function standing(state?: string, file?: Pick<OverrideFile, "load" | "save">) {
  const at = { wallMs: NOW, monotonicMs: 1_000 };
  const events: AuditEvent[] = [];
  let changes = 0;
  const overrides = new Overrides({
    file: file ?? (state === undefined ? undefined : new OverrideFile(state)),
    clock: { nowMs: () => at.wallMs, monotonicMs: () => at.monotonicMs },
    log,
    services: () => [{ ...CART, mode: "act", sizes: { replicas: 4 } }],
    onChange: async () => {
      changes += 1;
      return Promise.resolve();
    },
    onEvents: (more) => void events.push(...more),
    onOrder: () => undefined,
  });
  const kindNow = (): string | undefined => overrides.of(CART)?.override.kind;
  return { at, changes: () => changes, events, kindNow, overrides };
}

const HOLD: OverrideOrder = { kind: "hold", name: "cart", forSeconds: 3_600, reason: "bad deploy" };
const ANN = { by: "ann" };

describe("an override and clocks", () => {
  it.each([
    ["forward", 10 * HOUR_MS],
    ["back", -10 * HOUR_MS],
  ])("lasts as long as ordered where the wall clock is set %s", async (_way, stepMs) => {
    const { at, kindNow, overrides } = standing();
    await overrides.order(HOLD, ANN);
    at.wallMs += stepMs;
    at.monotonicMs += HOUR_MS - 1;
    await overrides.look();
    expect(kindNow()).toBe("hold");
    at.monotonicMs += 1;
    await overrides.look();
    expect(kindNow()).toBeUndefined();
  });

  it("lasts after a restart with a clock that was set back no longer than it was ordered for", async () => {
    const { state } = keptPlaces();
    await standing(state).overrides.order(HOLD, ANN);
    const next = standing(state);
    next.at.wallMs -= 10 * HOUR_MS;
    await next.overrides.restore();
    expect(next.kindNow()).toBe("hold");
    next.at.monotonicMs += HOUR_MS;
    await next.overrides.look();
    expect(next.kindNow()).toBeUndefined();
  });
});

describe("overrides on disk", () => {
  it("are over after a restart once their time is up, and say so", async () => {
    const { state } = keptPlaces();
    await standing(state).overrides.order(HOLD, ANN);
    const next = standing(state);
    next.at.wallMs += HOUR_MS;
    await next.overrides.restore();
    expect(next.kindNow()).toBeUndefined();
    expect(next.overrides.list()).toMatchObject([{ ended: { how: "expired" } }]);
  });

  it("are taken as far as they can be read: one that cannot costs no other", async () => {
    const { state } = keptPlaces();
    const first = standing(state);
    await first.overrides.order(HOLD, ANN);
    const kept: Override = first.overrides.list()[0]!;
    const text = `{"schema":"x","overrides":[\n{"id":"broken"},\n${JSON.stringify(kept)}\n]}\n`;
    writeFileSync(join(state, "overrides.json"), text);
    const next = standing(state);
    await next.overrides.restore();
    expect(next.kindNow()).toBe("hold");
  });

  it("change nothing where the disk refuses, and a person is told", async () => {
    const refusing = {
      load: async () => Promise.resolve({ overrides: [] }),
      save: async () => Promise.reject(new Error("disk full")),
    };
    const { changes, events, kindNow, overrides } = standing(undefined, refusing);
    await expect(overrides.order(HOLD, ANN)).rejects.toThrow("disk full");
    expect([kindNow(), changes(), events]).toEqual([undefined, 0, []]);
    expect(overrides.problem).toContain("disk full");
  });
});

it("the trail has a row of the service when an override begins, is replaced and is released", async () => {
  const { events, overrides } = standing();
  await overrides.order(HOLD, ANN);
  await overrides.order({ ...HOLD, kind: "pause" }, { by: "bob" });
  await overrides.release({ name: "cart" }, { by: "eve" });
  expect(events.map((each) => each.kind === "override" && [each.action, each.state, each.by])).toEqual([
    ["hold", "begun", "ann"],
    ["hold", "replaced", "bob"],
    ["pause", "begun", "bob"],
    ["pause", "released", "eve"],
  ]);
  expect(events[0]).toMatchObject({ ...CART, note: "bad deploy", replicas: 4 });
});

it("an order that comes twice under one id counts once, and another one under it is refused", async () => {
  const { events, overrides } = standing();
  const orderer = { ...ANN, id: "0123456789" };
  const first = await overrides.order(HOLD, orderer);
  expect(await overrides.order(HOLD, orderer)).toBe(first);
  await expect(overrides.order({ ...HOLD, kind: "pause" }, orderer)).rejects.toThrow("another order");
  expect(events).toHaveLength(1);
});

describe("an annotation", () => {
  const place = { namespace: "shop", application: "hotel" };
  const text = (changes: object = {}): string =>
    JSON.stringify({
      kind: "hold",
      service: "cart",
      until: new Date(NOW + HOUR_MS).toISOString(),
      reason: "bad deploy",
      ...changes,
    });
  const now = { nowMs: NOW, monotonicMs: 1_000 };

  it("orders once, whoever writes it again, also after it was released", async () => {
    const { kindNow, overrides } = standing();
    const annotated = new AnnotatedOverrides(overrides, log);
    await annotated.take(place, text(), now);
    await annotated.take(place, undefined, now);
    expect(kindNow()).toBe("hold");
    await overrides.release({ name: "cart" }, ANN);
    await annotated.take(place, text(), now);
    await new AnnotatedOverrides(overrides, log).take(place, text(), now);
    expect(kindNow()).toBeUndefined();
    const later = { ...now, monotonicMs: 4_000 };
    await annotated.take(place, text({ reason: "again" }), { ...now, monotonicMs: 3_999 });
    expect(kindNow()).toBeUndefined();
    await annotated.take(place, text({ reason: "again" }), later);
    expect(kindNow()).toBe("hold");
  });

  it("of the whole application, and of a list, is taken; by its writer, marked as such", async () => {
    const { overrides } = standing();
    const list = `[${text({ service: undefined, kind: "pause", by: "ann" })},${text()}]`;
    await new AnnotatedOverrides(overrides, log).take(place, list, now);
    expect(overrides.list().map(({ by, kind, target }) => [kind, target.service, by])).toEqual([
      ["pause", undefined, "ann (annotation)"],
      ["hold", "cart", "annotation"],
    ]);
  });

  it("of a workload is of its service alone, and counts once beside the same one of the Application", async () => {
    const { overrides } = standing();
    const annotated = new AnnotatedOverrides(overrides, log);
    const ofCart = { ...place, service: "cart" };
    await annotated.take(ofCart, text({ service: undefined }), now);
    await annotated.take(place, text(), now);
    expect(overrides.list().map(({ target }) => target.service)).toEqual(["cart"]);
    await new AnnotatedOverrides(overrides, log).take(ofCart, text({ service: "pay" }), now);
    expect(overrides.list()).toHaveLength(1);
  });

  it.each([
    ["is not JSON", "hold cart"],
    ["has no end", text({ until: undefined })],
    ["has an end in the past", text({ until: new Date(NOW - 1).toISOString() })],
    ["has an end after two days", text({ until: new Date(NOW + 48 * HOUR_MS).toISOString() })],
    ["names a service of another application", text({ service: "pay" })],
    ["names an application", text({ application: "bank" })],
  ])("that %s orders nothing", async (_what, value) => {
    const { overrides } = standing();
    await new AnnotatedOverrides(overrides, log).take(place, value, now);
    expect(overrides.list()).toEqual([]);
  });
});
