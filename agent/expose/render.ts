import type { Column, Table } from "./table.ts";

/** The two text formats of Prometheus: text 0.0.4 and OpenMetrics 1.0.0. */
export type TextFormat = "text" | "openmetrics";

export const CONTENT_TYPES: Readonly<Record<TextFormat, string>> = {
  text: "text/plain; version=0.0.4; charset=utf-8",
  openmetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8",
};

const CHUNK_CHARACTERS = 32 * 1024;

/**
 * The exposition of all tables in chunks of about 32 KiB, so that thousands of series are never one string in memory.
 * A family without a value is left out. Two tables never share a family.
 */
export function* render(tables: readonly Table[], format: TextFormat): Generator<string> {
  let chunk = "";
  for (const table of tables) {
    for (const [index, column] of table.columns.entries()) {
      let headed = false;
      for (const row of table.rows()) {
        const value = row.values[index];
        if (value === undefined || Number.isNaN(value)) continue;
        if (!headed) {
          chunk += header(column, format);
          headed = true;
        }
        chunk += `${column.name}${row.labels} ${value}\n`;
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

/** OpenMetrics names a counter's family without `_total`. */
function header({ name, help, kind }: Column, format: TextFormat): string {
  const family = format === "openmetrics" && kind === "counter" ? name.replace(/_total$/, "") : name;
  const escaped = help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
  return `# HELP ${family} ${escaped}\n# TYPE ${family} ${kind}\n`;
}

/** Picks the format by the `Accept` header: OpenMetrics when it is asked for at least as much as plain text. */
export function negotiate(accept: string | undefined): TextFormat {
  let openmetrics = 0;
  let text = 0;
  for (const part of (accept ?? "").slice(0, 2000).split(",")) {
    const [type = "", ...parameters] = part.split(";").map((field) => field.trim().toLowerCase());
    const q = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2);
    const quality = q === undefined ? 1 : Number(q);
    if (!(quality > 0)) continue;
    if (type === "application/openmetrics-text") openmetrics = Math.max(openmetrics, quality);
    else if (type === "text/plain") text = Math.max(text, quality);
  }
  return openmetrics > 0 && openmetrics >= text ? "openmetrics" : "text";
}
