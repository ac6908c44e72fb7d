import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** Programs that a node takes from this machine, by the Debian package that has them. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  buildah: ["buildah"],
  conntrack: ["conntrack"],
  containerd: ["containerd", "ctr"],
  "containernetworking-plugins": ["/usr/lib/cni/bridge"],
  iproute2: ["ip"],
  iptables: ["iptables"],
  runc: ["runc"],
  "util-linux": ["nsenter", "unshare"],
};

/** Why no node can run on this machine; undefined where one can. */
export function nodeProblem(): string | undefined {
  if (process.platform !== "linux") return "a node needs Linux";
  if (process.getuid?.() !== 0) return "a node needs root";
  const missing = Object.entries(PACKAGES)
    .filter(([, programs]) => !programs.every(isThere))
    .map(([name]) => name);
  return missing.length === 0 ? undefined : `missing: apt-get install ${missing.join(" ")}`;
}

function isThere(program: string): boolean {
  const folders = program.startsWith("/") ? [""] : (process.env["PATH"] ?? "").split(delimiter);
  return folders.some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
