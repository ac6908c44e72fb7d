import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseJsonWith } from "@tradewind/core/values/config.ts";
import { RunReport } from "@tradewind/core/contract/run-report.ts";

const CLI = join(import.meta.dirname, "..", "..", "cli", "main.ts");
/** Of what a run says on standard error the last so many characters are told where it fails. */
const MOST_SAID = 2_000;

/**
 * One run of `tradewind local` in processes of its own, on free ports.
 * @param report file that it writes its report to
 * @param flags of the command, by name with the dashes
 * @throws Error where the run fails, with what it said last
 */
export async function localPlatform(
  report: string,
  flags: Readonly<Record<string, string | number>>,
): Promise<RunReport> {
  const all = Object.entries({ "--ports": "free", "--json": report, ...flags });
  const args = all.flat().map(String);
  const child = spawn(process.execPath, [CLI, "local", ...args], { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.on("data", (data: Buffer) => {
    said = (said + data.toString("utf8")).slice(-MOST_SAID);
  });
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  if (code !== 0)
    throw new Error(`\`tradewind local ${args.join(" ")}\` ended with code ${code}: ${said.trim()}`);
  return parseJsonWith(RunReport, readFileSync(report, "utf8"), report);
}
