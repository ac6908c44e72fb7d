import { writeFile } from "node:fs/promises";
import type { Command } from "commander";
import { STUDENTS_SCHEMA, studentText } from "@tradewind/core/contract/students.ts";
import type { Students } from "@tradewind/core/contract/students.ts";
import { createProgress } from "@tradewind/local/screen/progress.ts";
import { parseWith } from "@tradewind/core/values/config.ts";
import { z } from "zod";
import { imitatePlanner } from "../teacher/imitate.ts";
import type { Agreement } from "@tradewind/core/students/train-student.ts";
import { lessonPlant } from "../teacher/plants.ts";
import { addTrainingFlags, TrainingFlags, wholeNumber } from "./training-flags.ts";

const EXAMPLES = `
Examples:
  tradewind train-students --out predictor/learn/students/shipped-students.ts
      The students that a release ships with; some five minutes on one core.
  tradewind train-students --plants 2 --rounds 1 --epochs 10 --json
      A short run that shows it works.`;

/** What `tradewind train-students` can be told. */
export const StudentFlags = TrainingFlags.extend({
  plants: wholeNumber("--plants", 1, 10_000),
  rounds: wholeNumber("--rounds", 0, 100),
  epochs: wholeNumber("--epochs", 1, 100_000),
  out: z.string().min(1).optional(),
});
type Flags = z.output<typeof StudentFlags>;

/** Adds what `tradewind train-students` takes and does. */
export function configure(command: Command): void {
  const described = command.description(
    "Teach the students of the planner, in the simulator: what scalers decide by while no predictor answers.",
  );
  addTrainingFlags(described, "students", "the students and how far they agree")
    .option("--plants <n>", "simulated runs of each round", "18")
    .option(
      "--rounds <n>",
      "most rounds in which the student drives and the planner says what it would have done",
      "3",
    )
    .option("--epochs <n>", "passes over all examples after each round", "120")
    .option("--out <file>", "write the students as a module of TypeScript")
    .addHelpText("after", EXAMPLES)
    .action(async (flags: unknown) => train(parseWith(StudentFlags, flags, "the command line")));
}

async function train({ epochs, json, out, plants, rounds, seed }: Flags): Promise<void> {
  const progress = createProgress(process.stderr, process.env);
  const beganMs = performance.now();
  const { causes, heldOut, pairs, parameters } = await imitatePlanner({
    seed,
    plants,
    rounds,
    epochs,
    plantOf: lessonPlant,
    onProgress: (done, of, what) => {
      const leftSeconds = Math.round(((performance.now() - beganMs) / 1e3 / done) * (of - done));
      progress.show(`${done} of ${of} runs, ${leftSeconds} s left; ${what}`);
    },
  });
  const about = `the planner of policy auto, simulated: ${plants} plants, ${rounds} rounds in which students drive, ${epochs} epochs, seed ${seed}`;
  const students: Students = { schema: STUDENTS_SCHEMA, about, general: studentText(parameters) };
  if (out !== undefined) await writeFile(out, moduleOf(students));
  process.stdout.write(
    `${json ? JSON.stringify({ students, pairs, heldOut, causes }) : inWords(pairs, heldOut, causes)}\n`,
  );
}

const inWords = (
  pairs: number,
  { agreement, agreementWhenActing = 0, mse }: Agreement,
  causes: readonly string[],
): string =>
  `${pairs} examples; on plants left out: agreement ${agreement.toFixed(3)}, ${agreementWhenActing.toFixed(3)} where the planner acts, squared error ${mse.toFixed(4)}; causes to teach them further: ${causes.join(", ") || "none"}`;

const moduleOf = (
  students: Students,
): string => `import type { Students } from "@tradewind/core/contract/students.ts";

/** Written by \`tradewind train-students\`; not by hand. */
export const SHIPPED_STUDENTS: Students = ${JSON.stringify(students, null, 2)};
`;
