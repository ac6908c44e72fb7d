import { expect } from "vitest";
import { parseAllDocuments } from "yaml";
import { initialise } from "@tradewind/kubernetes/init/init.ts";
import type { InitOptions, InitResult } from "@tradewind/kubernetes/init/init.ts";
import { readManifests } from "@tradewind/kubernetes/init/read-manifests.ts";

export type Manifest = { readonly kind: string; readonly [field: string]: unknown };

/** Of the shop of these tests. */
export const OPTIONS: InitOptions = {
  name: "shop",
  nameGiven: false,
  namespace: "shop",
  entry: undefined,
  objectiveMilliseconds: 250,
  exclude: [],
  include: [],
  scalerAddress: "tradewind-scaler.tradewind.svc.cluster.local:9813",
  vpa: true,
  resize: false,
  accept: false,
};

export interface WorkloadFacts {
  readonly kind?: string;
  /** Added to the only container. */
  readonly container?: object;
  readonly sidecars?: readonly object[];
  readonly volumes?: readonly object[];
  readonly spec?: object;
  readonly labels?: Record<string, string>;
  readonly annotations?: Record<string, string>;
  readonly replicas?: number;
}

export const workload = (
  name: string,
  image: string,
  {
    annotations,
    container,
    kind = "Deployment",
    labels,
    replicas = 1,
    sidecars = [],
    spec,
    volumes,
  }: WorkloadFacts = {},
): Manifest => ({
  apiVersion: kind === "Rollout" ? "argoproj.io/v1alpha1" : "apps/v1",
  kind,
  metadata: { name },
  spec: {
    replicas,
    template: {
      metadata: { labels: { app: name, ...labels }, annotations },
      spec: { containers: [{ name: "main", image, ...container }, ...sidecars], volumes },
    },
    ...spec,
  },
});

export const service = (name: string, port: number | object = 8080, spec: object = {}): Manifest => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name },
  spec: { selector: { app: name }, ports: [typeof port === "number" ? { port } : port], ...spec },
});

/** A workload that is certainly a service, with a route to it. */
export const WEB: readonly Manifest[] = [
  workload("shop", "acme/shop:1"),
  service("shop", 80, { type: "LoadBalancer" }),
];

export async function write(
  manifests: readonly Manifest[],
  options: Partial<InitOptions> = {},
): Promise<InitResult> {
  const text = JSON.stringify({ kind: "List", items: manifests });
  const { found, notes } = await readManifests(["-"], "shop", async () => text);
  expect(notes).toEqual([]);
  return initialise(found, { ...OPTIONS, ...options });
}

/** What the tests look at of an object that was written. */
interface WrittenObject {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly entry: string;
    readonly services: readonly { readonly name: string; readonly workload?: object }[];
    readonly scaleTargetRef?: unknown;
    readonly advanced?: { readonly horizontalPodAutoscalerConfig: { readonly behavior: unknown } };
    readonly resourcePolicy?: { readonly containerPolicies: readonly unknown[] };
  };
}

export const objectsIn = ({ files }: InitResult): WrittenObject[] =>
  files.flatMap(({ yaml }) =>
    parseAllDocuments(yaml).map((document) => (document as { toJS(): unknown }).toJS() as WrittenObject),
  );

export const applicationIn = (result: InitResult): WrittenObject["spec"] => objectsIn(result)[0]!.spec;

/** Whether a workload is handed over, else why it is not. */
export async function fateOf(name: string, manifests: readonly Manifest[]): Promise<string> {
  const result = await write([...WEB, ...manifests], { accept: true });
  const scaled = objectsIn(result).some(
    ({ kind, metadata }) => kind === "ScaledObject" && metadata.name === name,
  );
  const note = result.notes.find((each) => each.startsWith(`left out: ${name}: `));
  expect(scaled).toBe(note === undefined);
  return note?.slice(`left out: ${name}: `.length) ?? "taken";
}
