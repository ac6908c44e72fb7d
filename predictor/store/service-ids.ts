import type { SQLInputValue } from "node:sqlite";

/** What of the store's tables this needs. */
interface Statements {
  run(sql: string, ...values: readonly SQLInputValue[]): number;
  all(sql: string, ...values: readonly SQLInputValue[]): readonly Readonly<Record<string, unknown>>[];
}

/** Ids held in memory; a store that knows more services asks the database again. */
const MOST_CACHED = 20_000;

/** The rows that stand for services in the store. Every window refers to one. */
export class ServiceIds {
  private readonly tables: Statements;
  private readonly cached = new Map<string, number>();
  /** Ids up to this one were looked at by {@link prune}. */
  private prunedTo = 0;

  constructor(tables: Statements) {
    this.tables = tables;
  }

  /** The id of a service, a new one when the store does not know it yet. */
  idOf(namespace: string, service: string): number {
    const key = `${namespace}/${service}`;
    const known = this.cached.get(key);
    if (known !== undefined) return known;
    const { tables } = this;
    tables.run("INSERT OR IGNORE INTO services (namespace, service) VALUES (?, ?)", namespace, service);
    const [row] = tables.all(
      "SELECT id FROM services WHERE namespace = ? AND service = ?",
      namespace,
      service,
    );
    const id = Number(row?.["id"]);
    if (this.cached.size >= MOST_CACHED) this.cached.clear();
    this.cached.set(key, id);
    return id;
  }

  /** Forgets the ids in memory: a transaction that made some was undone. */
  clear(): void {
    this.cached.clear();
  }

  /** Whether {@link prune} has come to the end and will begin from the first service again. */
  get areLookedThrough(): boolean {
    return this.prunedTo === 0;
  }

  /**
   * Removes services that no window refers to, looking at `count` of them: those after the ones looked at last, and from the
   * first again after the last.
   * @returns how many were removed
   */
  prune(count: number): number {
    const { prunedTo: from, tables } = this;
    const ids = tables.all("SELECT id FROM services WHERE id > ? ORDER BY id LIMIT ?", from, count);
    const to = Number(ids.at(-1)?.["id"] ?? from);
    this.prunedTo = ids.length < count ? 0 : to;
    const removed = tables.run(
      "DELETE FROM services WHERE id > ? AND id <= ? AND NOT EXISTS (SELECT 1 FROM windows WHERE service_id = services.id)",
      from,
      to,
    );
    if (removed > 0) this.cached.clear();
    return removed;
  }
}
