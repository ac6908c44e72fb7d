/**
 * `npm run cluster -- build|up|test|down`: the control plane of a Kubernetes cluster with KEDA, as processes on loopback.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describeError } from "@tradewind/core/errors.ts";
import { waitUntil } from "../wait-until.ts";
import { buildPrograms } from "./build/build.ts";
import { startControlPlane } from "./control-plane.ts";
import { MEASURED_FILE } from "./measured.ts";
import { cacheFolder } from "./programs.ts";

const USAGE = `usage: npm run cluster -- COMMAND

  build  compile etcd, the Kubernetes control plane and KEDA from Go modules, once
  up     build, then start them in the background; prints how to reach them
  down   end what 'up' started
  test   build, then run test/cluster, the tests of the chart and of the API; further words go to vitest
`;

const root = fileURLToPath(new URL("../..", import.meta.url));
/** The process that holds a cluster writes it when the cluster is ready, and removes it at its end. */
const stateFile = (): string => join(cacheFolder(), "up.json");
const logFile = (): string => join(cacheFolder(), "up.log");

interface Up {
  readonly pid: number;
  readonly kubeconfig: string;
  readonly folder: string;
}

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const complain = (line: string): void => void process.stderr.write(`${line}\n`);

/** The cluster that runs now. */
function current(): Up | undefined {
  try {
    const up = JSON.parse(readFileSync(stateFile(), "utf8")) as Up;
    process.kill(up.pid, 0);
    return up;
  } catch {
    return undefined;
  }
}

/** The background process of `up`: holds a cluster until it is asked to end. */
async function hold(): Promise<void> {
  // Listened to before anything runs: programs started so far are ended too.
  const asked = Promise.race(["SIGTERM", "SIGINT"].map((signal) => once(process, signal)));
  const plane = await startControlPlane(await buildPrograms(say));
  const up: Up = { pid: process.pid, kubeconfig: plane.kubeconfig, folder: plane.folder };
  await writeFile(stateFile(), JSON.stringify(up));
  await asked;
  await plane.stop();
  rmSync(stateFile(), { force: true });
}

async function up(): Promise<void> {
  const startedMs = performance.now();
  if (current() === undefined) {
    await buildPrograms(say);
    await mkdir(cacheFolder(), { recursive: true });
    const log = openSync(logFile(), "w");
    const child = spawn(process.execPath, [fileURLToPath(import.meta.url), "hold"], {
      detached: true,
      stdio: ["ignore", log, log],
    });
    child.unref();
    await waitUntil(
      () => {
        if (child.exitCode === null) return current() !== undefined;
        throw new Error(`it ended:\n${readFileSync(logFile(), "utf8")}`);
      },
      300_000,
      "the cluster is up",
    );
  }
  const { folder, kubeconfig } = current()!;
  say(`up after ${((performance.now() - startedMs) / 1_000).toFixed(1)} s; logs are in ${folder}`);
  say(`export KUBECONFIG=${kubeconfig}`);
}

async function down(): Promise<void> {
  const running = current();
  if (running === undefined) {
    say("no cluster is up");
    return;
  }
  process.kill(running.pid, "SIGTERM");
  await waitUntil(() => current() === undefined, 60_000, "the cluster is down");
  say("down");
}

async function test(words: readonly string[]): Promise<void> {
  await buildPrograms(say);
  const folder = mkdtempSync(join(tmpdir(), "tradewind-measured-"));
  const file = join(folder, "lines");
  const what = ["test/cluster", "test/charts/admission.test.ts", "test/kubernetes/real.test.ts"];
  const vitest = join(root, "node_modules", "vitest", "vitest.mjs");
  const child = spawn(process.execPath, [vitest, "run", ...(words.length > 0 ? words : what)], {
    cwd: root,
    stdio: "inherit",
    env: { ...process.env, [MEASURED_FILE]: file },
  });
  const [code] = (await once(child, "exit")) as [number | null];
  if (existsSync(file)) say(`\nmeasured:\n${readFileSync(file, "utf8")}`);
  rmSync(folder, { recursive: true });
  process.exitCode = code ?? 1;
}

const [command = "", ...words] = process.argv.slice(2);
const commands: Readonly<Record<string, () => Promise<unknown>>> = {
  build: () => buildPrograms(say),
  up,
  down,
  test: () => test(words),
  hold,
};
const chosen = commands[command];
if (chosen === undefined) {
  complain(USAGE);
  process.exitCode = 2;
} else {
  await chosen().catch((error: unknown) => {
    complain(describeError(error));
    process.exitCode = 1;
  });
}
