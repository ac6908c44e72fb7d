import type { RecommendationList, ServedRecommendation } from "@tradewind/core/contract/recommendation.ts";
import type { ReadPlan } from "../source/read-plan.ts";
import type { NamespaceView } from "./namespaces.ts";
import type { ServiceWorkload } from "./services.ts";

/** What the leader sees at one moment, the same for all its parts. */
export interface Scene {
  readonly list: RecommendationList;
  /** The plan in force; absent before the first. */
  readonly header: ReadPlan["header"] | undefined;
  /** Wall time. */
  readonly nowMs: number;
  readonly monotonicMs: number;
  readonly view: (namespace: string) => NamespaceView | undefined;
  readonly service: (namespace: string, service: string) => ServiceWorkload | undefined;
  /** The recommendation for a workload, by kind and name. */
  readonly served: (namespace: string, kind: string, name: string) => ServedRecommendation | undefined;
}

/** Something that only the leader does, over and over. Throws only what concerns all of it; what concerns one object it deals with. */
export interface LeaderPart {
  readonly name: string;
  reconcile(scene: Scene, signal: AbortSignal): Promise<void>;
}
