import { z } from "zod";
import { Identity, StringMap } from "../objects/metadata.ts";
import { HorizontalPodAutoscaler, ScaledObject } from "../objects/autoscaler.ts";
import type { Autoscaler, ScaledObject as ScaledObjectFacts } from "../objects/autoscaler.ts";
import { scalable } from "../objects/scalable.ts";
import type { Scalable } from "../objects/scalable.ts";
import { VerticalPodAutoscaler } from "../objects/vpa.ts";

/** What only `init` needs to know of a workload: whether several of it can share the work. */
const Nature = z.object({
  spec: z.object({
    volumeClaimTemplates: z.array(z.unknown()).nullish(),
    template: z.object({
      spec: z.object({ containers: z.array(z.object({ image: z.string().nullish() })) }),
    }),
  }),
});

const Service = z
  .object({
    metadata: Identity,
    spec: z.object({ type: z.string().nullish(), selector: StringMap }).nullish(),
  })
  .transform(({ metadata: { name, namespace }, spec }) => ({
    name,
    namespace,
    type: spec?.type ?? "ClusterIP",
    selector: spec?.selector ?? {},
  }));
export type FoundService = z.infer<typeof Service>;

const Backend = z.object({ service: z.object({ name: z.string() }).nullish() }).nullish();
const Ingress = z
  .object({
    metadata: Identity,
    spec: z
      .object({
        defaultBackend: Backend,
        rules: z
          .array(z.object({ http: z.object({ paths: z.array(z.object({ backend: Backend })) }).nullish() }))
          .nullish(),
      })
      .nullish(),
  })
  .transform(({ metadata: { name, namespace }, spec }) => ({
    name,
    namespace,
    services: [
      spec?.defaultBackend?.service?.name,
      ...(spec?.rules ?? []).flatMap(({ http }) =>
        (http?.paths ?? []).map(({ backend }) => backend?.service?.name),
      ),
    ].filter((service) => service !== undefined),
  }));
export type FoundIngress = z.infer<typeof Ingress>;

/** A Deployment or StatefulSet with what tells whether it can be scaled out. */
export interface FoundWorkload extends Scalable {
  readonly images: readonly string[];
  readonly ownVolumes: boolean;
}

/** Everything that `init` looks at. */
export interface Found {
  readonly workloads: FoundWorkload[];
  readonly services: FoundService[];
  readonly ingresses: FoundIngress[];
  readonly autoscalers: Autoscaler[];
  readonly scaledObjects: ScaledObjectFacts[];
  readonly vpas: VerticalPodAutoscaler[];
}

export const nothingFound = (): Found => ({
  workloads: [],
  services: [],
  ingresses: [],
  autoscalers: [],
  scaledObjects: [],
  vpas: [],
});

/** Takes up one object of any kind; kinds that are of no use here are passed over. @throws z.ZodError */
export function take(found: Found, kind: string, object: unknown): void {
  switch (kind) {
    case "Deployment":
    case "StatefulSet": {
      const { spec } = Nature.parse(object);
      found.workloads.push({
        ...scalable(kind).parse(object),
        images: spec.template.spec.containers.flatMap(({ image }) => image ?? []),
        ownVolumes: (spec.volumeClaimTemplates ?? []).length > 0,
      });
      break;
    }
    case "Service":
      found.services.push(Service.parse(object));
      break;
    case "Ingress":
      found.ingresses.push(Ingress.parse(object));
      break;
    case "HorizontalPodAutoscaler":
      found.autoscalers.push(HorizontalPodAutoscaler.parse(object));
      break;
    case "ScaledObject":
      found.scaledObjects.push(ScaledObject.parse(object));
      break;
    case "VerticalPodAutoscaler":
      found.vpas.push(VerticalPodAutoscaler.parse(object));
      break;
    default:
      break;
  }
}
