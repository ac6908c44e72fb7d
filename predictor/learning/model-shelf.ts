import { contentHash } from "@tradewind/core/hash.ts";
import { TradewindError } from "@tradewind/core/errors.ts";
import { readModel, writeModel } from "../profile/model-file.ts";
import type { ProfileModel } from "../profile/model.ts";
import { TrainedProfile } from "../profile/trained-profile.ts";
import type { WindowStore } from "../store/window-store.ts";

/** A model, and the file it is kept as. */
export interface ShelvedModel {
  /** Names the content of the file. */
  readonly hash: string;
  readonly text: string;
  readonly profile: TrainedProfile;
}

/** Models that are no longer in use but may be asked for by a decision of a while ago. */
const MOST_RETIRED = 256;

/** Name under which a service's models are kept in the store. */
export const modelName = (namespace: string, service: string): string => `profile/${namespace}/${service}`;

/** Trained models by the hash of their file: those used lately in memory, all kept ones in the store. */
export class ModelShelf {
  private readonly store: Pick<WindowStore, "model" | "modelByHash" | "saveModel">;
  /** Least recently asked for first. */
  private readonly models = new Map<string, ShelvedModel>();
  private readonly inUse = new Map<string, string>();

  constructor(store: Pick<WindowStore, "model" | "modelByHash" | "saveModel">) {
    this.store = store;
  }

  /** Keeps a model that was just trained and puts it into use. What is used is what a reader of the file gets. */
  save(model: ProfileModel): ShelvedModel | TradewindError {
    const text = writeModel(model);
    const shelved = shelve(text);
    if (shelved instanceof TradewindError) return shelved;
    const name = modelName(model.namespace, model.service);
    this.store.saveModel({
      name,
      hash: shelved.hash,
      createdAtMs: model.trainedAtMs,
      body: Buffer.from(text, "utf8"),
      metadata: {
        version: model.version,
        rows: model.trainingRows,
        meanAbsoluteRatio: model.errors.meanAbsoluteRatio,
        coverage: model.errors.coverage,
      },
    });
    this.put(name, shelved);
    return shelved;
  }

  /** The newest model of a service that is kept; an error when it is there but cannot be used. */
  newest(namespace: string, service: string): ShelvedModel | TradewindError | undefined {
    const name = modelName(namespace, service);
    const stored = this.store.model(name);
    if (stored === undefined) return undefined;
    const shelved = shelve(Buffer.from(stored.body).toString("utf8"));
    if (shelved instanceof TradewindError) return shelved;
    const { model } = shelved.profile;
    if (model.namespace !== namespace || model.service !== service) {
      return new TradewindError(
        "invalid-profile",
        `the model kept for '${service}' is of '${model.service}'`,
      );
    }
    this.put(name, shelved);
    return shelved;
  }

  /** The model whose file has this hash, in use or not; undefined when it is not kept. */
  byHash(hash: string): ShelvedModel | undefined {
    const known = this.models.get(hash);
    if (known !== undefined) return known;
    const stored = this.store.modelByHash(hash);
    if (stored === undefined) return undefined;
    const shelved = shelve(Buffer.from(stored.body).toString("utf8"));
    return shelved instanceof TradewindError || shelved.hash !== hash ? undefined : shelved;
  }

  private put(name: string, shelved: ShelvedModel): void {
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

function shelve(text: string): ShelvedModel | TradewindError {
  const model = readModel(text);
  if (model instanceof TradewindError) return model;
  return { hash: contentHash(text), text, profile: new TrainedProfile(model) };
}
