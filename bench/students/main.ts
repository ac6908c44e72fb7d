/** `npm run -s bench -- students --json`: what the planner's students are worth while no predictor answers. Simulated. */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseWith } from "@tradewind/core/values/config.ts";
import { contentHash } from "@tradewind/core/values/hash.ts";
import { studentParameters } from "@tradewind/core/contract/students.ts";
import { Student } from "@tradewind/core/students/student.ts";
import { SHIPPED_STUDENTS } from "@tradewind/predictor/learn/students/shipped-students.ts";
import type { Actuators, Contender } from "@tradewind/simulator/contenders/contender.ts";
import { HPA_CPU } from "@tradewind/simulator/contenders/hpa.ts";
import { run } from "@tradewind/simulator/contenders/run.ts";
import { gatherPairs, silentContender } from "@tradewind/simulator/teacher/lessons.ts";
import { judgeTeacher } from "@tradewind/simulator/teacher/judge.ts";
import type { Verdict } from "@tradewind/simulator/teacher/judge.ts";
import { HELD_OUT_APPLICATIONS, heldOutPlant, judgedPlant } from "@tradewind/simulator/teacher/plants.ts";
import { OUR_TERMS } from "@tradewind/simulator/teacher/reward.ts";
import { agreementOf } from "@tradewind/core/students/train-student.ts";
import { policyOf } from "@tradewind/simulator/teacher/train-teacher.ts";
import { z } from "zod";
import type { Benchmark, BenchmarkOptions } from "../benchmark.ts";
import { localRun, SECONDS } from "./local-run.ts";
import type { LocalOutcome } from "./local-run.ts";
import { estimate } from "@tradewind/core/values/estimate.ts";
import { teacherOf } from "./short-teacher.ts";

/** Seeds that were looked at while the students were made are below this. */
const FIRST_SEED = 300;
const SEEDS = 20;
const QUICK_SEEDS = 1;
/** With sizes a plan has more to choose from and takes longer. */
const SIZED_SEEDS = 10;
const TIMED = 200_000;
/** Plants that a teacher is judged by, and the first of their seeds, which no training reaches. */
const JUDGED = 10;
const QUICK_JUDGED = 2;
const TEACHER_SEED = 6_000_000;

const PARAMETERS = studentParameters(SHIPPED_STUDENTS.general);
const STUDENT = { student: new Student(PARAMETERS), modelHash: contentHash(SHIPPED_STUDENTS) };

/** What decides after the predictor died; `alive`: the predictor, as if it had not. */
const POLICIES: Readonly<Record<string, Contender>> = {
  hold: silentContender({ drive: "hold" }),
  reactive: silentContender({ drive: "reactive" }),
  students: silentContender({ drive: "students", student: STUDENT }),
  alive: silentContender({ drive: "planner", lessons: () => undefined }),
  "hpa-cpu-60": HPA_CPU,
};

interface Outcome {
  readonly requests: number;
  readonly over: number;
  readonly minutesOver: number;
  readonly cost: number;
}

/** One flash crowd on a plant that no student learnt on, the predictor killed as it begins, and the five minutes after. */
async function outcomeOf(contender: Contender, actuators: Actuators, seed: number): Promise<Outcome> {
  const { costPerHour, minutesOver, requests, requestsOver } = await run({
    obstacle: heldOutPlant(seed),
    contender,
    actuators,
    seed,
  });
  return { requests, over: requestsOver * requests, minutesOver: 5 * minutesOver, cost: costPerHour };
}

async function silence(
  seeds: readonly number[],
  actuators: Actuators,
  progress: BenchmarkOptions["progress"],
) {
  const outcomes = new Map<string, Outcome[]>(Object.keys(POLICIES).map((policy) => [policy, []]));
  for (const [index, seed] of seeds.entries()) {
    for (const [policy, contender] of Object.entries(POLICIES)) {
      outcomes.get(policy)?.push(await outcomeOf(contender, actuators, seed));
    }
    progress(`silence, ${actuators}: seed ${index + 1} of ${seeds.length}`);
  }
  const mean = (policy: string, of: (each: Outcome) => number): number =>
    estimate((outcomes.get(policy) ?? []).map((each) => of(each))).mean;
  return Object.keys(POLICIES).map((policy) => {
    const row = {
      policy,
      requestsOver: mean(policy, ({ over }) => over),
      minutesOver: mean(policy, ({ minutesOver }) => minutesOver),
      cost: mean(policy, ({ cost }) => cost),
    };
    const toHold = [
      row.requestsOver / mean("hold", ({ over }) => over),
      row.cost / mean("hold", ({ cost }) => cost),
    ];
    progress(`${policy}: over / hold ${toHold[0]?.toFixed(3)}, cost / hold ${toHold[1]?.toFixed(3)}`);
    return row;
  });
}

