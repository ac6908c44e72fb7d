import { HOTEL } from "@tradewind/local/application/hotel.ts";
import { calibrate, createMachine, processCpuMillis } from "@tradewind/local/application/work.ts";
import { HOTEL_IMAGE } from "../images/build.ts";

const NAMESPACE = "shop";

/**
 * Deployments and Services of the hotel application, one of each for every service. Pods are pushed off with the time that
 * their endpoints take to be forgotten.
 */
export function hotelObjects(): object {
  const spinsPerMilli = Math.round(calibrate(createMachine(), processCpuMillis).spinsPerMilli);
  const items = HOTEL.services.flatMap(({ name }) => [deployment(name, spinsPerMilli), headless(name)]);
  return { apiVersion: "v1", kind: "List", items: [...items, users()] };
}

const metadata = (name: string): object => ({ name, namespace: NAMESPACE });

function deployment(name: string, spinsPerMilli: number): object {
  const labels = { app: name };
  const fromPod = (fieldPath: string): object => ({ valueFrom: { fieldRef: { fieldPath } } });
  const container = {
    name: "main",
    image: HOTEL_IMAGE,
    imagePullPolicy: "Never",
    env: [
      { name: "OTEL_SERVICE_NAME", value: name },
      { name: "SPINS_PER_MILLI", value: String(spinsPerMilli) },
      { name: "TRACES_URL", value: "http://tradewind-otlp.tradewind.svc.cluster.local:4318/v1/traces" },
      { name: "NAMESPACE", ...fromPod("metadata.namespace") },
      { name: "POD_NAME", ...fromPod("metadata.name") },
      { name: "POD_UID", ...fromPod("metadata.uid") },
    ],
    ports: [{ containerPort: 8080 }],
    readinessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1 },
    lifecycle: { preStop: { sleep: { seconds: 7 } } },
    resources: { requests: { cpu: "30m", memory: "96Mi" }, limits: { cpu: "150m", memory: "256Mi" } },
  };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: metadata(name),
    spec: {
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { terminationGracePeriodSeconds: 20, containers: [container] },
      },
    },
  };
}

const headless = (name: string): object => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: metadata(name),
  spec: { clusterIP: "None", selector: { app: name }, ports: [{ port: 8080 }] },
});

/** Each pod sends 5 requests per second. */
function users(): object {
  const labels = { app: "users" };
  const container = {
    name: "main",
    image: HOTEL_IMAGE,
    imagePullPolicy: "Never",
    args: ["hotel/users.ts"],
    env: [
      { name: "NAMESPACE", value: NAMESPACE },
      { name: "RATE", value: "5" },
    ],
    resources: { requests: { cpu: "20m", memory: "64Mi" } },
  };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: metadata("users"),
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [container] } },
    },
  };
}

if (import.meta.main) process.stdout.write(JSON.stringify(hotelObjects()));
