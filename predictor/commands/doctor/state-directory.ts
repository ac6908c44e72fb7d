import { accessSync, constants, existsSync, readdirSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { formatBytes } from "@tradewind/core/values/units.ts";
import { openStoreForReading } from "../../store/database.ts";
import { HISTORY_FILE } from "../../store/history-file.ts";
import { problem } from "../../sources/check.ts";
import type { Finding } from "../../sources/source.ts";

const LOW_BYTES = 512 * 1_048_576;

/** Whether the state directory can be written, has room, and holds a sound history. Reads only. */
export function checkState(directory: string, nowMs: number): Finding[] {
  const subject = `state ${directory}`;
  if (!existsSync(directory)) {
    return [
      {
        subject,
        level: "warning",
        message: "the directory does not exist yet",
        remedy: "start the predictor with this --state once, or create and mount it",
      },
    ];
  }
  try {
    accessSync(directory, constants.W_OK | constants.X_OK);
  } catch (error) {
    return [
      problem(
        subject,
        error,
        "give the predictor's user the right to write there; until then nothing is kept",
      ),
    ];
  }
  return [...roomFindings(subject, directory), ...historyFindings(subject, directory, nowMs)];
}

function roomFindings(subject: string, directory: string): Finding[] {
  const { bavail, bsize } = statfsSync(directory);
  const free = bavail * bsize;
  if (free >= LOW_BYTES)
    return [{ subject, level: "ok", message: `can be written, ${formatBytes(free)} free` }];
  return [
    {
      subject,
      level: free === 0 ? "problem" : "warning",
      message: `only ${formatBytes(free)} free`,
      remedy: "free space or lower store.maxBytes; when it is full new history stays in memory",
    },
  ];
}

function historyFindings(subject: string, directory: string, nowMs: number): Finding[] {
  const findings: Finding[] = [];
  const aside = readdirSync(directory).filter((name) => name.startsWith(`${HISTORY_FILE}.corrupt-`));
  if (aside.length > 0) {
    findings.push({
      subject,
      level: "warning",
      message: `a damaged history was set aside: ${aside[0] ?? ""}`,
      remedy: "check the disk; delete the file when what is in it is not missed",
    });
  }
  const path = join(directory, HISTORY_FILE);
  if (!existsSync(path)) return findings;
  try {
    const tables = openStoreForReading(path);
    const newest = Math.max(
      0,
      ...tables
        .resolutions("windows")
        .map((each) => tables.all("SELECT max(start_ms) AS at FROM windows WHERE resolution = ?", each))
        .map(([row]) => Number(row?.["at"] ?? 0)),
    );
    const size = formatBytes(tables.usedBytes());
    tables.database.close();
    const age =
      newest === 0 ? "no windows yet" : `newest window ${((nowMs - newest) / 60_000).toFixed(0)} min ago`;
    findings.push({ subject, level: "ok", message: `history of ${size}, ${age}` });
  } catch (error) {
    findings.push(
      problem(subject, error, "the predictor sets a damaged history aside when it starts; restart it"),
    );
  }
  return findings;
}
