import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { installed } from "../../installed.ts";
import { definition, FOREIGN } from "../foreign-kinds.ts";

/** Names under which the ports of a release are called, in its namespace. */
const HOSTS = ["scaler", "http", "predictor-peers", "otlp", "peers", "agent"].flatMap((port) => {
  const name = `tradewind-${port}`;
  return [name, `${name}.tradewind`, `${name}.tradewind.svc`, `${name}.tradewind.svc.cluster.local`];
});

/** Secrets with certificates that the value files name. */
const CERTIFICATES = ["tradewind-tls", "agent-tls", "predictor-tls", "otlp-tls", "peers-tls", "page-tls"];
/** Those that cert-manager would write for the chart's Certificates; Helm refuses to install over them. */
const CERT_MANAGER = ["tradewind-scaler-tls", "tradewind-keda-client"];
const TOKENS = ["agent-token", "predictor-token", "otlp-token", "page-token", "prometheus-token"];

/** Volumes of storage class `fast`, for three scalers and what their first release leaves behind. */
const VOLUMES = 3;

/**
 * What the value files of `charts/tradewind/ci` take from a cluster beside the chart: certificates, tokens, volumes, and kinds of
 * cert-manager and of Prometheus' operator, which nobody serves here.
 * @param folder for the volumes, on the node
 */
export function givenObjects(folder: string): object[] {
  const tls = certificate();
  return [
    ...FOREIGN.map((each) => ({
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      ...definition(each),
    })),
    ...CERTIFICATES.map((name) => secret("tradewind", name, "kubernetes.io/tls", tls)),
    ...TOKENS.map((name) => secret("tradewind", name, "Opaque", { token: "a-token-of-this-test" })),
    ...Array.from({ length: VOLUMES }, (_, index) => volume(folder, index)),
  ];
}

/** What cert-manager would have written for a release with its Certificates. */
export function certManagerSecrets(): { readonly names: readonly string[]; readonly objects: object[] } {
  const tls = certificate();
  return {
    names: CERT_MANAGER,
    objects: CERT_MANAGER.map((name) => secret("tradewind", name, "kubernetes.io/tls", tls)),
  };
}

const secret = (namespace: string, name: string, type: string, stringData: object): object => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name, namespace },
  type,
  stringData,
});

/** One certificate that is its own authority, for every port. */
function certificate(): Record<"tls.crt" | "tls.key" | "ca.crt", string> {
  const openssl = installed("openssl");
  if (openssl === undefined) throw new Error("certificates are made by openssl, which is not installed");
  const folder = mkdtempSync(join(tmpdir(), "tradewind-certificate-"));
  try {
    const [key, cert] = [join(folder, "tls.key"), join(folder, "tls.crt")];
    const names = HOSTS.map((host) => `DNS:${host}`).join(",");
    const request = ["req", "-x509", "-nodes", "-days", "2", "-subj", "/CN=tradewind"];
    const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"];
    const files = ["-keyout", key, "-out", cert, "-addext", `subjectAltName=${names}`];
    execFileSync(openssl, [...request, ...curve, ...files], { stdio: "ignore" });
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
