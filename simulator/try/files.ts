import { yamlDocument } from "@tradewind/kubernetes/init/document.ts";
import { APPLICATION_FILE, SCHEMA_FILE, withEditorSchema } from "@tradewind/kubernetes/init/editor-schema.ts";
import type { InitResult } from "@tradewind/kubernetes/init/init.ts";

/** A file by its path in the folder that is written. */
export interface TryFile {
  readonly name: string;
  readonly text: string;
}

/** Where the metrics are, as the values of the chart say it. */
export interface MetricsAddress {
  readonly url: string;
  /** False for an address that only this machine has, such as that of a port-forward. */
  readonly isOfCluster: boolean;
  readonly namespaces: readonly string[];
  readonly matchers: Readonly<Record<string, string>>;
}

/** Folders for `kubectl apply -k`, Argo CD and Flux: what may be applied at any time, what ends the HPAs, and the way back. */
export const FOLDERS = { observe: "1-observe", act: "2-act", back: "back" } as const;

const kustomization = (resources: readonly string[]): string =>
  yamlDocument(
    { apiVersion: "kustomize.config.k8s.io/v1beta1", kind: "Kustomization", resources: [...resources] },
    [],
  );

/** What to apply: the same findings give the same bytes. */
export function filesOf(
  { files, surveyed }: InitResult,
  namespace: string,
  metrics: MetricsAddress | undefined,
): TryFile[] {
  const folderOf = (name: string): string =>
    name === APPLICATION_FILE || name === SCHEMA_FILE ? FOLDERS.observe : FOLDERS.act;
  const written = withEditorSchema(files).map(({ name, text }) => ({
    name: `${folderOf(name)}/${name}`,
    text,
  }));
  const own = [...new Set(files.map(({ name }) => folderOf(name)))].map((folder) => ({
    name: `${folder}/kustomization.yaml`,
    text: kustomization(files.map(({ name }) => name).filter((name) => folderOf(name) === folder)),
  }));
  const autoscalers = surveyed.workloads.flatMap(({ autoscaler, scaledObject }) =>
    autoscaler === undefined || scaledObject !== undefined ? [] : [autoscaler],
  );
  const back = autoscalers.map(({ name, spec }) =>
    yamlDocument(
      {
        apiVersion: "scalers" in spec ? "autoscaling/v1" : "autoscaling/v2",
        kind: "HorizontalPodAutoscaler",
        metadata: { name, namespace },
        spec: { ...spec },
      },
      [],
    ),
  );
  const hpas = "horizontal-pod-autoscalers.yaml";
  return [
    { name: "values.yaml", text: valuesYaml(namespace, metrics) },
    ...written,
    ...own,
    ...(back.length === 0
      ? []
      : [
          { name: `${FOLDERS.back}/${hpas}`, text: back.join("---\n") },
          { name: `${FOLDERS.back}/kustomization.yaml`, text: kustomization([hpas]) },
        ]),
  ];
}

function valuesYaml(namespace: string, metrics: MetricsAddress | undefined): string {
  const source = metrics && {
    name: "prometheus",
    url: metrics.url,
    resources: true,
    ...(metrics.namespaces.length > 0 && { namespaces: [...metrics.namespaces] }),
    ...(Object.keys(metrics.matchers).length > 0 && { matchers: metrics.matchers }),
  };
  const object = {
    global: { image: { registry: "registry.example.com/team" } },
    watchNamespaces: [namespace],
    application: { from: "Namespaces", ...(source && { sources: { prometheus: [source] } }) },
  };
  return yamlDocument(object, [
    { path: ["global", "image", "registry"], beside: "where npm run images -- --push put them" },
    ...(metrics === undefined || metrics.isOfCluster
      ? []
      : [
          {
            path: ["application", "sources", "prometheus", 0, "url"],
            beside: "an address of this machine: write the one that pods of the cluster use",
          },
        ]),
  ]);
}
