import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { describeError } from "@tradewind/core/values/errors.ts";
import { ApiClient } from "@tradewind/kubernetes/client/client.ts";
import { connect } from "@tradewind/kubernetes/client/connect.ts";
import { buildApplicationImages } from "../node/images/build.ts";
import { importImages } from "../node/node-process.ts";
import { NODE, nodeCluster } from "../node/node.ts";
import { nodeProblem } from "../node/requirements.ts";
import { cacheFolder } from "../programs.ts";
import { CONTENDERS } from "./application.ts";
import type { JudgedApplication } from "./application.ts";
import { APPLICATIONS } from "./catalogue.ts";
import { Comparison } from "./comparison.ts";
import type { Stage } from "./comparison.ts";
import { estimateSeconds } from "./estimate.ts";
import type { Task } from "./estimate.ts";
import { buildImageOf } from "./images.ts";
import { readOptions } from "./options.ts";
import type { Asked } from "./options.ts";
import { buildGoProgram, HELM, VEGETA } from "./programs.ts";
import { entryOf, table } from "./report.ts";
import type { Entry } from "./report.ts";

export const APPLICATIONS_USAGE = `  applications   judge Tradewind against an HPA with programs that nobody here wrote, on a real node: needs root
    --only NAME          ${APPLICATIONS.map(({ name }) => name).join(", ")}
    --contender NAME     ${CONTENDERS.join(", ")}
    --runs N             measured runs of each contender; otherwise 3 with podinfo, 1 with others
    --json               print one JSON object last
  It ends with 0, 1 when something failed, 2 for words that it does not know, 3 when something was skipped.
`;

/** Ends with it when something could not be had. */
const SKIPPED = 3;

/** What a node needs, from whoever builds and ends it. */
export interface NodeSteps {
  build(): Promise<void>;
  up(): Promise<void>;
  down(): Promise<void>;
}

const complain = (line: string): void => void process.stderr.write(`${line}\n`);

/** `npm run cluster -- applications`. */
export async function applications(words: readonly string[], steps: NodeSteps): Promise<void> {
  let asked: Asked;
  try {
    asked = readOptions(words);
  } catch (error) {
    complain(`${describeError(error)}\n\n${APPLICATIONS_USAGE}`);
    process.exitCode = 2;
    return;
  }
  const entries = await judgeAll(asked, steps);
  if (entries.length > 0) process.stdout.write(`\n${table(entries)}\n`);
  if (asked.json) process.stdout.write(`${JSON.stringify({ applications: entries })}\n`);
}

function skip(what: string, why: string): void {
  complain(`\n${what} SKIPPED: ${why}`);
  process.exitCode = SKIPPED;
}

async function judgeAll(asked: Asked, steps: NodeSteps): Promise<Entry[]> {
  const wasUp = NODE.current() !== undefined;
  const interrupted = new AbortController();
  const interrupt = (): void => interrupted.abort(new Error("interrupted"));
  for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, interrupt);
  try {
    const prepared = await prepare(asked, steps, wasUp).catch((error: unknown) => {
      skip("all applications are", describeError(error));
    });
    return prepared === undefined ? [] : await judge(asked, prepared, interrupted.signal);
  } finally {
    if (!wasUp && NODE.current() !== undefined) await steps.down();
    for (const name of ["SIGINT", "SIGTERM"] as const) process.removeListener(name, interrupt);
  }
}

interface Prepared extends Pick<Stage, "vegeta" | "helm"> {
  /** Those whose programs are there. */
  readonly applications: readonly JudgedApplication[];
}

/** Has a node that runs with the images of today. @throws Error where there can be none */
async function prepare(asked: Asked, steps: NodeSteps, wasUp: boolean): Promise<Prepared> {
  const problem = nodeProblem();
  if (problem !== undefined) throw new Error(problem);
  const vegeta = await buildGoProgram(VEGETA, complain);
  const helm = await buildGoProgram(HELM, complain);
  if (!wasUp) await steps.build();
  const archives = new Set(wasUp ? await buildApplicationImages(complain) : []);
  const available: JudgedApplication[] = [];
  for (const application of asked.applications) {
    try {
      for (const { image } of application.components) archives.add(await buildImageOf(image, complain));
      available.push(application);
    } catch (error) {
      skip(`${application.name} is`, describeError(error));
    }
  }
  if (NODE.current() === undefined) await steps.up();
  await importImages(NODE.current()?.folder ?? "", [...archives]);
  return { applications: available, helm, vegeta };
}

async function judge(asked: Asked, prepared: Prepared, signal: AbortSignal): Promise<Entry[]> {
  const node = nodeCluster();
  if (node === undefined) throw new Error("the node has ended");
  const api = new ApiClient(await connect({ kubeconfig: node.kubeconfig, environment: process.env }));
  const stage: Stage = { ...prepared, node, api, signal, say: complain };
  const left = tasksOf(asked, prepared.applications);
  const entries: Entry[] = [];
  try {
    for (let task = left.shift(); task !== undefined && !signal.aborted; task = left.shift()) {
      const minutes = Math.ceil(estimateSeconds([task, ...left]) / 60);
      complain(`${task.application.name}, ${task.contender}: begins, about ${minutes} min left in all`);
      const entry = await judgeOne(stage, task).catch((error: unknown) => {
        complain(`${task.application.name}, ${task.contender} FAILED: ${describeError(error)}`);
        process.exitCode = 1;
      });
      if (entry !== undefined) entries.push(entry);
    }
  } finally {
    await api.close();
  }
  return entries;
}

const tasksOf = ({ contenders, runs }: Asked, applications: readonly JudgedApplication[]): Task[] =>
  applications.flatMap((application) =>
    contenders.map((contender) => ({ application, contender, runs: runs ?? application.runs })),
  );

async function judgeOne(stage: Stage, task: Task): Promise<Entry> {
  const { application, contender } = task;
  const folder = join(cacheFolder(), "applications", "plans");
  await mkdir(folder, { recursive: true });
  const time = new Date().toISOString().replaceAll(":", "-");
  const planFile = join(folder, `${application.name}-${contender}-${time}.jsonl`);
  const runs = await Comparison.run(stage, task, planFile);
  complain(`${application.name}, ${contender}: plans are in ${planFile}`);
  return entryOf({ ...application, contender }, runs);
}
