import { contentHash } from "@tradewind/core/values/hash.ts";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import type { WindowStore } from "../store/window-store.ts";

/** A model, and the file it is kept as. */
export interface ShelvedModel<Model> {
  /** Names the content of the file. */
  readonly hash: string;
  readonly text: string;
  readonly model: Model;
}

/** Models that are no longer in use but may be asked for by a decision of a while ago. */
const MOST_RETIRED = 256;

type ModelStore = Pick<WindowStore, "model" | "modelByHash" | "saveModel">;

/** Name under which a service's residuals are kept in the store. */
export const residualName = (namespace: string, service: string): string =>
  `residual/${namespace}/${service}`;

/**
 * Trained models of one kind by the hash of their file: those used lately in memory, all kept ones in the store.
 * What is used is what a reader of the file gets.
 */
export class ModelShelf<Model> {
  private readonly store: ModelStore;
  private readonly read: (text: string) => Model | TradewindError;
  /** Least recently asked for first. */
  private readonly models = new Map<string, ShelvedModel<Model>>();
  private readonly inUse = new Map<string, string>();

  /** @param read reads a file; what is no model of this kind comes back as an error */
  constructor(store: ModelStore, read: (text: string) => Model | TradewindError) {
    this.store = store;
    this.read = read;
  }

  /** Keeps the file of a model that was just trained and puts it into use. */
  save(
    name: string,
    text: string,
    facts: { readonly createdAtMs: number; readonly metadata: Readonly<Record<string, unknown>> },
  ): ShelvedModel<Model> | TradewindError {
    const shelved = this.shelve(text);
    if (shelved instanceof TradewindError) return shelved;
    this.store.saveModel({ name, hash: shelved.hash, body: Buffer.from(text, "utf8"), ...facts });
    this.put(name, shelved);
    return shelved;
  }

  /** The model whose file has this hash, in use or not; undefined when it is not kept. */
  byHash(hash: string): ShelvedModel<Model> | undefined {
    const known = this.models.get(hash);
    if (known !== undefined) return known;
    const stored = this.store.modelByHash(hash);
    if (stored === undefined) return undefined;
    const shelved = this.shelve(Buffer.from(stored.body).toString("utf8"));
    return shelved instanceof TradewindError || shelved.hash !== hash ? undefined : shelved;
  }

  private shelve(text: string): ShelvedModel<Model> | TradewindError {
    const model = this.read(text);
    return model instanceof TradewindError ? model : { hash: contentHash(text), text, model };
  }

  private put(name: string, shelved: ShelvedModel<Model>): void {
    this.inUse.set(name, shelved.hash);
    this.models.delete(shelved.hash);
    this.models.set(shelved.hash, shelved);
    const used = new Set(this.inUse.values());
    for (const hash of this.models.keys()) {
      if (this.models.size <= used.size + MOST_RETIRED) break;
      if (!used.has(hash)) this.models.delete(hash);
    }
  }
}
