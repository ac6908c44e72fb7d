import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Option } from "commander";
import type { Command } from "commander";
import { replaceState } from "@tradewind/core/process/state-file.ts";
import { parseWith } from "@tradewind/core/values/config.ts";
import { createProgress } from "@tradewind/local/screen/progress.ts";
import type { Progress } from "@tradewind/local/screen/progress.ts";
import { packed } from "@tradewind/predictor/models/packed.ts";
import type { ShippedNetwork } from "@tradewind/predictor/models/network/shipped-form.ts";
import { z } from "zod";
import { ENGINE_CHOICES, startEngine } from "../teacher/td3/engine.ts";
import type { Tensors } from "../teacher/td3/engine.ts";
import { drawLesson, LESSON } from "../training/lesson.ts";
import { PRIOR_TEXT } from "../training/prior.ts";
import { judgeProfile, newTraining, trainStep } from "../training/train-profile.ts";
import type { ProfileTraining } from "../training/train-profile.ts";
import { hashOf, trainingOf, trainingText } from "../training/training-file.ts";
import type { TrainingSettings } from "../training/training-file.ts";
import { countdown } from "./countdown.ts";
import { readIfThere } from "./read-if-there.ts";
import { addTrainingFlags, TrainingFlags, wholeNumber } from "./training-flags.ts";

const EXAMPLES = `
Examples:
  tradewind lab train-profile --state training --out predictor/models/network/shipped-network.ts
      The network that a release ships with; some seven minutes of one core. The same command goes on where it ended.
  tradewind lab train-profile --services 40 --steps 30 --held-out 5 --json
      A short run that shows it works.`;

/** What `tradewind lab train-profile` can be told. */
export const ProfileFlags = TrainingFlags.extend({
  seed: wholeNumber("--seed", 0, 800),
  services: wholeNumber("--services", 1, 1_000_000),
  steps: wholeNumber("--steps", 1, 1_000_000),
  batch: wholeNumber("--batch", 1, 1_024),
  heldOut: wholeNumber("--held-out", 1, 10_000),
  engine: z.enum(ENGINE_CHOICES),
  state: z.string().min(1).optional(),
  out: z.string().min(1).optional(),
});
type Flags = z.output<typeof ProfileFlags>;

/** Services of one training have numbers from its seed times this on; those that judge have numbers of their own. */
const SEED_WIDTH = 1_000_000;
const JUDGED_FROM = 900_000_000;
/** Steps, and services, after which what was reached is kept. */
const KEPT_STEPS = 100;
const KEPT_SERVICES = 250;
const LESSON_BYTES = 4 * LESSON;

/** Adds what `tradewind lab train-profile` takes and does. */
export function configure(command: Command): void {
  const described = command.description(
    "Train the latency network of all services on simulated ones, and judge it on others that it never saw.",
  );
  addTrainingFlags(described, "weights on one engine", "the weights' table")
    .option("--services <n>", "simulated services to train on", "1800")
    .option("--steps <n>", "steps of the training", "2200")
    .option("--batch <n>", "services of a step", "32")
    .option("--held-out <n>", "services to judge by", "100")
    .addOption(
      new Option("--engine <name>", "what TensorFlow.js computes with; auto: the fastest that loads")
        .choices([...ENGINE_CHOICES])
        .default("auto"),
    )
    .option("--state <directory>", "keep services and training here, and go on from them")
    .option("--out <file>", "write the weights as a module of TypeScript")
    .addHelpText("after", EXAMPLES)
    .action(async (flags: unknown) => train(parseWith(ProfileFlags, flags, "the command line")));
}

async function train(flags: Flags): Promise<void> {
  const progress = createProgress(process.stderr, process.env);
  const { engine, problem, tensors } = await startEngine(flags.engine);
  progress.say(`engine ${engine}${problem === undefined ? "" : ` (${problem.split("\n")[0]})`}`);
  if (flags.state !== undefined) await mkdir(flags.state, { recursive: true });
  const lessons = await lessonsOf(flags, progress);
  const training = await trained(tensors, flags, lessons, progress);
  const heldOut = Array.from({ length: flags.heldOut }, (_, i) => drawLesson(JUDGED_FROM + i));
  const judged = judgeProfile(tensors, training.averaged, heldOut);
  const { batch, seed, services, steps } = flags;
  const about: ShippedNetwork["about"] = {
    seed,
    services,
    steps,
    batch,
    prior: PRIOR_TEXT,
    hash: hashOf(training.averaged),
    heldOut: judged,
  };
  if (flags.out !== undefined)
    await writeFile(flags.out, moduleOf({ about, weights: packed(Float64Array.from(training.averaged)) }));
  process.stdout.write(
    `${flags.json ? JSON.stringify({ simulated: true, engine, ...about }) : inWords(about)}\n`,
  );
}

