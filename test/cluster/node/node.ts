import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Background } from "../background.ts";
import { run } from "../build/run.ts";
import { builtNodePrograms, NODE_COMMAND } from "../programs.ts";

/** The cluster with a node, of which one runs on a machine. */
export const NODE = new Background("node", ["node", "hold"]);

/** Longest wait for anything on the node, which may share its CPUs with other work. */
export const PATIENCE_MS = 300_000;
export const TIMEOUT_MS = 1_800_000;

/** The cluster that `npm run cluster -- node up` started; undefined after a loud word. */
export function nodeCluster(): UsableNode | undefined {
  const held = NODE.current();
  const programs = builtNodePrograms();
  if (held === undefined || programs === undefined) {
    process.stderr.write(
      `\ntests on a real node are SKIPPED: none is up; '${NODE_COMMAND} test' starts one\n`,
    );
    return undefined;
  }
  const { kubeconfig } = held;
  const kubectl: Kubectl = async (...args) =>
    run(join(programs, "kubectl"), ["--kubeconfig", kubeconfig, ...args], {});
  const apply = async (object: object): Promise<void> => {
    const folder = await mkdtemp(join(tmpdir(), "tradewind-object-"));
    try {
      const file = join(folder, "object.json");
      await writeFile(file, JSON.stringify(object));
      await kubectl("apply", "--filename", file);
    } finally {
      await rm(folder, { recursive: true });
    }
  };
  return { apply, kubeconfig, kubectl, programs };
}

export interface UsableNode {
  readonly kubeconfig: string;
  /** Folder with the node's programs. */
  readonly programs: string;
  readonly kubectl: Kubectl;
  /** Creates or changes one object. */
  readonly apply: (object: object) => Promise<void>;
}

/** Runs kubectl. @returns what it printed @throws Error with what it complained */
export type Kubectl = (...args: readonly string[]) => Promise<string>;
