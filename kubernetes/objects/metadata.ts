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

const REVISION_NUMBER = "deployment.kubernetes.io/revision";
const TEMPLATE_HASH = "pod-template-hash";

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
    /** Rises with each update of the Deployment, and when it is rolled back to this ReplicaSet; NaN when not stated. */
    revisionNumber: Number(annotations[REVISION_NUMBER] ?? Number.NaN),
    /** As its pods carry it. */
    revision: labels[TEMPLATE_HASH],
  }));
export type Owned = z.infer<typeof Owned>;

/** Annotations that steer Tradewind. */
export const ANNOTATIONS = {
  /** The service's name in traces. */
  service: "tradewind.dev/service",
  /** `off`: never resize this workload's pods in place. */
  resize: "tradewind.dev/resize",
} as const;
