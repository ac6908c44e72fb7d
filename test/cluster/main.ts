/**
 * `npm run cluster -- build|up|test|down`: the control plane of a Kubernetes cluster with KEDA, as processes on loopback.
 * `npm run cluster -- node build|up|test|down`: the same with a node on which pods run.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describeError } from "@tradewind/core/values/errors.ts";
import { applications, APPLICATIONS_USAGE } from "./applications/command.ts";
import { Background } from "./background.ts";
import { buildNodePrograms, buildPrograms } from "./build/build.ts";
import { startControlPlane } from "./control-plane.ts";
import { MEASURED_FILE } from "./measured.ts";
import { buildApplicationImages, buildProgramImages } from "./node/images/build.ts";
import { startNodeCluster } from "./node/node-cluster.ts";
import { NODE } from "./node/node.ts";
import { nodeProblem } from "./node/requirements.ts";
import { builtNodePrograms, builtPrograms } from "./programs.ts";

const USAGE = `usage: npm run cluster -- COMMAND

  build  compile etcd, the Kubernetes control plane and KEDA from Go modules, once
  up     build, then start them in the background; prints how to reach them
  down   end what 'up' started
  test   build, then run test/cluster, the tests of the chart and of the API; further words go to vitest

  node build|up|down|test   the same with a real node, on which the images of docker/ run: needs root

${APPLICATIONS_USAGE}`;

const root = fileURLToPath(new URL("../..", import.meta.url));
const PLANE = new Background("up", ["hold"]);

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const complain = (line: string): void => void process.stderr.write(`${line}\n`);

/** Starts a cluster in the background and says how it is reached. */
async function up(cluster: Background): Promise<void> {
  const startedMs = performance.now();
  const { folder, kubeconfig } = await cluster.up();
  say(`up after ${((performance.now() - startedMs) / 1_000).toFixed(1)} s; logs are in ${folder}`);
  say(`export KUBECONFIG=${kubeconfig}`);
}

const down = async (cluster: Background): Promise<void> =>
  say((await cluster.down()) ? "down" : "no cluster is up");

/** Runs vitest, and lists the times that tests have measured. */
async function vitest(words: readonly string[]): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "tradewind-measured-"));
  const file = join(folder, "lines");
  const script = join(root, "node_modules", "vitest", "vitest.mjs");
  const child = spawn(process.execPath, [script, "run", ...words], {
    cwd: root,
    stdio: "inherit",
    env: { ...process.env, [MEASURED_FILE]: file },
  });
  const [code] = (await once(child, "exit")) as [number | null];
  if (existsSync(file)) say(`\nmeasured:\n${readFileSync(file, "utf8")}`);
  rmSync(folder, { recursive: true });
  process.exitCode = code ?? 1;
}

async function test(words: readonly string[]): Promise<void> {
  await buildPrograms(say);
  const what = ["test/cluster", "test/charts/admission.test.ts", "test/kubernetes/real.test.ts"];
  await vitest(words.length > 0 ? words : what);
}

/** Programs first: of some of them images are made. @throws Error where no node can run */
async function buildNode(): Promise<void> {
  const problem = nodeProblem();
  if (problem !== undefined) throw new Error(problem);
  const folders = [await buildPrograms(say), await buildNodePrograms(say)];
  const find = (name: string): string =>
    folders.map((folder) => join(folder, name)).find((file) => existsSync(file)) ?? name;
  await buildProgramImages(find, say);
  await buildApplicationImages(say);
}

/** Tests share one node, so files run one after the other. */
async function testNode(words: readonly string[]): Promise<void> {
  const wasUp = NODE.current() !== undefined;
  if (!wasUp) await buildNode();
  await up(NODE);
  await vitest(["--no-file-parallelism", ...(words.length > 0 ? words : ["test/cluster/node"])]);
  if (!wasUp) await down(NODE);
}

type Commands = Readonly<Record<string, (words: readonly string[]) => Promise<unknown>>>;

const NODE_COMMANDS: Commands = {
  build: buildNode,
  up: async () => {
    await buildNode();
    await up(NODE);
  },
  down: async () => down(NODE),
  test: testNode,
  hold: async () =>
    NODE.hold(async () => startNodeCluster(builtPrograms() ?? "", builtNodePrograms() ?? "", say)),
};

const COMMANDS: Commands = {
  build: async () => buildPrograms(say),
  up: async () => {
    await buildPrograms(say);
    await up(PLANE);
  },
  down: async () => down(PLANE),
  test,
  hold: async () => PLANE.hold(async () => startControlPlane(await buildPrograms(say))),
  applications: async (words) =>
    applications(words, { build: buildNode, up: async () => up(NODE), down: async () => down(NODE) }),
  node: async ([command = "", ...words]) => choose(NODE_COMMANDS, command, words),
};

async function choose(commands: Commands, command: string, words: readonly string[]): Promise<void> {
  const chosen = commands[command];
  if (chosen !== undefined) {
    await chosen(words);
    return;
  }
  complain(USAGE);
  process.exitCode = 2;
}

const [command = "", ...words] = process.argv.slice(2);
await choose(COMMANDS, command, words).catch((error: unknown) => {
  complain(describeError(error));
  process.exitCode = 1;
});
