import type { WindowSet } from "@tradewind/core/contract/window.ts";
import { seededRng } from "@tradewind/core/values/rng.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import { randomScenario } from "../../pick/application.ts";
import type { Scenario } from "../../pick/application.ts";
import type { TrueState } from "../../pick/truth.ts";
import { simulatedWindow, sweptStates } from "../../pick/windows.ts";
import type { FlowData, Point } from "../data.ts";

/** Seeds of the report; whatever was tuned was tuned on others. */
const FIRST_SEED = 200_000;
const WINDOWS_PER_SETTING = 12;

const underLoad = (state: TrueState, share: number): TrueState => ({
  ...state,
  requestsPerSecond: state.requestsPerSecond * share,
});

/** Settings held for a while each, under a load that changes from window to window. */
function sweepBySettings(scenario: Scenario, settings: number, rng: Rng): Point[] {
  return Array.from({ length: settings }, (_, at) => {
    const states = sweptStates(scenario, rng);
    return Array.from({ length: WINDOWS_PER_SETTING }, (_, i): Point => {
      const share = 0.4 + 0.8 * rng();
      const now = states.map((state) => underLoad(state, share));
      const set: WindowSet = simulatedWindow(scenario, now, (at * WINDOWS_PER_SETTING + i) * 15_000, rng);
      return { set, setting: `setting ${at}` };
    });
  }).flat();
}

/** A simulated application with known truth, see bench/pick/truth.ts. */
export function simulatedData(seed: number, quick: boolean): FlowData {
  const first = FIRST_SEED + 1_000 * seed;
  const scenario = randomScenario("simulated", quick ? 4 : 8, 100, seededRng(first));
  return {
    name: "simulated",
    notes:
      "simulated application of known truth; settings of all services drawn at random and held for 12 windows, saturation included",
    services: scenario.truth.services.map(({ name }) => name),
    points: sweepBySettings(scenario, quick ? 24 : 100, seededRng(first + 1)),
  };
}
