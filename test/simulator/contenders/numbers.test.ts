import { PREDICTIVE_HPA } from "@tradewind/simulator/contenders/holt-winters.ts";
import { run } from "@tradewind/simulator/contenders/run.ts";
import { METRIC_OUTAGE } from "@tradewind/simulator/course/obstacles/metric-outage.ts";
import { SCALE_TO_ZERO } from "@tradewind/simulator/course/obstacles/scale-to-zero.ts";
import { obstacleOf } from "@tradewind/simulator/course/plant.ts";
import type { ObstacleModel } from "@tradewind/simulator/course/obstacle.ts";
import { expect, it } from "vitest";

const requestsOver = async (model: ObstacleModel, seed: number): Promise<number> => {
  const obstacle = obstacleOf(model);
  const parameters = { targetPercent: 50, horizonSeconds: 60, seasonWindows: 20 };
  return (await run({ obstacle, contender: PREDICTIVE_HPA, parameters, actuators: "replicas", seed }))
    .requestsOver;
};

it("a predictive HPA leaves its pods as they are while it is not measured (stale-number)", async () => {
  const outage = { ...METRIC_OUTAGE, model: { ...METRIC_OUTAGE.model, seconds: 930 } };
  expect(await requestsOver(outage, 10000)).toBeLessThan(0.1);
});

it("a rival without an ingress that would wake it keeps its last pod (asleep-for-good)", async () => {
  expect(await requestsOver(SCALE_TO_ZERO, 10001)).toBeLessThan(0.1);
});
