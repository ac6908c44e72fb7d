import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parseJsonWith } from "@tradewind/core/config.ts";
import { RunReport } from "@tradewind/core/contract/run-report.ts";

const ROOT = dirname(dirname(import.meta.dirname));
/** The five minutes after the kill are looked at. */
export const SECONDS = 430;
/** The load rises then, as a share of the run (local/phases). */
const SURGE_BEGINS = 45 / 150;

export interface LocalOutcome {
  readonly silence: "hold" | "students";
  readonly seed: number;
  /** From the kill to the end of the run. */
  readonly requests: number;
  readonly requestsOver: number;
  readonly cores: number;
}

/** One run of the local platform whose predictor is killed for good as the surge begins. Real processes. */
export async function localRun(silence: LocalOutcome["silence"], seed: number): Promise<LocalOutcome> {
  const scratch = mkdtempSync(join(tmpdir(), "tradewind-students-"));
  try {
    const path = join(scratch, "run.json");
    const killed = `${Math.round(SECONDS * SURGE_BEGINS)}s`;
    const flags = { "--for": `${SECONDS}s`, "--seed": String(seed), "--silence": silence, "--json": path };
    const more = { "--ports": "free", "--interference": "none", "--kill-predictor": killed };
    const args = [join(ROOT, "cli", "main.ts"), "local", ...Object.entries({ ...flags, ...more }).flat()];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "inherit"] });
    const code = await new Promise<number | null>((resolve) => child.once("exit", resolve));
    if (code !== 0) throw new Error(`a run of the local platform ended with code ${code}`);
    return outcomeOf(parseJsonWith(RunReport, readFileSync(path, "utf8"), path), silence);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function outcomeOf({ phases, seed }: RunReport, silence: LocalOutcome["silence"]): LocalOutcome {
  const after = phases.filter(({ fromS }) => fromS >= SECONDS * SURGE_BEGINS - 1);
  const sum = (of: (phase: (typeof phases)[number]) => number): number =>
    after.reduce((total, each) => total + of(each), 0);
  const seconds = sum(({ fromS, toS }) => toS - fromS);
  return {
    silence,
    seed,
    requests: sum(({ requests }) => requests),
    requestsOver: Math.round(sum(({ requests, violationRatio }) => requests * (violationRatio ?? 0))),
    cores:
      sum(({ allocatedCpuCoresMean = Number.NaN, fromS, toS }) => allocatedCpuCoresMean * (toS - fromS)) /
      seconds,
  };
}
