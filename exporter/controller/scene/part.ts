import type { SharedName } from "@tradewind/core/contract/application-list.ts";
import type { RecommendationList, ServedRecommendation } from "@tradewind/core/contract/recommendation.ts";
import type { ApplicationMode } from "@tradewind/core/contract/plan.ts";
import type { ConfigurationReading } from "@tradewind/kubernetes/application/resource.ts";
import type { ReadPlan } from "../../plans/read-plan.ts";
import type { NamespaceView } from "./namespaces.ts";
import type { ServiceWorkload } from "./services.ts";

/** What the leader sees at one moment, the same for all its parts. */
export interface Scene {
  readonly list: RecommendationList;
  /** One for each application: its plan, and what is recommended for it. */
  readonly applications: readonly SceneApplication[];
  /** Wall time. */
  readonly nowMs: number;
  readonly monotonicMs: number;
  readonly view: (namespace: string) => NamespaceView | undefined;
  readonly service: (namespace: string, service: string) => ServiceWorkload | undefined;
  /** Whether a ScaledObject holds KEDA still for its service, or asks for what the HPA would multiply. */
  readonly isPaused: (namespace: string, service: string) => boolean;
  /** Whether something else scales the workload of a service too. */
  readonly isContested: (namespace: string, service: string) => boolean;
  /** The recommendation for a workload, by kind and name. */
  readonly served: (namespace: string, kind: string, name: string) => ServedRecommendation | undefined;
}

/** One application, and what the leader knows of it. */
export interface SceneApplication {
  /** Absent where it is not known. */
  readonly place: { readonly namespace: string; readonly name: string } | undefined;
  /** Its plan in force; absent before the first. */
  readonly header: ReadPlan["header"] | undefined;
  readonly list: RecommendationList;
  /** A larger change of a container waits for a person; absent where none does. */
  readonly approvalRatio?: number | undefined;
  /** What is wrong with its newest configuration. */
  readonly problem?: string | undefined;
  /** Its services whose names another application has too. */
  readonly sharedNames?: readonly SharedName[] | undefined;
  /** How the scaler itself read that configuration; absent where it does not. */
  readonly reading?: ConfigurationReading;
}

/** The application that a recommendation is of; the only one where there are not several. */
export function applicationIn(
  { applications }: Scene,
  served: ServedRecommendation | undefined,
): SceneApplication | undefined {
  if (applications.length === 1) return applications[0];
  return applications.find(
    ({ place }) => place?.name === served?.application && place?.namespace === served?.namespace,
  );
}

/**
 * What may be written about a recommendation: nothing of an application before its first plan since the start, and nothing of a
 * service that KEDA is held still for, or that a person pauses.
 */
export function modeIn(scene: Scene, served: ServedRecommendation | undefined): ApplicationMode | undefined {
  const isPaused = served?.override?.kind === "pause";
  if (served !== undefined && (isPaused || scene.isPaused(served.namespace, served.service)))
    return "observe";
  const application = applicationIn(scene, served);
  return application === undefined ? undefined : modeOf(application);
}

export const modeOf = ({ header }: SceneApplication): ApplicationMode | undefined =>
  header === undefined ? "observe" : header.mode;

/** Something that only the leader does, over and over. Throws only what concerns all of it; what concerns one object it deals with. */
export interface LeaderPart {
  readonly name: string;
  reconcile(scene: Scene, signal: AbortSignal): Promise<void>;
}
