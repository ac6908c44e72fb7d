import { z } from "zod";
import { NonNegative, ObjectName, ServiceName } from "./quantity.ts";

export const APPLICATION_LIST_SCHEMA = "tradewind.dev/applications/v1";

/**
 * `planned`: it has a valid configuration, by which plans are made; `problem` may still say that a newer one is not valid. `invalid`:
 * it never had one, and nothing is planned for it. `deleted`: it was planned until its configuration was removed.
 */
export const APPLICATION_STATES = ["planned", "invalid", "deleted"] as const;
export type ApplicationState = (typeof APPLICATION_STATES)[number];

/**
 * What follows for an application where another one has a service of the same name, for spans that state no namespace. `keeps`: they are its
 * own, since it had the name first. `yields`: they are the other's. `shared`: it is not known who had it first, and both get them.
 */
export const NAME_OUTCOMES = ["keeps", "yields", "shared"] as const;
export const SharedName = z.strictObject({ service: ServiceName, outcome: z.enum(NAME_OUTCOMES) });
export type SharedName = z.infer<typeof SharedName>;
/** Services of one application whose names another one has too, as many as are listed. */
export const MOST_SHARED_NAMES = 100;

/** One application as a predictor knows it. */
export const ListedApplication = z.strictObject({
  /** Absent where a file cannot be read far enough to know them. */
  namespace: ObjectName.optional(),
  name: ObjectName.optional(),
  /** Where its configuration is: a path, or `crd:namespace/name`. */
  origin: z.string().min(1).max(4_096),
  state: z.enum(APPLICATION_STATES),
  /** What is wrong with it, and what to do. */
  problem: z.string().max(1_000).optional(),
  sharedNames: z.array(SharedName).max(MOST_SHARED_NAMES).optional(),
  /** Time since its last plan; absent before the first. */
  planAgeSeconds: NonNegative.optional(),
});
export type ListedApplication = z.infer<typeof ListedApplication>;

/** Everything a predictor plans: its `GET /v1/applications`. */
export const ApplicationList = z.strictObject({
  schema: z.literal(APPLICATION_LIST_SCHEMA),
  /** Whether it may plan more than one: plans are then asked for by namespace and name. */
  several: z.boolean(),
  applications: z.array(ListedApplication).max(10_000),
});
export type ApplicationList = z.infer<typeof ApplicationList>;

/** Names an application; neither part can hold a slash. */
export const applicationKey = ({ name, namespace }: { namespace: string; name: string }): string =>
  `${namespace}/${name}`;

/** An application as what belongs to it names it. */
export interface ApplicationRef {
  readonly namespace: string;
  readonly application: string;
}

export const applicationRefKey = ({ application: name, namespace }: ApplicationRef): string =>
  applicationKey({ name, namespace });

/** Applications that a refusal names. */
const MOST_NAMES = 8;

/** Tells a caller who named no application, or none that is planned, how to name one. @param keys see {@link applicationKey} */
export const askForOne = (keys: readonly string[]): string =>
  `name one application: --application NAME, with --namespace NAMESPACE where two have that name (?namespace=&application= of the API); ` +
  `there are ${keys.slice(0, MOST_NAMES).join(", ")}${keys.length > MOST_NAMES ? ` and ${keys.length - MOST_NAMES} more` : ""}`;
