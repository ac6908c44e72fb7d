import { POLICY_CHOICES } from "@tradewind/core/contract/policy-choice.ts";
import { Application } from "@tradewind/core/contract/application.ts";
import { MAX_INTENSITY, MIN_INTENSITY } from "@tradewind/local/interference/anomaly.ts";
import { TRACE_SECTIONS } from "@tradewind/predictor/sources/trace-sources.ts";
import { z } from "zod";

type Schema = Readonly<Record<string, unknown>>;

const text: Schema = { type: "string" };
const flag: Schema = { type: "boolean" };
const map: Schema = { type: "object" };
const list: Schema = { type: "array" };
const traceSources = Object.fromEntries(Object.keys(TRACE_SECTIONS).map((name) => [name, list]));
const texts: Schema = { type: "array", items: text };
const textMap: Schema = { type: "object", additionalProperties: text };
/** As Go and Tradewind both write durations in flags. */
const duration: Schema = { type: "string", pattern: "^[0-9]+(\\.[0-9]+)?(ms|s|m|h)$" };
const optionalDuration: Schema = { type: "string", pattern: "^$|^[0-9]+(\\.[0-9]+)?(ms|s|m|h)$" };
const hours: Schema = { type: "string", pattern: "^[0-9]+(h|m|s)$" };
const size: Schema = { type: "string", pattern: "^[0-9]+(\\.[0-9]+)?([EPTGMk]i?)?$" };
const count = (minimum: number, maximum: number): Schema => ({ type: "integer", minimum, maximum });
const choice = (...values: readonly string[]): Schema => ({ type: "string", enum: values });
const namespace: Schema = { type: "string", maxLength: 63, pattern: "^(\\*|[a-z0-9]([-a-z0-9]*[a-z0-9])?)$" };
const optionalNamespace: Schema = {
  type: "string",
  maxLength: 63,
  pattern: "^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$",
};

/** An object in which every key must be known. */
const object = (properties: Readonly<Record<string, Schema>>): Schema => ({
  type: "object",
  additionalProperties: false,
  properties,
});

const image = object({
  registry: text,
  repository: { type: "string", minLength: 1 },
  tag: text,
  digest: { type: "string", pattern: "^$|^sha256:[0-9a-f]{64}$" },
  pullPolicy: choice("Always", "IfNotPresent", "Never"),
});
const serviceAccount = object({ create: flag, name: text, annotations: textMap });
const container = {
  image,
  resources: map,
  securityContext: map,
  extraEnv: { type: "array", items: { type: "object", required: ["name"] } },
  extraArgs: { type: "array", items: { type: "string", pattern: "^-" } },
};
const pod = {
  podSecurityContext: map,
  priorityClassName: text,
  nodeSelector: textMap,
  tolerations: list,
  affinity: map,
  topologySpreadConstraints: list,
  podAnnotations: textMap,
  podLabels: textMap,
  serviceAccount,
};
/** Of what is only kept within bounds by its limits. */
const boundedResources: Schema = {
  ...object({ requests: map, limits: { ...map, required: ["cpu", "memory"] } }),
  required: ["limits"],
};
/** Names of Secrets; empty: none. */
const security = { tlsSecret: text, tokenSecret: text };
const secretKey: Schema = { type: "string", pattern: "^[-._a-zA-Z0-9]+$", maxLength: 253 };
const http = object({ ...security, monitorTokenKey: secretKey });
const scalerHttp = object({ ...security, tokensKey: secretKey, monitorTokenKey: secretKey });
const monitor = object({
  enabled: flag,
  interval: duration,
  scrapeTimeout: duration,
  additionalLabels: textMap,
  relabelings: list,
  metricRelabelings: list,
});
/** A group or a resource of the API; what would be all of them is none. */
const apiName: Schema = { type: "string", pattern: "^[a-z0-9][-a-z0-9.]*$", maxLength: 253 };
const peers: Schema = { type: "array", items: map };
const budget: Schema = { type: ["integer", "string"], pattern: "^$|^[0-9]+%?$", minimum: 0 };

/** `spec` of the application: the contract of the configuration file. */
function applicationSpec(): Schema {
  const { $schema: _, ...application } = z.toJSONSchema(Application, { io: "input" });
  const either = (one: string, many: string): Schema => ({
    anyOf: [{ required: [one] }, { required: [many], properties: { [many]: { minItems: 1 } } }],
  });
  return { ...application, allOf: [either("entry", "entries"), either("objective", "objectives")] };
}

