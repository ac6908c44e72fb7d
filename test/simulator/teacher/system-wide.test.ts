import { actSystemWide } from "@tradewind/simulator/teacher/system-wide.ts";
import { describe, expect, it } from "vitest";

/** Two deployments of 2 and 5 replicas, and a notifier that answers in turn. */
async function passes(answers: readonly boolean[], isTraining: boolean): Promise<string[]> {
  const log: string[] = [];
  const left = [...answers];
  await actSystemWide(
    {
      central: async () => {
        log.push("central scales cart +1, search 0");
        return Promise.resolve(
          new Map([
            ["cart", 1],
            ["search", 0],
          ]),
        );
      },
      train: (deployment, action) => log.push(`${deployment} learns ${action}`),
      distributed: async () => {
        log.push("cart and search scale themselves");
        return Promise.resolve();
      },
      notifier: () => {
        const answer = left.shift() ?? false;
        log.push(`notifier ${answer}`);
        return answer;
      },
      isOver: () => left.length === 0,
    },
    isTraining,
  );
  return log;
}

const STAGE_ONE = ["central scales cart +1, search 0", "cart learns 1", "search learns 0"];
const STAGE_TWO = ["cart and search scale themselves"];

describe("DRPC, Alg. 1", () => {
  it("trains each deployment on its own part of the central actions, then lets all act until the notifier fires", async () => {
    expect(await passes([false, false, true, false], true)).toEqual([
      ...STAGE_ONE,
      "notifier false",
      ...STAGE_TWO,
      "notifier false",
      ...STAGE_TWO,
      "notifier true",
      ...STAGE_ONE,
      "notifier false",
    ]);
  });

  it("begins with the deployments where the system needs no training", async () => {
    expect(await passes([true, true], false)).toEqual([
      ...STAGE_TWO,
      "notifier true",
      ...STAGE_ONE,
      "notifier true",
    ]);
  });
});