/** The services of this seed; those that were drawn before are read. */
async function lessonsOf({ seed, services, state }: Flags, progress: Progress): Promise<Float32Array[]> {
  const path = state === undefined ? undefined : join(state, `services-${seed}.f32`);
  const lessons = path === undefined ? [] : lessonsIn(await readIfThere(path)).slice(0, services);
  if (lessons.length === services) return lessons;
  // An interrupted training may have left a part of a lesson at the end.
  if (path !== undefined) await writeFile(path, bytesOf(lessons));
  const show = countdown(progress, lessons.length, services, "services");
  while (lessons.length < services) {
    const from = lessons.length;
    for (let i = from; i < Math.min(services, from + KEPT_SERVICES); i += 1) {
      lessons.push(drawLesson(seed * SEED_WIDTH + i));
      show(lessons.length);
    }
    if (path !== undefined) await writeFile(path, bytesOf(lessons.slice(from)), { flag: "a" });
  }
  return lessons;
}

/** Whole lessons of a file. */
function lessonsIn(bytes: Buffer = Buffer.alloc(0)): Float32Array[] {
  return Array.from({ length: Math.floor(bytes.length / LESSON_BYTES) }, (_, i) => {
    const lesson = new Float32Array(LESSON);
    Buffer.from(lesson.buffer).set(bytes.subarray(i * LESSON_BYTES, (i + 1) * LESSON_BYTES));
    return lesson;
  });
}

const bytesOf = (lessons: readonly Float32Array[]): Buffer =>
  Buffer.concat(lessons.map(({ buffer }) => Buffer.from(buffer)));

async function trained(
  tensors: Tensors,
  { batch, seed, services, state, steps }: Flags,
  lessons: readonly Float32Array[],
  progress: Progress,
): Promise<ProfileTraining> {
  const settings: TrainingSettings = { seed, services, batch, steps };
  const path = state === undefined ? undefined : join(state, "training.txt");
  const kept = path === undefined ? undefined : await readTraining(path, settings);
  const training = kept ?? newTraining(seed);
  const show = countdown(progress, training.steps, steps, "steps");
  while (training.steps < steps) {
    const loss = trainStep(tensors, training, lessons, settings);
    show(training.steps, `loss ${loss.toFixed(3)}`);
    const isKept = training.steps % KEPT_STEPS === 0 || training.steps === steps;
    if (path !== undefined && isKept) await replaceState(path, trainingText(settings, training));
  }
  return training;
}

async function readTraining(path: string, settings: TrainingSettings): Promise<ProfileTraining | undefined> {
  const bytes = await readIfThere(path);
  return bytes && trainingOf(bytes.toString("utf8"), path, settings);
}

function inWords({ hash, heldOut, services, steps }: ShippedNetwork["about"]): string {
  const { coverage, knee, places, ratios } = heldOut;
  const line = (what: string, { both, curve, network }: typeof places): string =>
    `${what}: network ${network.toFixed(3)}, curve ${curve.toFixed(3)}, geometric mean of both ${both.toFixed(3)}`;
  return [
    `${steps} steps on ${services} services (simulated); weights ${hash.slice(0, 12)}`,
    `mean |ln error| of the p95 on ${heldOut.services} services that it never saw`,
    line("all places", places),
    line("twice the usual and more", knee),
    line("ratio of two places", ratios),
    `80 % interval holds ${coverage.all.toFixed(2)}, ${coverage.knee.toFixed(2)} at twice the usual and more`,
  ].join("\n");
}

const moduleOf = (
  network: ShippedNetwork,
): string => `import type { ShippedNetwork } from "./shipped-form.ts";

/** Written by \`tradewind lab train-profile\`; not by hand. */
export const SHIPPED_NETWORK: ShippedNetwork = ${JSON.stringify(network, undefined, 2)};
`;
