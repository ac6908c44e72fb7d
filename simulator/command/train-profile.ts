import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Option } from "commander";
import type { Command } from "commander";
import { replaceState } from "@tradewind/core/process/state-file.ts";
import { parseWith } from "@tradewind/core/values/config.ts";
import { createProgress } from "@tradewind/local/screen/progress.ts";
import type { Progress } from "@tradewind/local/screen/progress.ts";
import { packed } from "@tradewind/predictor/models/model-text.ts";
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

/** Shows how far something is and how long it will take. */
function countdown(progress: Progress, of: number, what: string): (done: number, more?: string) => void {
  const beganMs = performance.now();
  let first: number | undefined;
  return (done, more = "") => {
    first ??= done;
    const each = (performance.now() - beganMs) / 1e3 / Math.max(1, done - first);
    progress.show(`${done} of ${of} ${what}, ${Math.round(each * (of - done))} s left${more}`);
  };
}

async function readIfThere(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}

/** The services of this seed; those that were drawn before are read. */
async function lessonsOf({ seed, services, state }: Flags, progress: Progress): Promise<Float32Array[]> {
  const path = state === undefined ? undefined : join(state, `services-${seed}.f32`);
  const kept = path === undefined ? undefined : await readIfThere(path);
  const lessons: Float32Array[] = [];
  const bytes = 4 * LESSON;
  for (let i = 0; i < Math.min(services, Math.floor((kept?.length ?? 0) / bytes)); i += 1) {
    const lesson = new Float32Array(LESSON);
    Buffer.from(lesson.buffer).set(kept?.subarray(i * bytes, (i + 1) * bytes) ?? []);
    lessons.push(lesson);
  }
  const show = countdown(progress, services, "services");
  let unkept: Buffer[] = [];
  const whole = lessons.length;
  if (path !== undefined && whole < services)
    await writeFile(path, kept?.subarray(0, whole * bytes) ?? Buffer.alloc(0));
  while (lessons.length < services) {
    show(lessons.length);
    const lesson = drawLesson(seed * SEED_WIDTH + lessons.length);
    lessons.push(lesson);
    unkept.push(Buffer.from(lesson.buffer));
    if (path === undefined || (unkept.length < KEPT_SERVICES && lessons.length < services)) continue;
    await writeFile(path, Buffer.concat(unkept), { flag: "a" });
    unkept = [];
  }
  return lessons;
}

async function trained(
  tensors: Tensors,
  flags: Flags,
  lessons: readonly Float32Array[],
  progress: Progress,
): Promise<ProfileTraining> {
  const { batch, seed, services, state, steps } = flags;
  const settings: TrainingSettings = { seed, services, batch, steps };
  const path = state === undefined ? undefined : join(state, "training.txt");
  const kept = path === undefined ? undefined : await readIfThere(path);
  const training =
    kept === undefined || path === undefined
      ? newTraining(seed)
      : trainingOf(kept.toString("utf8"), path, settings);
  const show = countdown(progress, steps, "steps");
  while (training.steps < steps) {
    const loss = trainStep(tensors, training, lessons, settings);
    show(training.steps, `; loss ${loss.toFixed(3)}`);
    const isKept = training.steps % KEPT_STEPS === 0 || training.steps === steps;
    if (path !== undefined && isKept) await replaceState(path, trainingText(settings, training));
  }
  return training;
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
