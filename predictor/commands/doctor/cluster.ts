import { z } from "zod";
import { describeError } from "@tradewind/core/values/errors.ts";
import { ApiError } from "@tradewind/kubernetes/client/api-error.ts";
import { ApiClient } from "@tradewind/kubernetes/client/client.ts";
import { connect } from "@tradewind/kubernetes/client/connect.ts";
import { apiVersionOf, RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import type { Resource } from "@tradewind/kubernetes/client/resources.ts";
import { PERMISSIONS } from "@tradewind/kubernetes/client/rights.ts";
import type { Permission } from "@tradewind/kubernetes/client/rights.ts";
import { parseApplication } from "@tradewind/kubernetes/application/file.ts";
import { ApplicationFiles } from "@tradewind/kubernetes/application/files.ts";
import {
  applicationSources,
  pathsOf,
  resourceNamespaces,
} from "@tradewind/kubernetes/application/sources.ts";
import type { ApplicationSource } from "@tradewind/kubernetes/application/sources.ts";
import type { ApplicationPlace } from "@tradewind/kubernetes/application/resource.ts";
import { scalableKinds } from "@tradewind/kubernetes/workloads/discovery.ts";
import {
  isKind,
  namedWorkloads,
  NamingServices,
  unknownKind,
} from "@tradewind/kubernetes/workloads/named-kinds.ts";
import { examinePlacement } from "./placement.ts";
import { examineScaledObjects } from "./scaled-objects.ts";
import { watchedNamespaces } from "../../sources/kubernetes/workloads.ts";
import type { Finding } from "../../sources/source.ts";
import type { DoctorOptions } from "./options.ts";

const DEFAULT_NAMESPACE = "default";
const RIGHTS = "give the service account what docs/kubernetes.md lists";

const Review = z.object({ status: z.object({ allowed: z.boolean() }) });
const Listed = z.object({
  items: z
    .array(
      z.object({
        metadata: z.object({ name: z.string(), namespace: z.string() }),
        spec: z.record(z.string(), z.unknown()),
      }),
    )
    .nullish(),
});

/** Whether the predictor would talk to a cluster with these options. */
export function usesCluster({ config, workloads }: DoctorOptions): boolean {
  return config.some((each) => each.startsWith("crd:")) || /^kubernetes(:|$)/.test(workloads ?? "");
}

/** Looks whether the cluster can be read as the predictor reads it. Never throws. */
export async function examineCluster(options: DoctorOptions): Promise<Finding[]> {
  const { config, kubeconfig, timeoutSeconds, workloads } = options;
  let client: ApiClient | undefined;
  try {
    const sources = await applicationSources(config);
    const own = resourceNamespaces(sources);
    const namespaces = watchedNamespaces(workloads ?? "kubernetes", own ?? [DEFAULT_NAMESPACE]);
    const connection = await connect({ kubeconfig, environment: process.env });
    client = new ApiClient(connection, { deadlineMs: timeoutSeconds * 1e3 });
    const places = namespaces === undefined || namespaces.length === 0 ? [undefined] : namespaces;
    const rights = await examineRights(client, namespaces ?? [], own !== undefined);
    const scaledObjects = await examineScaledObjects(client, places);
    const applications = await examineApplications(client, sources);
    const placement = await examinePlacement(client, places);
    return [...rights, ...placement, ...scaledObjects, ...applications];
  } catch (error) {
    const subject = client === undefined ? "cluster" : `cluster ${client.server}`;
    return [
      {
        subject,
        level: "problem",
        message: describeError(error).slice(0, 500),
        remedy: "check the API server's address, the service account or the kubeconfig",
      },
    ];
  } finally {
    await client?.close();
  }
}

async function examineRights(
  client: ApiClient,
  namespaces: readonly string[],
  withApplication: boolean,
): Promise<Finding[]> {
  const subject = `cluster ${client.server}`;
  const wanted = PERMISSIONS.filter(
    ({ account, block, verbs }) =>
      account === "predictor" &&
      verbs.includes("watch") &&
      (block === "workloads" || block === "nodes" || (block === "application" && withApplication)),
  );
  const places = namespaces.length === 0 ? [undefined] : namespaces;
  const asked = wanted.flatMap((permission) =>
    (permission.scope === "cluster" ? [undefined] : places).flatMap((namespace) =>
      permission.verbs.map((verb) => ({ permission, namespace, verb })),
    ),
  );
  const refused = (
    await Promise.all(
      asked.map(async (each) =>
        (await isAllowed(client, each.permission, each.verb, each.namespace)) ? [] : [each],
      ),
    )
  ).flat();
  if (refused.length === 0) {
    const where = namespaces.length === 0 ? "in all namespaces" : `in ${namespaces.join(", ")}`;
    return [{ subject, level: "ok", message: `workloads can be read ${where}` }];
  }
  return refused.map(({ namespace, permission, verb }) => ({
    subject,
    // Without these something is not known; without the others nothing is.
    level: isNeeded(permission) ? "problem" : "warning",
    message: `may not ${verb} ${permission.resource}${namespace === undefined ? "" : ` in namespace '${namespace}'`}: ${permission.why}`,
    remedy: RIGHTS,
  }));
}

const HELPFUL = new Set([
  "limitranges",
  "poddisruptionbudgets",
  "resourcequotas",
  "scaledobjects",
  "horizontalpodautoscalers",
]);

const isNeeded = ({ block, resource }: Permission): boolean => block !== "nodes" && !HELPFUL.has(resource);

async function isAllowed(
  client: ApiClient,
  { apiGroup: group, resource, resourceNames: [name] = [] }: Permission,
  verb: string,
  namespace: string | undefined,
): Promise<boolean> {
  const kind: Resource = RESOURCES.selfSubjectAccessReviews;
  const answer = await client.create(
    { resource: kind },
    {
      apiVersion: apiVersionOf(kind),
      kind: kind.kind,
      spec: {
        resourceAttributes: {
          group,
          resource,
          verb,
          ...(name !== undefined && { name }),
          ...(namespace !== undefined && { namespace }),
        },
      },
    },
  );
  return Review.parse(answer).status.allowed;
}

async function examineApplications(
  client: ApiClient,
  sources: readonly ApplicationSource[],
): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const source of sources) {
    if (source.kind === "resource" || source.kind === "namespace")
      findings.push(...(await examineApplication(client, source)));
  }
  const files = new ApplicationFiles(pathsOf(sources), 0);
  await files.read();
  for (const { application, origin } of files.entries())
    if (application !== undefined)
      findings.push(...(await examineKinds(client, application, `configuration ${origin}`)));
  return findings;
}

