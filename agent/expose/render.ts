import type { TextFormat } from "./format.ts";
import { Histogram } from "./histogram.ts";
import type { Column, Table } from "./table.ts";

const CHUNK_CHARACTERS = 32 * 1024;

/**
 * The exposition of all tables in chunks of about 32 KiB, so that thousands of series are never one string in memory.
 * A family without a value is left out. Two tables never share a family.
 */
export function* render(tables: readonly (Table | Histogram)[], format: TextFormat): Generator<string> {
  let chunk = "";
  for (const table of tables) {
    if (table instanceof Histogram) {
      chunk += table.text(format);
      continue;
    }
    let family = "";
    for (const [index, column] of table.columns.entries()) {
      if (column.hidden === true) continue;
      for (const row of table.rows()) {
        const value = row.values[index];
        if (value === undefined || Number.isNaN(value)) continue;
        if (family !== column.name) {
          chunk += header(column, format);
          family = column.name;
        }
        chunk += `${column.name}${labelled(row.labels, column.label)} ${value}\n`;
        if (chunk.length >= CHUNK_CHARACTERS) {
          yield chunk;
          chunk = "";
        }
      }
    }
  }
  if (format === "openmetrics") chunk += "# EOF\n";
  if (chunk !== "") yield chunk;
}

/** The row's labels and the column's. */
function labelled(labels: string, label: string | undefined): string {
  if (label === undefined) return labels;
  return labels === "" ? `{${label}}` : `${labels.slice(0, -1)},${label}}`;
}

/** OpenMetrics names a counter's family without `_total`. */
function header({ name, help, kind }: Column, format: TextFormat): string {
  const family = format === "openmetrics" && kind === "counter" ? name.replace(/_total$/, "") : name;
  const escaped = help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
  return `# HELP ${family} ${escaped}\n# TYPE ${family} ${kind}\n`;
}
