import { Option } from "commander";
import type { Command } from "commander";
import { parseWith } from "@tradewind/core/values/config.ts";
import { createProgress } from "@tradewind/local/screen/progress.ts";
import type { Progress } from "@tradewind/local/screen/progress.ts";
import { ACTUATORS } from "../contenders/contender.ts";
import { shop } from "../applications/course-shop.ts";
import { judgeTeacher } from "../teacher/judge.ts";
import type { Verdict } from "../teacher/judge.ts";
import { episodePlant, judgedPlant } from "../teacher/plants.ts";
import { AS_PRINTED, OUR_TERMS } from "../teacher/reward.ts";
import { countdown } from "./countdown.ts";
import { readTeacher, writeTeacher } from "./teacher-file.ts";
import type { Checkpoint } from "../teacher/td3/checkpoint.ts";
import { ENGINE_CHOICES, startEngine } from "../teacher/td3/engine.ts";
import type { Shape } from "../teacher/td3/networks.ts";
import { policyOf, settingsOf, trainTeacher } from "../teacher/train-teacher.ts";
import type { TeachingOptions } from "../teacher/train-teacher.ts";
import { sparkline } from "./sparkline.ts";
import { addTrainingFlags, TrainingFlags, wholeNumber } from "./training-flags.ts";
import { z } from "zod";

const EXAMPLES = `
Examples:
  tradewind train-teacher --state teacher.txt --minutes 30
      Trains for half an hour; the same command goes on where it ended.
  tradewind train-teacher --episodes 6 --planner-episodes 4 --layers 32,32 --batch 32 --updates 20 --held-out 2 --json
      A short run that shows it works.
  tradewind train-teacher --shape flat --reward printed --ties 0 --planner-episodes 0
      As the paper prints it: one network for all deployments, its reward, no help of the planner.`;

/** Hidden layers as `400,300`. */
const Layers = z
  .string()
  .regex(/^[1-9]\d{0,3}(,[1-9]\d{0,3}){0,7}$/, "--layers takes up to eight numbers of units such as 400,300")
  .transform((text) => text.split(",").map(Number));

const MOST_EPISODES = 1_000_000;

/** What `tradewind train-teacher` can be told. */
export const TeacherFlags = TrainingFlags.extend({
  episodes: wholeNumber("--episodes", 1, MOST_EPISODES),
  plannerEpisodes: wholeNumber("--planner-episodes", 0, MOST_EPISODES),
  ties: wholeNumber("--ties", 0, MOST_EPISODES),
  layers: Layers,
  batch: wholeNumber("--batch", 1, 65_536),
  buffer: wholeNumber("--buffer", 1, 1_000_000),
  updates: wholeNumber("--updates", 0, 100_000),
  shape: z.enum(["shared", "flat"]),
  reward: z.enum(["printed", "ours"]),
  actuators: z.enum(ACTUATORS),
  engine: z.enum(ENGINE_CHOICES),
  heldOut: wholeNumber("--held-out", 0, 10_000),
  minutes: wholeNumber("--minutes", 1, 1_000_000).optional(),
  state: z.string().min(1).optional(),
}).refine(({ batch, buffer }) => batch <= buffer, "--buffer must hold a --batch");
type Flags = z.output<typeof TeacherFlags>;

/** Seeds of the plants that a teacher is judged by. */
const JUDGED_FROM = 5_000_000;

/** Adds what `tradewind train-teacher` takes and does. */
export function configure(command: Command): void {
  const described = command.description(
    "Train a teacher (TD3) in the simulator, and judge it against the planner on plants that it never saw.",
  );
  addTrainingFlags(described, "teachers on one engine", "rewards and verdict")
    .option("--episodes <n>", "all episodes of 96 windows of 15 s", "300")
    .option(
      "--planner-episodes <n>",
      "of these, the first that the planner drives; the actor begins as its clone",
      "50",
    )
    .option("--ties <n>", "episodes over which the actor's ties to the planner loosen; 0: none", "300")
    .option("--layers <units>", "hidden layers of actor and critics", "400,300")
    .option("--batch <n>", "transitions of an update", "256")
    .option("--buffer <n>", "transitions kept", "50000")
    .option("--updates <n>", "updates after each episode", "96")
    .addOption(
      new Option(
        "--shape <kind>",
        "one policy shared by all deployments, or one for all at once, of a fixed application",
      )
        .choices(["shared", "flat"])
        .default("shared"),
    )
    .addOption(
      new Option("--reward <kind>", "as the paper prints it, or with prices of changes and cost")
        .choices(["printed", "ours"])
        .default("ours"),
    )
    .addOption(
      new Option("--actuators <kind>", "what may change").choices([...ACTUATORS]).default("replicas"),
    )
    .addOption(
      new Option("--engine <name>", "what TensorFlow.js computes with; auto: the fastest that loads")
        .choices([...ENGINE_CHOICES])
        .default("auto"),
    )
    .option("--held-out <n>", "plants to judge by; 0: none", "50")
    .option("--minutes <n>", "stop after the episode in which so much time has passed")
    .option("--state <file>", "keep the training here after each episode, and go on from it")
    .addHelpText("after", EXAMPLES)
    .action(async (flags: unknown) => train(parseWith(TeacherFlags, flags, "the command line")));
}