/** The values that the chart takes; unknown keys are refused at every level. */
export function valuesSchema(): Schema {
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Values of the Tradewind chart",
    ...object({
      nameOverride: { type: "string", maxLength: 46 },
      fullnameOverride: { type: "string", maxLength: 46 },
      commonLabels: textMap,
      imagePullSecrets: {
        type: "array",
        items: { type: ["string", "object"], additionalProperties: false, properties: { name: text } },
      },
      clusterDomain: { type: "string", pattern: "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$" },
      listenHost: { type: "string", pattern: "^([0-9.]+|\\[[0-9a-fA-F:.]+\\])$" },
      allowedHosts: {
        type: "array",
        items: { type: "string", pattern: "^(\\*\\.)?[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?$" },
        uniqueItems: true,
      },
      maxSenderWork: { type: "number", minimum: 0.01, maximum: 100 },
      watchNamespaces: { type: "array", items: namespace, uniqueItems: true },
      checkNamespaces: flag,
      logLevel: choice("trace", "debug", "info", "warn", "error", "silent"),
      extraObjects: { type: "array", items: map },
      // A chart that this one is a part of switches it by its `condition`, and Helm hands that down.
      enabled: flag,
      // Helm hands `global` down from parent charts, with whatever else they keep there.
      global: {
        type: "object",
        properties: { image: { type: "object", properties: { registry: text, tag: text } } },
      },
      certificates: object({
        generate: flag,
        days: count(30, 36_500),
        client: object({ namespace: optionalNamespace }),
      }),
      application: object({
        from: choice("ConfigMap", "Resource", "Namespaces"),
        existing: { type: "string", pattern: "^$|^[a-z0-9]([-a-z0-9./]*[a-z0-9])?$" },
        spec: { type: "object", if: { maxProperties: 0 }, else: applicationSpec() },
        sources: object({ prometheus: list, ...traceSources, otlp: map, opencost: map }),
        store: map,
      }),
      agent: object({
        enabled: flag,
        hostNetwork: flag,
        podNames: object({ enabled: flag }),
        http,
        containerSeries: choice("all", "own", "none"),
        costBudget: { type: ["number", "string"], pattern: "^$", minimum: 0.00001, maximum: 1 },
        linkSpeeds: { type: "object", additionalProperties: { type: "number", minimum: 1 } },
        memoryBandwidth: { type: ["number", "string"], pattern: "^$", minimum: 1 },
        cgroupRoots: { type: "array", items: { type: "string", pattern: "^/" } },
        updateStrategy: map,
        ...container,
        ...pod,
      }),
      predictor: object({
        serviceAccount,
        window: duration,
        grace: optionalDuration,
        policy: choice(...POLICY_CHOICES),
        http,
        otlp: object({ grpc: flag, ...security }),
        plannersPerApplication: { anyOf: [count(2, 64), { type: "string", maxLength: 0 }] },
        peers: object({ existingSecret: text, tlsSecret: text }),
        extraVolumes: { type: "array", items: { type: "object", required: ["name"] } },
        extraVolumeMounts: { type: "array", items: { type: "object", required: ["name", "mountPath"] } },
        ...container,
      }),
      scaler: object({
        replicas: count(1, 20),
        http: scalerHttp,
        staleAfter: duration,
        restartGrace: duration,
        service: object({
          grpcPort: count(1, 65_535),
          annotations: textMap,
          http: object({ type: choice("ClusterIP", "NodePort", "LoadBalancer"), annotations: textMap }),
          otlp: object({ annotations: textMap }),
        }),
        tls: object({
          enabled: flag,
          existingSecret: text,
          certManager: object({
            enabled: flag,
            issuerRef: object({ name: text, kind: text, group: text }),
            duration: hours,
            renewBefore: hours,
            client: object({ namespace: optionalNamespace }),
          }),
        }),
        persistence: object({
          enabled: flag,
          storageClassName: text,
          accessModes: texts,
          size,
          annotations: textMap,
        }),
        events: object({ enabled: flag }),
        vpa: object({ enabled: flag }),
        inPlaceResize: object({ enabled: { type: ["boolean", "string"], enum: [true, false, "auto"] } }),
        preStopSleepSeconds: count(0, 300),
        terminationGracePeriodSeconds: count(10, 600),
        minReadySeconds: count(0, 300),
        podDisruptionBudget: object({
          enabled: flag,
          minAvailable: budget,
          maxUnavailable: budget,
          unhealthyPodEvictionPolicy: choice("IfHealthyBudget", "AlwaysAllow"),
        }),
        updateStrategy: map,
        ...container,
        ...pod,
      }),
      rbac: object({
        create: flag,
        nodes: flag,
        workloadKinds: {
          type: "array",
          items: { ...object({ apiGroup: apiName, resource: apiName }), required: ["apiGroup", "resource"] },
        },
        extraRules: { type: "array", items: map },
      }),
      networkPolicy: object({
        enabled: flag,
        keda: object({ namespaceSelector: map, podSelector: map }),
        metricsFrom: peers,
        otlpFrom: peers,
        httpFrom: peers,
        dnsTo: peers,
        apiServer: object({ ports: { type: "array", minItems: 1, items: count(1, 65_535) }, to: peers }),
        egress: { type: "array", items: map },
      }),
      metrics: object({
        podAnnotations: flag,
        serviceMonitor: monitor,
        podMonitor: monitor,
        prometheusRule: object({
          enabled: flag,
          additionalLabels: textMap,
          disabled: texts,
          runbookUrl: text,
        }),
        dashboards: object({
          enabled: flag,
          namespace: optionalNamespace,
          labels: textMap,
          annotations: textMap,
        }),
      }),
      inject: object({
        enabled: flag,
        node: { type: "string", pattern: "^$|^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$" },
        resource: choice("cpu", "memory", "bandwidth", "network", "disk"),
        intensity: { type: "number", minimum: MIN_INTENSITY, maximum: MAX_INTENSITY },
        seconds: count(1, 3_600),
        image,
        resources: boundedResources,
        securityContext: map,
        podSecurityContext: map,
        priorityClassName: text,
        tolerations: list,
      }),
      tests: object({ enabled: flag }),
    }),
  };
}
