// Runs under whatever Node.js (>= 20) the machine has, before anything is installed: no imports beyond Node's own.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
/** @typedef {{ version?: string, link?: boolean, optional?: boolean }} Entry */

/** @param {string} path @returns {Record<string, Entry>} packages by folder, none when the file is not there */
function lockedPackages(path) {
  try {
    return /** @type {{ packages: Record<string, Entry> }} */ (JSON.parse(readFileSync(path, "utf8")))
      .packages;
  } catch {
    return {};
  }
}

/** True when npm's own record of the installed tree has every package of the lockfile in its version. */
function isCurrent() {
  const installed = lockedPackages(join(root, "node_modules", ".package-lock.json"));
  const wanted = Object.entries(lockedPackages(join(root, "package-lock.json")));
  return wanted.every(([folder, { version, optional }]) => {
    if (!folder.includes("node_modules/")) return true;
    const found = installed[folder];
    return found === undefined ? optional === true : found.version === version;
  });
}

const pinnedNode = join(
  root,
  "node_modules",
  "node",
  "bin",
  process.platform === "win32" ? "node.exe" : "node",
);

/** @param {string} command @param {string[]} args */
function run(command, args) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: ["ignore", 2, 2] });
  if (error || status !== 0) {
    console.error(`tradewind: '${command} ${args.join(" ")}' failed${error ? `: ${error.message}` : ""}.`);
    console.error("tradewind: mend what it says above, then run the same command again.");
    process.exit(1);
  }
}

const [major = 0] = process.versions.node.split(".").map(Number);
if (major < 20) {
  console.error(`tradewind: needs Node.js 20 or newer to install itself, this is ${process.versions.node}.`);
  process.exit(1);
}
if (!isCurrent() || !existsSync(pinnedNode)) {
  console.error("tradewind: installing dependencies from the lockfile (once, about half a minute) ...");
  const npm = process.env["npm_execpath"];
  const args = ["ci", "--no-audit", "--no-fund", "--loglevel=error"];
  if (npm) run(process.execPath, [npm, ...args]);
  else run("npm", args);
  // The pinned Node.js comes from an install script, which a user's npm may be set to skip.
  const fetchNode = join(root, "node_modules", "node", "installArchSpecificPackage.js");
  if (!existsSync(pinnedNode) && existsSync(fetchNode)) {
    const { status } = spawnSync(process.execPath, [fetchNode], {
      cwd: dirname(fetchNode),
      stdio: ["ignore", 2, 2],
    });
    if (status !== 0)
      console.error("tradewind: could not install the pinned Node.js; using the one on this machine.");
  }
}
