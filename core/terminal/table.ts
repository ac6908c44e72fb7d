import { padLeft, padRight, widthOf } from "./style.ts";
import type { Paint } from "./style.ts";

/** A column of a table; numbers stand at the right. */
export interface Column {
  readonly title: string;
  readonly align?: "left" | "right";
}

/** A cell that ends its line would look like a row of its own. */
const onOneLine = (cell: string): string => cell.replaceAll("\n", " ");

/**
 * Rows under a dim heading, two spaces between columns. Cells may hold colours.
 * @param rows cells in the order of the columns
 */
export function renderTable(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  paint: Paint,
): string {
  const cells = [columns.map(({ title }) => title), ...rows.map((row) => row.map(onOneLine))];
  const widths = columns.map((_, at) => Math.max(...cells.map((row) => widthOf(row[at] ?? ""))));
  const lines = cells.map((row) =>
    columns
      .map(({ align }, at) => (align === "right" ? padLeft : padRight)(row[at] ?? "", widths[at] ?? 0))
      .join("  ")
      .trimEnd(),
  );
  return [paint("dim", lines[0] ?? ""), ...lines.slice(1)].join("\n");
}
