import { seededRng } from "@tradewind/core/values/rng.ts";
import type { RetrainingCause } from "@tradewind/core/students/notifier.ts";
import type { Pair } from "@tradewind/core/students/train-student.ts";
import { learnStudent } from "@tradewind/predictor/learn/students/learn-student.ts";
import { LiveStudents } from "@tradewind/predictor/learn/students/live-students.ts";
import type { LiveStudentsOptions } from "@tradewind/predictor/learn/students/live-students.ts";
import type { Actuators, Contender } from "../contenders/contender.ts";
import { MemoryStore } from "../contenders/ours/memory-store.ts";
import { startOurs } from "../contenders/ours/ours.ts";
import { run } from "../contenders/run.ts";
import type { Obstacle } from "../contenders/run.ts";

/** One moment of a deployment: what was to be learnt, and the student that was in use before it was. */
export interface LiveLesson extends Pair {
  readonly service: string;
  /** Seconds since the start of the run. */
  readonly atSeconds: number;
  readonly parameters: Float64Array;
}

export interface LiveRun {
  readonly lessons: readonly LiveLesson[];
  /** Times that students were taught, by cause. */
  readonly taught: Readonly<Partial<Record<"first" | RetrainingCause, number>>>;
}

export interface LiveRunOptions {
  readonly obstacle: Obstacle;
  readonly actuators: Actuators;
  readonly seed: number;
}

/** A failure of the students' is a mistake of the simulation, or of ours. */
const LOG = new Proxy(
  {},
  {
    get: (_, level) => (facts: { readonly problem?: string }) => {
      if (level === "error") throw new Error(`students of a simulated run: ${facts.problem}`);
    },
  },
) as LiveStudentsOptions["log"];

/** Runs Tradewind with its predictor alive and its students learning, as a deployment does, and tells every lesson. */
export async function liveRun({ actuators, obstacle, seed }: LiveRunOptions): Promise<LiveRun> {
  const lessons: LiveLesson[] = [];
  const taught: Partial<Record<"first" | RetrainingCause, number>> = {};
  let windows = 0;
  const students: LiveStudents = new LiveStudents({
    namespace: "simulated",
    name: obstacle.plant.application.name,
    trainer: { trainStudent: async (job) => Promise.resolve(learnStudent(job, seededRng(job.seed))) },
    store: new MemoryStore(),
    metrics: {
      students: () => undefined,
      studentTaught: (cause) => {
        taught[cause] = (taught[cause] ?? 0) + 1;
      },
    },
    log: LOG,
    onLesson: (service, { actions, inputs }) => {
      const atSeconds = windows * obstacle.plant.windowSeconds;
      lessons.push({ service, inputs, actions, atSeconds, parameters: students.parameters(service) });
    },
  });
  const contender: Contender = {
    name: "live-students",
    about: "Tradewind, policy auto, whose students go on learning.",
    defaults: {},
    grid: [],
    supports: () => true,
    start: (setting) => startOurs(setting, { choice: "auto", students }),
  };
  await run({
    obstacle,
    contender,
    actuators,
    seed,
    onWindow: () => {
      windows += 1;
    },
  });
  return { lessons, taught };
}
