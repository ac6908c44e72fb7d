/** `npm run -s bench -- students --json`: what the planner's students are worth while no predictor answers. Simulated. */
import { contentHash } from "@tradewind/core/hash.ts";
import { studentParameters } from "@tradewind/core/contract/students.ts";
import { Student } from "@tradewind/exporter/students/student.ts";
import { SHIPPED_STUDENTS } from "@tradewind/predictor/students/shipped-students.ts";
import type { Contender } from "@tradewind/simulator/contenders/contender.ts";
import { HPA_CPU } from "@tradewind/simulator/contenders/hpa.ts";
import { run } from "@tradewind/simulator/contenders/run.ts";
import { gatherPairs, silentContender } from "@tradewind/simulator/teacher/lessons.ts";
import { HELD_OUT_APPLICATIONS, heldOutPlant } from "@tradewind/simulator/teacher/plants.ts";
import { agreementOf } from "@tradewind/simulator/teacher/train-student.ts";
import type { Benchmark, BenchmarkOptions } from "../benchmark.ts";
import { localRun } from "./local-run.ts";
import type { LocalOutcome } from "./local-run.ts";
import { estimate } from "../course/statistics.ts";

/** Seeds that were looked at while the students were made are below this. */
const FIRST_SEED = 300;
const SEEDS = 20;
const QUICK_SEEDS = 1;
const TIMED = 200_000;

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
async function outcomeOf(contender: Contender, seed: number): Promise<Outcome> {
  const { costPerHour, minutesOver, requests, requestsOver } = await run({
    obstacle: heldOutPlant(seed),
    contender,
    actuators: "replicas",
    seed,
  });
  return { requests, over: requestsOver * requests, minutesOver: 5 * minutesOver, cost: costPerHour };
}

async function silence(seeds: readonly number[], progress: BenchmarkOptions["progress"]) {
  const outcomes = new Map<string, Outcome[]>(Object.keys(POLICIES).map((policy) => [policy, []]));
  for (const [index, seed] of seeds.entries()) {
    for (const [policy, contender] of Object.entries(POLICIES)) {
      outcomes.get(policy)?.push(await outcomeOf(contender, seed));
    }
    progress(`silence: seed ${index + 1} of ${seeds.length}`);
  }
  const held = outcomes.get("hold") ?? [];
  const alive = outcomes.get("alive") ?? [];
  return [...outcomes].map(([policy, all]) => {
    const mean = (of: (each: Outcome) => number): number => estimate(all.map((each) => of(each))).mean;
    const ratio = (of: (each: Outcome) => number, to: readonly Outcome[]): number =>
      mean(of) / estimate(to.map((each) => of(each))).mean;
    return {
      policy,
      requestsOver: Math.round(mean(({ over }) => over)),
      minutesOver: mean(({ minutesOver }) => minutesOver),
      cost: mean(({ cost }) => cost),
      overToHold: ratio(({ over }) => over, held),
      costToHold: ratio(({ cost }) => cost, held),
      costToAlive: ratio(({ cost }) => cost, alive),
      /** Share of requests that are over less than where sizes are held, seed by seed. */
      savedShare: estimate(
        all.map(({ over, requests }, i) => (held[i]?.over ?? 0) / (held[i]?.requests ?? 1) - over / requests),
      ),
    };
  });
}

/** Students against the planner on the application that comes first among the held-out ones, over several seeds. */
async function agreement(seeds: readonly number[], progress: BenchmarkOptions["progress"]) {
  const rewards: Record<"planner" | "students", number[]> = { planner: [], students: [] };
  const pairs = [];
  for (const [seed, who] of seeds.flatMap((each) => [
    [each, "planner"] as const,
    [each, "students"] as const,
  ])) {
    progress(`agreement: ${who} decide, seed ${seed}`);
    const gathered = await gatherPairs(heldOutPlant(seed), {
      actuators: "replicas",
      parameters: who === "students" ? PARAMETERS : undefined,
      seed,
      onReward: (reward) => rewards[who].push(reward),
    });
    pairs.push(...gathered);
  }
  const microseconds = microsecondsOf();
  const students = [...Map.groupBy(pairs, ({ service }) => service)].map(([service, own]) =>
    Object.assign({ service, microseconds }, agreementOf(PARAMETERS, own)),
  );
  const mean = (values: readonly number[]): number => estimate(values).mean;
  return {
    students,
    all: agreementOf(PARAMETERS, pairs),
    closedLoop: {
      reward: mean(rewards.students),
      plannerReward: mean(rewards.planner),
      rewardRatio: mean(rewards.students) / mean(rewards.planner),
    },
  };
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

/** The same with real processes on the local platform, `--local N` pairs; nothing of it is simulated. */
async function localPairs(
  pairs: number,
  seed: number,
  progress: BenchmarkOptions["progress"],
): Promise<LocalOutcome[]> {
  const outcomes: LocalOutcome[] = [];
  for (let pair = 0; pair < pairs; pair += 1) {
    for (const silence of pair % 2 === 0
      ? (["hold", "students"] as const)
      : (["students", "hold"] as const)) {
      outcomes.push(await localRun(silence, FIRST_SEED * seed + pair));
      progress(JSON.stringify(outcomes.at(-1)));
    }
  }
  return outcomes;
}

export const benchmark: Benchmark = {
  options: { local: { type: "string" } },
  summary: "students of the planner while no predictor answers, against holding and a CPU rule (simulated)",
  async run({ progress, quick, seed, values }) {
    const pairs = Number(values["local"] ?? 0);
    if (pairs > 0) return { simulated: false, local: await localPairs(pairs, seed, progress) };
    const first = FIRST_SEED * seed;
    const seeds = Array.from({ length: quick ? QUICK_SEEDS : SEEDS }, (_, i) => first + i);
    const judged = seeds.filter((each) => (each - first) % HELD_OUT_APPLICATIONS === 0);
    const { all, closedLoop, students } = await agreement(judged, progress);
    return {
      simulated: true,
      about: SHIPPED_STUDENTS.about,
      teacher: null,
      students,
      agreement: all,
      closedLoop,
      seeds,
      silence: await silence(seeds, progress),
    };
  },
};
