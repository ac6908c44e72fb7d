import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { judgeTeacher } from "@tradewind/simulator/teacher/judge.ts";
import { episodePlant, judgedPlant } from "@tradewind/simulator/teacher/plants.ts";
import { OUR_TERMS } from "@tradewind/simulator/teacher/reward.ts";
import { readTeacher, writeTeacher } from "@tradewind/simulator/command/teacher-file.ts";
import type { Checkpoint } from "@tradewind/simulator/teacher/td3/checkpoint.ts";
import { startEngine } from "@tradewind/simulator/teacher/td3/engine.ts";
import type { Tensors } from "@tradewind/simulator/teacher/td3/engine.ts";
import type { Obstacle } from "@tradewind/simulator/contenders/run.ts";
import { policyOf, trainTeacher } from "@tradewind/simulator/teacher/train-teacher.ts";
import type { TeachingOptions } from "@tradewind/simulator/teacher/train-teacher.ts";

let tensors: Tensors;
beforeAll(async () => {
  ({ tensors } = await startEngine("wasm"));
});

const short = (obstacle: Obstacle): Obstacle => ({ ...obstacle, plant: { ...obstacle.plant, seconds: 150 } });

const OPTIONS: TeachingOptions = {
  seed: 7,
  shape: { kind: "shared", layers: [8, 8] },
  plannerEpisodes: 2,
  episodes: 4,
  batch: 8,
  buffer: 20,
  updates: 4,
  tiedEpisodes: 2,
  actuators: "replicas",
  terms: OUR_TERMS,
  plantOf: (seed) => short(episodePlant(seed, "shared")),
  onEpisode: async () => true,
};

function scratchFile(): string {
  const directory = mkdtempSync(join(tmpdir(), "tradewind-teacher-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return join(directory, "teacher.txt");
}

describe("the training of a teacher", () => {
  it("comes to the same teacher, number by number, when it is interrupted and goes on from its file", async () => {
    const whole = await trainTeacher(tensors, OPTIONS);
    const path = scratchFile();
    let episodes = 0;
    const onEpisode = async (checkpoint: Checkpoint): Promise<boolean> => {
      await writeTeacher(path, checkpoint);
      episodes += 1;
      return episodes < 3;
    };
    await trainTeacher(tensors, { ...OPTIONS, onEpisode });
    const resumed = await trainTeacher(tensors, OPTIONS, await readTeacher(path));
    expect(episodes).toBe(3);
    expect(resumed.rewards).toEqual(whole.rewards);
    expect(resumed.td3).toEqual(whole.td3);
    expect(whole.rewards).toHaveLength(4);
    expect(whole.transitions.length).toBe(20);
    expect(whole.rewards.every((each) => each <= 1 && Number.isFinite(each))).toBe(true);
  });

  it("refuses a file that was cut off, and knows of none where there is no file", async () => {
    const path = scratchFile();
    expect(await readTeacher(path)).toBeUndefined();
    const { td3, ...rest } = await trainTeacher(tensors, { ...OPTIONS, episodes: 1 });
    await writeTeacher(path, { ...rest, td3 });
    const { readFileSync } = await import("node:fs");
    const text = readFileSync(path, "utf8");
    writeFileSync(path, text.slice(0, -40));
    await expect(readTeacher(path)).rejects.toThrow(/not whole/);
    writeFileSync(path, "{}\n");
    await expect(readTeacher(path)).rejects.toThrow(/teacher\.txt/);
  });
});

describe("the judging of a teacher", () => {
  it("does not accept one that adds to everything in every window", async () => {
    const verdict = await judgeTeacher({
      seeds: [5_000_000, 5_000_001],
      plantOf: (seed) => short(judgedPlant(seed, "shared")),
      actuators: "replicas",
      terms: OUR_TERMS,
      act: ({ services }) => new Float32Array(3 * services.length).fill(1),
      onProgress: () => undefined,
    });
    expect(verdict.heldOut.plants).toBe(2);
    expect(verdict.reward).toBeLessThan(verdict.plannerReward);
    expect(verdict.accepted).toBe(false);
  });

  it("gives the policy of a checkpoint three actions for each deployment", async () => {
    const trained = await trainTeacher(tensors, { ...OPTIONS, episodes: 1 });
    const { state } = trained.transitions[0]!;
    expect(policyOf(trained)(state)).toHaveLength(3 * state.services.length);
  });
});