/** The shipped student against the planner on applications that no student learnt on, in silences that either of them drives. */
async function unseen(seeds: readonly number[], progress: BenchmarkOptions["progress"]) {
  const rewards: Record<"planner" | "students", number[]> = { planner: [], students: [] };
  const pairs = [];
  for (const [seed, who] of seeds.flatMap((each) => [
    [each, "planner"] as const,
    [each, "students"] as const,
  ])) {
    progress(`unseen: ${who} decide, seed ${seed}`);
    const gathered = await gatherPairs(heldOutPlant(seed), {
      actuators: "replicas",
      parameters: who === "students" ? PARAMETERS : undefined,
      seed,
      onReward: (reward) => rewards[who].push(reward),
    });
    pairs.push(...gathered);
  }
  const mean = (values: readonly number[]): number => estimate(values).mean;
  progress(
    `reward: students ${mean(rewards.students).toFixed(3)}, planner ${mean(rewards.planner).toFixed(3)}`,
  );
  return {
    unseen: agreementOf(PARAMETERS, pairs),
    closedLoop: { rewardRatio: mean(rewards.students) / mean(rewards.planner) },
  };
}

/** Judges a teacher's file, or one that is trained here for so short a time that it is not expected to be accepted. */
async function teacher(
  file: string | undefined,
  { progress, quick, seed }: Pick<BenchmarkOptions, "progress" | "quick" | "seed">,
): Promise<Verdict> {
  const trained = await teacherOf(file, { progress, quick, seed });
  const plants = quick ? QUICK_JUDGED : JUDGED;
  return judgeTeacher({
    seeds: Array.from({ length: plants }, (_, i) => TEACHER_SEED + i),
    plantOf: (plantSeed) => judgedPlant(plantSeed, trained.shape.kind),
    actuators: "replicas",
    terms: OUR_TERMS,
    act: policyOf(trained),
    onProgress: (done) => progress(`teacher: judged on ${done} of ${plants} plants`),
  });
}

function microsecondsOf(): number {
  const inputs = Array.from({ length: 64 }, (_, i) =>
    Array.from({ length: 5 }, (__, j) => ((7 * i + 3 * j) % 40) / 10),
  );
  let sum = 0;
  const act = (times: number): void => {
    for (let i = 0; i < times; i += 1) sum += STUDENT.student.act(inputs[i % 64] ?? []).replicas;
  };
  act(TIMED / 10);
  const beganMs = performance.now();
  act(TIMED);
  const took = ((performance.now() - beganMs) * 1e3) / TIMED;
  if (!Number.isFinite(sum)) throw new Error("the student gave a number that is not finite");
  return took;
}

/** `--local N`. */
const Pairs = z.coerce.number().int().min(1).max(100);

/** Students over hold, pair by pair: means with 95 % intervals. */
export function comparedPairs(outcomes: readonly LocalOutcome[]) {
  const pairs = [...Map.groupBy(outcomes, ({ seed }) => seed).values()].flatMap((both) => {
    const [hold, students] = (["hold", "students"] as const).map((silence) =>
      both.find((each) => each.silence === silence),
    );
    return hold === undefined || students === undefined ? [] : [{ hold, students }];
  });
  const over = (of: LocalOutcome): number => of.requestsOver / Math.max(1, of.requests);
  return {
    pairs: pairs.length,
    holdOver: estimate(pairs.map(({ hold }) => over(hold))),
    studentsOver: estimate(pairs.map(({ students }) => over(students))),
    /** Share of the requests over the objective that students have less. */
    fewerOver: estimate(pairs.map(({ hold, students }) => over(hold) - over(students))),
    costRatio: estimate(pairs.map(({ hold, students }) => students.cores / hold.cores)),
  };
}

/** The same with real processes on the local platform, `--local N` pairs; nothing of it is simulated. */
async function localPairs(
  pairs: number,
  seed: number,
  progress: BenchmarkOptions["progress"],
): Promise<LocalOutcome[]> {
  const outcomes: LocalOutcome[] = [];
  const calibration = join(mkdtempSync(join(tmpdir(), "tradewind-pairs-")), "work.json");
  for (let pair = 0; pair < pairs; pair += 1) {
    for (const silence of pair % 2 === 0
      ? (["hold", "students"] as const)
      : (["students", "hold"] as const)) {
      outcomes.push(await localRun(silence, FIRST_SEED * seed + pair, calibration));
      progress(JSON.stringify(outcomes.at(-1)));
    }
  }
  return outcomes;
}

export const benchmark: Benchmark = {
  options: { local: { type: "string" }, teacher: { type: "string" } },
  summary: "teacher and students, and what students are worth while no predictor answers (simulated)",
  async run({ progress, quick, seed, values }) {
    if (values["local"] !== undefined) {
      const pairs = parseWith(Pairs, values["local"], "--local");
      progress(`students: ${pairs} pairs of runs of ${SECONDS} s`);
      const outcomes = await localPairs(pairs, seed, progress);
      return { simulated: false, ...comparedPairs(outcomes), local: outcomes };
    }
    const first = FIRST_SEED * seed;
    const seeds = Array.from({ length: quick ? QUICK_SEEDS : SEEDS }, (_, i) => first + i);
    const judged = seeds.filter((each) => (each - first) % (HELD_OUT_APPLICATIONS + 1) === 0);
    const verdict = await teacher(values["teacher"] as string | undefined, { progress, quick, seed });
    return {
      simulated: true,
      teacher: verdict,
      microseconds: microsecondsOf(),
      ...(await unseen(judged, progress)),
      silence: await silence(seeds, "replicas", progress),
      silenceWithSizes: await silence(seeds.slice(0, SIZED_SEEDS), "replicas+cpu+memory", progress),
    };
  },
};
