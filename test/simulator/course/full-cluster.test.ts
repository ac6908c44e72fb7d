import { CONTENDERS } from "@tradewind/simulator/contenders/contenders.ts";
import { run } from "@tradewind/simulator/contenders/run.ts";
import { FULL_CLUSTER } from "@tradewind/simulator/course/obstacles/full-cluster.ts";
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
