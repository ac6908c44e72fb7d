/** What Prometheus is told about one column of a table. */
export interface Column {
  /** Full metric name; counters end in `_total`. */
  readonly name: string;
  readonly help: string;
  readonly kind: "counter" | "gauge";
  /**
   * A label of the column's own, rendered, for example `component="cpu"`. Columns of one name stand side by side and
   * make one family.
   */
  readonly label?: string;
  /** Kept, and left out of the exposition. */
  readonly hidden?: boolean;
}

/** One labelled object (a device, a container) and its values, NaN where nothing was read. */
export interface Row {
  /** Rendered labels, for example `{device="sda"}`, or empty. */
  readonly labels: string;
  readonly values: Float64Array;
}

/**
 * Metric families that share their labels: one column a family, one row a labelled object. A row that is deleted
 * leaves no series behind. Absent values stay NaN inside and are never written out.
 */
export class Table {
  readonly columns: readonly Column[];
  readonly #rows = new Map<string, Row>();

  constructor(columns: readonly Column[]) {
    this.columns = columns;
  }

  get size(): number {
    return this.#rows.size;
  }

  /** The row of `key`, made with `labels` when it is new. */
  row(key: string, labels: Readonly<Record<string, string | undefined>> = {}): Row {
    let row = this.#rows.get(key);
    if (row === undefined) {
      row = { labels: renderLabels(labels), values: new Float64Array(this.columns.length).fill(Number.NaN) };
      this.#rows.set(key, row);
    }
    return row;
  }

  /** Gives a row new labels and keeps its values. */
  relabel(key: string, labels: Readonly<Record<string, string | undefined>>): void {
    const row = this.#rows.get(key);
    if (row !== undefined) this.#rows.set(key, { labels: renderLabels(labels), values: row.values });
  }

  delete(key: string): void {
    this.#rows.delete(key);
  }

  /** Deletes the rows whose key is not among `keys`. */
  retain(keys: ReadonlySet<string>): void {
    for (const key of this.#rows.keys()) if (!keys.has(key)) this.#rows.delete(key);
  }

  clear(): void {
    this.#rows.clear();
  }

  rows(): IterableIterator<Row> {
    return this.#rows.values();
  }
}

const ESCAPES: Readonly<Record<string, string>> = { "\\": "\\\\", '"': '\\"', "\n": "\\n" };

/** `{a="1",b="2"}` in the order given; absent and empty labels are left out. */
export function renderLabels(labels: Readonly<Record<string, string | undefined>>): string {
  const parts: string[] = [];
  for (const [name, value] of Object.entries(labels)) {
    if (value === undefined || value === "") continue;
    parts.push(`${name}="${value.replaceAll(/[\\"\n]/g, (character) => ESCAPES[character] ?? character)}"`);
  }
  return parts.length === 0 ? "" : `{${parts.join(",")}}`;
}
