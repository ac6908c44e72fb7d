#!/usr/bin/env node
// Starts the command under the pinned Node.js when the one that runs this cannot strip types.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { constants } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { setFlagsFromString } from "node:v8";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const compiled = join(root, "cli", "main.js");
const main = existsSync(compiled) ? compiled : join(root, "cli", "main.ts");
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);

// The node agent counts its megabytes, and these count only before anything is loaded; agent/run/frugal.ts says why.
if (process.argv[2] === "agent") {
  for (const flag of ["--no-opt", "--no-maglev", "--semi-space-growth-factor=1"]) setFlagsFromString(flag);
}

if (major > 22 || (major === 22 && minor >= 19)) {
  await import(main);
} else {
  const pinned = join(root, "node_modules", "node", "bin", "node");
  if (!existsSync(pinned)) {
    console.error(
      `tradewind: needs Node.js >= 22.19, this is ${process.versions.node}. Run 'npm start' once, or 'npm ci'.`,
    );
    process.exit(1);
  }
  const child = spawn(pinned, [main, ...process.argv.slice(2)], {
    // The channel closes when this process ends, however it does, and the command ends with it.
    stdio: ["inherit", "inherit", "inherit", "ipc"],
  });
  process.on("disconnect", () => child.kill("SIGTERM"));
  for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"]))
    process.on(signal, () => child.kill(signal));
  // The listeners above would take the signal that ended the command, so its code is given in its place.
  child.on("exit", (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : (code ?? 1)));
}
