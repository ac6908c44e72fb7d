import { readTeacher } from "@tradewind/simulator/command/teacher-file.ts";
import { episodePlant } from "@tradewind/simulator/teacher/plants.ts";
import { OUR_TERMS } from "@tradewind/simulator/teacher/reward.ts";
import type { Checkpoint } from "@tradewind/simulator/teacher/td3/checkpoint.ts";
import { startEngine } from "@tradewind/simulator/teacher/td3/engine.ts";
import { trainTeacher } from "@tradewind/simulator/teacher/train-teacher.ts";
import type { BenchmarkOptions } from "../benchmark.ts";

/** A teacher's file, or one that is trained here for so short a time that it is not expected to be accepted. */
export async function teacherOf(
  file: string | undefined,
  { progress, quick, seed }: Pick<BenchmarkOptions, "progress" | "quick" | "seed">,
): Promise<Checkpoint> {
  if (file !== undefined) {
    const read = await readTeacher(file);
    if (read === undefined) throw new Error(`there is no teacher in ${file}`);
    return read;
  }
  const { tensors } = await startEngine("auto");
  return trainTeacher(tensors, {
    seed,
    shape: { kind: "shared", layers: [32, 32] },
    plannerEpisodes: quick ? 1 : 8,
    episodes: quick ? 2 : 12,
    batch: 32,
    buffer: 10_000,
    updates: 24,
    tiedEpisodes: 8,
    actuators: "replicas",
    terms: OUR_TERMS,
    plantOf: (plantSeed) => episodePlant(plantSeed, "shared"),
    onEpisode: async ({ rewards }) => {
      progress(`teacher: episode ${rewards.length}, reward ${rewards.at(-1)?.toFixed(3)}`);
      return true;
    },
  });
}
