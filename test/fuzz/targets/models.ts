import { networkMemory, networkState } from "@tradewind/predictor/models/network/network-memory.ts";
import { shippedNetwork } from "@tradewind/predictor/models/network/shipped.ts";
import { predictOwnTime } from "@tradewind/predictor/models/queue/tracked-profile.ts";
import type { OwnTime } from "@tradewind/predictor/models/queue/tracked-profile.ts";
import { MixedShape } from "@tradewind/predictor/models/level/mixed-shape.ts";
import { stateAfter } from "../../predictor/models/network/windows.ts";
import { attempt, expect, never } from "../engine/oracle.ts";
import type { Target } from "../engine/target.ts";
import { textTarget } from "./kinds.ts";

const NETWORK = shippedNetwork();
const KNOWN = stateAfter(NETWORK, 20, 3);
const HERE = { cpuCores: 1, loadPerContainer: 30 };

/** Sizes and loads as they come, and as they never should. */
const PLACES = [
  { cpuCores: 1, loadPerContainer: 65 },
  { cpuCores: undefined, loadPerContainer: 0 },
  { cpuCores: 1e-6, loadPerContainer: 1e9 },
] as const;

/** A state that was kept, with another text in the place of its numbers. */
function useState(text: string): void {
  const memory = { of: "a", windows: 20, state: text };
  const state = attempt(() => networkState(memory, "a", KNOWN.profile), never);
  if (state === undefined) return;
  const out: OwnTime = { meanSeconds: 0, tailSeconds: 0, sigma: 0, tailByCores: 0, tailByLoad: 0 };
  const network = { network: NETWORK, state };
  const served = attempt(
    () => new MixedShape(KNOWN.profile, 0.95, { network, level: undefined, here: HERE }),
    never,
  );
  for (const place of PLACES) {
    predictOwnTime(KNOWN.profile, place, 0.95, out);
    attempt(() => served?.apply(place, out, false), never);
    expect(out.tailSeconds >= 0, "seconds", () => `a tail of ${out.tailSeconds} s`);
  }
}

export const MODEL_TARGETS: readonly Target[] = [
  textTarget("models/network-state", [networkMemory("a", 20, KNOWN).state], useState, {
    words: ["AADAfw==", "AACAfw=="],
  }),
];