/** One Application by its name, or every one of a namespace. */
async function examineApplication(
  client: ApiClient,
  { name, namespace }: { readonly namespace: string | undefined; readonly name?: string },
): Promise<Finding[]> {
  const subject = `Application ${namespace ?? "*"}/${name ?? "*"}`;
  const place = { resource: RESOURCES.applications, ...(namespace !== undefined && { namespace }) };
  try {
    const query = name === undefined ? {} : { fieldSelector: `metadata.name=${name}` };
    const { items } = Listed.parse(await client.call({ ...place, verb: "list", query }));
    if (items === undefined || items === null || items.length === 0) {
      const remedy = "kubectl apply one; tradewind init writes it";
      return [{ subject, level: "problem", message: "there is no such resource", remedy }];
    }
    const findings = items.map(({ metadata, spec }) => judged(metadata, spec));
    const kinds = items.map(async ({ metadata: { name: own, namespace: place }, spec: { services } }) =>
      examineKinds(client, { namespace: place, services }, `Application ${place}/${own}`),
    );
    return [...findings, ...(await Promise.all(kinds)).flat()];
  } catch (error) {
    const absent = error instanceof ApiError && error.isMissing;
    return [
      {
        subject,
        level: "problem",
        message: absent ? "the cluster does not know this kind" : describeError(error).slice(0, 500),
        remedy: absent
          ? "kubectl apply -f charts/tradewind/crds"
          : "correct the resource, or the rights to read it",
      },
    ];
  }
}

/** Whether the cluster has the kinds of workloads that an application names. */
async function examineKinds(
  client: ApiClient,
  { namespace, services }: { readonly namespace: string; readonly services?: unknown },
  subject: string,
): Promise<Finding[]> {
  const named = namedWorkloads([{ namespace, services: NamingServices.safeParse(services).data ?? [] }]);
  if (named.length === 0) return [];
  const known = await scalableKinds(client);
  return named.flatMap((each): Finding[] =>
    known.some((kind) => isKind(kind, each))
      ? []
      : [
          {
            subject,
            level: "problem",
            message: unknownKind(each),
            remedy: "correct services[].workload, or install the kind",
          },
        ],
  );
}

function judged(place: ApplicationPlace, spec: Record<string, unknown>): Finding {
  const subject = `Application ${place.namespace}/${place.name}`;
  try {
    const { name, namespace } = place;
    const { entries } = parseApplication({ ...spec, name, namespace }, subject);
    return { subject, level: "ok", message: `entry ${entries.join(", ")}` };
  } catch (error) {
    const message = describeError(error).slice(0, 500);
    return { subject, level: "problem", message, remedy: "correct the resource; the others are planned" };
  }
}
