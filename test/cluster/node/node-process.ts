import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createWriteStream, readdirSync, readFileSync, rmdirSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { run } from "../build/run.ts";
import { waitUntil } from "../../wait-until.ts";
import { NETWORK } from "./network.ts";

const PID_FILE = "node.pid";

/** Both ends of the cable to the node, still on this machine. @throws Error when there is one already */
export async function layCable(): Promise<void> {
  const { link, machine, nodeLink } = NETWORK;
  await run("ip", ["link", "add", link, "type", "veth", "peer", "name", nodeLink], {});
  await run("ip", ["addr", "add", `${machine}/30`, "dev", link], {});
  await run("ip", ["link", "set", link, "up"], {});
}

export const removeCable = async (): Promise<unknown> =>
  run("ip", ["link", "del", NETWORK.link], {}).catch(() => undefined);

/** A node: containerd, kubelet and kube-proxy in namespaces of their own. */
export class NodeProcess {
  readonly #launcher: ChildProcess;
  /** Its first process, as this machine counts. */
  readonly pid: number;

  private constructor(launcher: ChildProcess, pid: number) {
    this.#launcher = launcher;
    this.pid = pid;
  }

  /** @param folder has the configuration, and takes logs and all that the node keeps */
  static async start(folder: string, programs: string): Promise<NodeProcess> {
    const script = fileURLToPath(new URL("node.sh", import.meta.url));
    const spaces = ["--net", "--mount", "--uts", "--pid", "--fork", "--kill-child"];
    const args = [...spaces, "bash", script, folder, programs, `${NETWORK.node}/30`, NETWORK.machine];
    const launcher = spawn("unshare", args, { stdio: ["ignore", "pipe", "pipe"] });
    const log = createWriteStream(join(folder, "node.log"));
    launcher.stdout.pipe(log, { end: false });
    launcher.stderr.pipe(log, { end: false });
    let pid = 0;
    await waitUntil(() => (pid = childOf(launcher.pid ?? 0)) > 0, 10_000, "the node has a first process");
    const node = new NodeProcess(launcher, pid);
    await writeFile(join(folder, PID_FILE), String(pid));
    await run("ip", ["link", "set", NETWORK.nodeLink, "netns", String(pid), "name", "eth0"], {});
    for (const range of [NETWORK.pods, NETWORK.services]) {
      await run("ip", ["route", "replace", range, "via", NETWORK.node, "dev", NETWORK.link], {});
    }
    return node;
  }

  /** Ends everything on the node; of its cgroups nothing stays. */
  async stop(): Promise<void> {
    if (this.#launcher.exitCode === null && this.#launcher.signalCode === null) {
      const exited = once(this.#launcher, "exit");
      this.#launcher.kill("SIGKILL");
      await exited;
    }
    await waitUntil(() => removeCgroups(), 30_000, "the node's cgroups are gone");
  }
}

/** Imports archives of images into the node of a cluster. @param folder the cluster's, whichever process holds it */
export async function importImages(folder: string, archives: readonly string[]): Promise<void> {
  const pid = await readFile(join(folder, PID_FILE), "utf8");
  const onNode = ["-t", pid, "-n", "-m", "-p", "-u", "ctr", "-n", "k8s.io", "images", "import"];
  for (const archive of archives) await run("nsenter", [...onNode, archive], {});
}

function childOf(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim());
  } catch {
    return 0;
  }
}

/** @returns whether no cgroup of pods is left; processes need a moment to end */
function removeCgroups(): boolean {
  const root = "/sys/fs/cgroup";
  return ["", ...readdirSync(root)].map((name) => removeTree(join(root, name, "kubepods"))).every(Boolean);
}

function removeTree(folder: string): boolean {
  let entries;
  try {
    entries = readdirSync(folder, { withFileTypes: true });
  } catch {
    return true;
  }
  const emptied = entries
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => removeTree(join(folder, name)));
  if (!emptied.every(Boolean)) return false;
  try {
    rmdirSync(folder);
    return true;
  } catch {
    return false;
  }
}
