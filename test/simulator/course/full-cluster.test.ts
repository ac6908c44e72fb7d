import { CONTENDERS } from "@tradewind/simulator/contenders/contenders.ts";
import { run } from "@tradewind/simulator/contenders/run.ts";
import { FULL_CLUSTER, FULL_FOR_LONG } from "@tradewind/simulator/course/obstacles/full-cluster.ts";
import { obstacleOf } from "@tradewind/simulator/course/plant.ts";
import { expect, it } from "vitest";

const OURS = CONTENDERS.find(({ name }) => name === "tradewind-auto")!;

/*
 * With either seed more than half of the requests were over the objective: pods of other services took the room on the node on which
 * the container that held up all requests was to grow.
 */
it.each([47002, 47009])(
  "full-cluster: no pod takes the room that a container is to grow into (seed %i)",
  async (seed) => {
    const { requestsOver } = await run({
      obstacle: obstacleOf(FULL_CLUSTER),
      contender: OURS,
      actuators: "replicas+cpu+memory",
      seed,
    });
    expect(requestsOver).toBeLessThan(0.25);
  },
  120_000,
);

/* 87 % of the requests were over the objective: two services kept three pods that they did not need as long as the surge lasted. */
it("full-for-long: pods of services that do not need them make room for those that wait (seed 71002)", async () => {
  const { requestsOver } = await run({
    obstacle: obstacleOf(FULL_FOR_LONG),
    contender: OURS,
    actuators: "replicas",
    seed: 71_002,
  });
  expect(requestsOver).toBeLessThan(0.45);
}, 120_000);
