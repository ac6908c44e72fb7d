/** Makes the runs of the course that it is sent, one after the other, in a thread of its own. */
import { parentPort } from "node:worker_threads";
import { describeError } from "@tradewind/core/values/errors.ts";
import { run } from "@tradewind/simulator/contenders/run.ts";
import { COURSE } from "@tradewind/simulator/course/course.ts";
import { drawnNamed } from "@tradewind/simulator/training/drawn-plant.ts";
import { PAPER_PLANTS } from "@tradewind/simulator/course/papers/papers.ts";
import { obstacleOf } from "@tradewind/simulator/course/plant.ts";
import { PAPER_CONTENDERS } from "@tradewind/simulator/teacher/distributed.ts";
import { RunWatch } from "./details.ts";
import type { FromWorker, Job } from "./jobs.ts";
import type { Run } from "./report.ts";

const port = parentPort;
if (port === null) throw new Error("course-worker.ts runs only as a worker thread");

async function runJob(job: Job): Promise<Run> {
  const model = [...COURSE, ...PAPER_PLANTS].find(({ name }) => name === job.plant) ?? drawnNamed(job.plant);
  const contender = PAPER_CONTENDERS.find(({ name }) => name === job.policy);
  if (model === undefined) throw new Error(`there is no plant '${job.plant}'`);
  if (contender === undefined) throw new Error(`there is no policy '${job.policy}'`);
  const { actuators, parameters, seed } = job;
  const obstacle = obstacleOf(model);
  const { startMs, warmUpSeconds } = obstacle.plant;
  const watch = job.isDetailed === true ? new RunWatch(model.internalRoutes) : undefined;
  const before = process.threadCpuUsage();
  const result = await run({
    obstacle,
    contender,
    actuators,
    parameters,
    seed,
    onWindow: (world) => watch?.window(world, world.nowMs >= startMs + 1e3 * warmUpSeconds),
    onEnd: (from, to) => watch?.end(from, to),
  });
  const { system, user } = process.threadCpuUsage(before);
  const details = watch?.details;
  return { ...job, result, ...(details && { details }), cpuSeconds: (user + system) / 1e6 };
}

port.on("message", (job: Job) => {
  void runJob(job).then(
    (done) => port.postMessage({ run: done } satisfies FromWorker),
    (error: unknown) => port.postMessage({ problem: describeError(error) } satisfies FromWorker),
  );
});
