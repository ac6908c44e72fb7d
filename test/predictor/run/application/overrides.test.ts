import { expect, it } from "vitest";
import type { Override } from "@tradewind/core/contract/override.ts";
import { KnownOverrides } from "@tradewind/predictor/run/application/overrides.ts";

const override = (id: string, changes: Partial<Override> = {}): Override => ({
  id,
  kind: "hold",
  target: {},
  kept: [],
  startedAtMs: 1_000,
  untilMs: 2_000,
  by: "ann",
  reason: "bad deploy",
  ...changes,
});

it("a scaler hears what another one said, and what is over stays over", () => {
  const known = new KnownOverrides();
  const [one, other] = [override("0000000001"), override("0000000002", { startedAtMs: 1_500 })];
  expect(known.exchange({ overrides: [one], services: [] }, 0)).toEqual([one]);
  expect(known.exchange({ overrides: [other], services: [] }, 1)).toEqual([other, one]);
  const over = { ...one, ended: { how: "released" as const, atMs: 1_800 } };
  known.exchange({ overrides: [over], services: [] }, 2);
  expect(known.exchange({ overrides: [one, other], services: [] }, 3)).toEqual([other, over]);
});

it("what counts for services is what was said last, and nothing once no scaler says anything", () => {
  const known = new KnownOverrides();
  expect(known.fixed(0)).toEqual([]);
  known.exchange({ overrides: [], services: [{ service: "cart", kind: "pause" }] }, 1_000);
  expect(known.fixed(31_000)).toEqual([{ service: "cart", kind: "pause" }]);
  expect(known.fixed(31_001)).toEqual([]);
});

it("forgets those that ended long before the newest", () => {
  const known = new KnownOverrides();
  known.exchange({ overrides: [override("0000000001")], services: [] }, 0);
  const newest = override("0000000002", { startedAtMs: 172_802_000, untilMs: 172_802_001 });
  expect(known.exchange({ overrides: [newest], services: [] }, 1)).toEqual([newest]);
});
