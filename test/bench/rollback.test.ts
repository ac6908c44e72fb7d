import { expect, it } from "vitest";
import { measure } from "../../bench/rollback/main.ts";

it(
  "rolls simulated harmful changes back, and no load step, deploy, noisy neighbour or harmless change",
  { timeout: 180_000 },
  async () => {
    const { fires, medianWindowsToFire, recovered } = await measure(4, 3);
    expect(fires).toEqual({ harmful: 1, loadStep: 0, deploy: 0, interference: 0, nothing: 0 });
    expect(medianWindowsToFire).toBeLessThanOrEqual(3);
    expect(recovered).toBeGreaterThanOrEqual(0.75);
  },
);
