import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { definition, FOREIGN } from "../foreign-kinds.ts";

/** Names under which the ports of a release are called, in its namespace. */
const HOSTS = ["scaler", "http", "predictor-peers", "otlp", "peers", "agent"].flatMap((port) => {
  const name = `tradewind-${port}`;
  return [name, `${name}.tradewind`, `${name}.tradewind.svc`, `${name}.tradewind.svc.cluster.local`];
});

/** Secrets of the value files, and those that cert-manager would write for its Certificates. */
const CERTIFICATES = [
  ["tradewind", "tradewind-tls"],
  ["tradewind", "agent-tls"],
  ["tradewind", "predictor-tls"],
  ["tradewind", "otlp-tls"],
  ["tradewind", "peers-tls"],
  ["tradewind", "page-tls"],
  ["tradewind", "tradewind-scaler-tls"],
  ["tradewind", "tradewind-keda-client"],
] as const;
const TOKENS = ["agent-token", "predictor-token", "otlp-token", "page-token", "prometheus-token"];

/** Volumes of storage class `fast`, for three scalers and what their first release leaves behind. */
const VOLUMES = 3;

/**
 * What the value files of `charts/tradewind/ci` take from a cluster beside the chart: certificates, tokens, volumes, and kinds of
 * cert-manager and of Prometheus' operator, which nobody serves here: certificates are written as cert-manager would.
 * @param folder for the volumes, on the node
 */
export function givenObjects(folder: string): object[] {
  const tls = certificate();
  const secret = (namespace: string, name: string, type: string, stringData: object): object => ({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, namespace },
    type,
    stringData,
  });
  return [
    ...FOREIGN.map((each) => ({
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      ...definition(each),
    })),
    ...CERTIFICATES.map(([namespace, name]) => secret(namespace, name, "kubernetes.io/tls", tls)),
    ...TOKENS.map((name) => secret("tradewind", name, "Opaque", { token: "a-token-of-this-test" })),
    ...Array.from({ length: VOLUMES }, (_, index) => volume(folder, index)),
  ];
}

/** One certificate that is its own authority, for every port. */
function certificate(): Record<"tls.crt" | "tls.key" | "ca.crt", string> {
  const folder = mkdtempSync(join(tmpdir(), "tradewind-certificate-"));
  try {
    const [key, cert] = [join(folder, "tls.key"), join(folder, "tls.crt")];
    const names = HOSTS.map((host) => `DNS:${host}`).join(",");
    const request = ["req", "-x509", "-nodes", "-days", "2", "-subj", "/CN=tradewind"];
    const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"];
    const files = ["-keyout", key, "-out", cert, "-addext", `subjectAltName=${names}`];
    execFileSync("openssl", [...request, ...curve, ...files], { stdio: "ignore" });
    const text = readFileSync(cert, "utf8");
    return { "tls.crt": text, "tls.key": readFileSync(key, "utf8"), "ca.crt": text };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function volume(folder: string, index: number): object {
  const path = join(folder, String(index));
  mkdirSync(path);
  const here = { key: "kubernetes.io/hostname", operator: "In", values: ["node-1"] };
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: `tradewind-${index}`, labels: { "tradewind-test": "volume" } },
    spec: {
      capacity: { storage: "20Gi" },
      accessModes: ["ReadWriteOnce"],
      storageClassName: "fast",
      local: { path },
      nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [here] }] } },
    },
  };
}
