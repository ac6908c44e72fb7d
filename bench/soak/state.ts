import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { trendOf } from "../statistics.ts";
import type { Sample, Trend } from "../statistics.ts";

/** What lies in a state directory and its history, over time. */
export class StateSamples {
  private readonly directory: string;
  private readonly database: string;
  private readonly bytes: Sample[] = [];
  private readonly rows = new Map<string, Sample[]>();

  /** @param database SQLite file whose rows are counted */
  constructor(directory: string, database: string) {
    this.directory = directory;
    this.database = database;
  }

  sample(atSeconds: number): void {
    this.bytes.push({ atSeconds, value: bytesIn(this.directory) });
    for (const [table, value] of rowsOf(this.database)) {
      const samples = this.rows.get(table) ?? [];
      samples.push({ atSeconds, value });
      this.rows.set(table, samples);
    }
  }

  figures(): { diskBytes: Trend; rows: Record<string, Trend> } {
    const rows = [...this.rows].map(([table, samples]) => [table, trendOf(samples)] as const);
    return { diskBytes: trendOf(this.bytes), rows: Object.fromEntries(rows) };
  }
}

/** Files come and go while they are counted. */
function bytesIn(directory: string): number {
  let sum = 0;
  for (const entry of readdirSync(directory, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue;
    sum += statSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false })?.size ?? 0;
  }
  return sum;
}

/** Nothing while the file is not there yet, or is being written to by a process that starts. */
function rowsOf(path: string): [table: string, rows: number][] {
  try {
    using database = new DatabaseSync(path, { readOnly: true, timeout: 1_000 });
    const tables = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
    return tables.map(({ name }) => {
      const row = database.prepare(`SELECT count(*) AS count FROM "${String(name)}"`).get();
      return [String(name), Number(row?.["count"])];
    });
  } catch {
    return [];
  }
}