async function train(flags: Flags): Promise<void> {
  const progress = createProgress(process.stderr, process.env);
  const shape = shapeOf(flags);
  const { engine, problem, tensors } = await startEngine(flags.engine);
  progress.say(`engine ${engine}${problem === undefined ? "" : ` (${problem.split("\n")[0]})`}`);
  const kept = flags.state === undefined ? undefined : await readTeacher(flags.state);
  const show = countdown(progress, kept?.rewards.length ?? 0, flags.episodes, "episodes");
  const options = optionsOf(flags, shape, show);
  if (kept !== undefined) refuseOther(kept, options, flags.state);
  const trained = await trainTeacher(tensors, options, kept);
  const verdict = await judge(trained, flags, progress);
  const { rewards } = trained;
  const done = { simulated: true, engine, episodes: rewards.length, rewards, teacher: verdict ?? null };
  process.stdout.write(`${flags.json ? JSON.stringify(done) : inWords(rewards, verdict)}\n`);
}

function shapeOf({ layers, shape }: Flags): Shape {
  return shape === "flat"
    ? { kind: "flat", layers, services: shop().services.length }
    : { kind: "shared", layers };
}

function optionsOf(flags: Flags, shape: Shape, show: ReturnType<typeof countdown>): TeachingOptions {
  const beganMs = performance.now();
  const { batch, buffer, episodes, minutes = Infinity, plannerEpisodes, seed, state, updates } = flags;
  return {
    seed,
    shape,
    plannerEpisodes,
    episodes,
    batch,
    buffer,
    updates,
    tiedEpisodes: flags.ties,
    actuators: flags.actuators,
    terms: flags.reward === "ours" ? OUR_TERMS : AS_PRINTED,
    plantOf: (plantSeed) => episodePlant(plantSeed, shape.kind),
    onEpisode: async (checkpoint) => {
      const { rewards } = checkpoint;
      show(rewards.length, `reward ${rewards.at(-1)?.toFixed(3)} ${sparkline(rewards, 40)}`);
      if (state !== undefined) await writeTeacher(state, checkpoint);
      return (performance.now() - beganMs) / 1e3 < 60 * minutes;
    },
  };
}

/** @throws Error when the file is of a training with other settings */
function refuseOther({ settings, shape }: Checkpoint, options: TeachingOptions, path = ""): void {
  const [had, wanted] = [
    { ...settings, ...shape },
    { ...settingsOf(options), ...options.shape },
  ].map((each) => Object.entries(each).map(([name, value]) => `${name} ${String(value)}`));
  const other = wanted?.find((each) => had?.includes(each) !== true);
  if (other === undefined) return;
  throw new Error(
    `${path} is of another training: here ${other}; name another --state, or the settings of that one`,
  );
}

async function judge(trained: Checkpoint, flags: Flags, progress: Progress): Promise<Verdict | undefined> {
  const plants = flags.heldOut;
  if (plants === 0) return undefined;
  return judgeTeacher({
    seeds: Array.from({ length: plants }, (_, i) => JUDGED_FROM + i),
    plantOf: (seed) => judgedPlant(seed, trained.shape.kind),
    actuators: flags.actuators,
    terms: flags.reward === "ours" ? OUR_TERMS : AS_PRINTED,
    act: policyOf(trained),
    onProgress: (done) => progress.show(`judged on ${done} of ${plants} plants`),
  });
}

function inWords(rewards: readonly number[], verdict: Verdict | undefined): string {
  const lines = [
    `reward by episode (simulated): ${sparkline(rewards, 60)} last ${rewards.at(-1)?.toFixed(3)}`,
  ];
  if (verdict === undefined) return lines.join("\n");
  const { accepted, heldOut, plannerReward, reward } = verdict;
  const { overDifference: over, plants, rewardDifference: difference } = heldOut;
  lines.push(
    `on ${plants} plants it never saw: reward ${reward.toFixed(3)}, planner ${plannerReward.toFixed(3)}; difference ${difference.low.toFixed(3)} to ${difference.high.toFixed(3)}`,
    `requests over fewer by ${(100 * over.low).toFixed(2)} to ${(100 * over.high).toFixed(2)} points`,
    accepted ? "accepted: not worse than the planner" : "not accepted: students imitate the planner",
  );
  return lines.join("\n");
}
