import { spawnSync } from "node:child_process";

/** What npm wrote to standard output, whether it succeeded or not; the npm that runs us where there is one. */
export function npmOutput(args: readonly string[]): string {
  const npm = process.env["npm_execpath"];
  const [command, before] = npm === undefined ? ["npm", []] : [process.execPath, [npm]];
  const { error, stdout } = spawnSync(command, [...before, ...args], {
    encoding: "utf8",
    maxBuffer: 64 * 2 ** 20,
    stdio: ["ignore", "pipe", "inherit"],
  });
  if (error !== undefined) throw error;
  return stdout;
}
