import { z } from "zod";
import { ListOf } from "./bounded.ts";

/** Characters of an RFC 3339 time with nanoseconds and a zone, and a few more. */
const MOST_TIME_CHARACTERS = 40;

/** A time as the API writes it (RFC 3339), in ms since the epoch; anything else is taken as not said. */
export const Timestamp = z
  .string()
  .nullish()
  .transform((text) => {
    const ms = Date.parse((text ?? "").length > MOST_TIME_CHARACTERS ? "" : (text ?? ""));
    return Number.isNaN(ms) ? undefined : ms;
  });

/** Texts by name, empty where none are given. */
export const StringMap = z
  .unknown()
  .nullish()
  .transform((map, context): Record<string, string> => {
    if (map === undefined || map === null) return {};
    const isMap = typeof map === "object" && !Array.isArray(map);
    if (isMap && Object.values(map).every((value) => typeof value === "string"))
      return map as Record<string, string>;
    context.addIssue("must be texts by name");
    return z.NEVER;
  });

const OwnerReference = z.object({
  kind: z.string(),
  name: z.string(),
  uid: z.string(),
  controller: z.boolean().nullish(),
});

/** The object that controls another one. */
export interface Owner {
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}

const MOST_OWNERS = 100;

export const Controller = ListOf(OwnerReference, MOST_OWNERS).transform((owners): Owner | undefined => {
  const owner = owners.find(({ controller }) => controller === true);
  return owner && { kind: owner.kind, name: owner.name, uid: owner.uid };
});

/** The part of every object's metadata that is used everywhere. */
export const Identity = z.object({
  name: z.string().min(1),
  namespace: z.string().default(""),
  uid: z.string().min(1),
});

/** Of a Deployment's ReplicaSets, then of a Rollout's. */
const REVISION_NUMBERS = ["deployment.kubernetes.io/revision", "rollout.argoproj.io/revision"];
const TEMPLATE_HASHES = ["pod-template-hash", "rollouts-pod-template-hash"];
const firstOf = (names: readonly string[], map: Readonly<Record<string, string>>): string | undefined =>
  names.map((name) => map[name]).find((value) => value !== undefined);

/** `PartialObjectMetadata` of a ReplicaSet: it is only a step from a pod to its Deployment. */
export const Owned = z
  .object({
    metadata: Identity.extend({ annotations: StringMap, labels: StringMap, ownerReferences: Controller }),
  })
  .transform(({ metadata: { annotations, labels, name, namespace, uid, ownerReferences } }) => ({
    name,
    namespace,
    uid,
    owner: ownerReferences,
    /** Rises with each update of the Deployment or Rollout, and when it is rolled back to this ReplicaSet; NaN when not stated. */
    revisionNumber: Number(firstOf(REVISION_NUMBERS, annotations) ?? Number.NaN),
    /** As its pods carry it. */
    revision: firstOf(TEMPLATE_HASHES, labels),
  }));
export type Owned = z.infer<typeof Owned>;

/**
 * Who sets an object back to what a repository says. @returns `Helm release 'shop'`, `Argo CD application 'shop'`, `Flux`;
 * undefined where nothing shows it
 */
export function managerOf({
  annotations,
  labels,
}: Readonly<Record<"annotations" | "labels", Readonly<Record<string, string>>>>): string | undefined {
  const tracked = annotations["argocd.argoproj.io/tracking-id"]?.split(":", 1)[0];
  const application = tracked ?? labels["argocd.argoproj.io/instance"];
  if (application !== undefined) return `Argo CD application '${application}'`;
  if (Object.keys(labels).some((name) => name.includes(".toolkit.fluxcd.io/"))) return "Flux";
  const release = annotations["meta.helm.sh/release-name"];
  if (release !== undefined) return `Helm release '${release}'`;
  return labels["app.kubernetes.io/managed-by"] === "Helm" ? "Helm" : undefined;
}

/** Annotations that steer Tradewind. */
export const ANNOTATIONS = {
  /** The service's name in traces. */
  service: "tradewind.dev/service",
  /** `off`: never resize this workload's pods in place. */
  resize: "tradewind.dev/resize",
  /** Overrides of this workload, or of an Application's services, as JSON. */
  override: "tradewind.dev/override",
} as const;
