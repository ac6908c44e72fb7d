import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { connect, createServer } from "node:tls";
import { beforeAll, describe, expect, it } from "vitest";
import { at, find, helm, objectsOf, template, valuesOf } from "./helm.ts";
import type { KubernetesObject } from "./helm.ts";
import { startLookupServer } from "./lookup-server.ts";

const HOST = "tradewind-scaler.tradewind.svc.cluster.local";

const isSecret = ({ apiVersion, kind, metadata }: KubernetesObject): boolean =>
  apiVersion === "v1" && kind === "Secret" && metadata.name !== "tradewind-peers";

/** Renders as `helm upgrade` does into a cluster that holds these objects. */
async function upgrade(
  present: readonly KubernetesObject[],
  ...args: readonly string[]
): Promise<KubernetesObject[]> {
  const objects = present.map(
    (object) =>
      [
        `/api/v1/namespaces/${object.metadata.namespace}/secrets/${object.metadata.name}`,
        { ...object },
      ] as const,
  );
  const { kubeconfig } = await startLookupServer(new Map(objects));
  const flags = ["--kubeconfig", kubeconfig, "--dry-run=server", "--values", valuesOf("mtls-generated")];
  const { ok, stdout, stderr } = await template(...flags, ...args);
  if (!ok) throw new Error(stderr);
  return objectsOf(stdout).filter((object) => isSecret(object) && at(object, "data") !== undefined);
}

const pem = (secrets: readonly KubernetesObject[], name: string, key: string): string =>
  Buffer.from(String(at(find(secrets, "Secret", name), "data", key)), "base64").toString();

interface Side {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}
const side = (secrets: readonly KubernetesObject[], name: string): Side => ({
  ca: pem(secrets, name, "ca.crt"),
  cert: pem(secrets, name, "tls.crt"),
  key: pem(secrets, name, "tls.key"),
});

/** Whether a client with these files gets through to a server with those, each checking the other. */
async function connects(client: Side, server: Side, host = HOST): Promise<boolean> {
  const scaler = createServer({ ...server, requestCert: true, rejectUnauthorized: true }, (socket) =>
    socket.end("in"),
  );
  scaler.on("tlsClientError", () => {});
  scaler.listen(0, "127.0.0.1");
  await once(scaler, "listening");
  const { port } = scaler.address() as AddressInfo;
  const socket = connect({ ...client, host: "127.0.0.1", port, servername: host });
  try {
    // A server that refuses the certificate says so only after TLS 1.3 has begun.
    return await new Promise((resolve) => {
      socket.on("data", () => resolve(true));
      socket.on("error", () => resolve(false));
      socket.on("close", () => resolve(false));
    });
  } finally {
    socket.destroy();
    scaler.close();
  }
}

describe.skipIf(helm === undefined)("certificates that the chart makes", () => {
  let first: KubernetesObject[];
  beforeAll(async () => {
    const { stdout } = await template("--values", valuesOf("mtls-generated"));
    first = objectsOf(stdout).filter((object) => isSecret(object) && at(object, "data") !== undefined);
  }, 30_000);

  it.each([
    ["tradewind-scaler-tls", HOST],
    ["tradewind-page-tls", "tradewind-http.tradewind.svc"],
    ["tradewind-predictor-tls", "tradewind-predictor-peers.tradewind.svc"],
    ["tradewind-otlp-tls", "tradewind-otlp.tradewind.svc"],
    ["tradewind-agent-tls", "tradewind-agent.tradewind.svc"],
    ["tradewind-peers-tls", "tradewind-peers.tradewind.svc"],
  ])("%s names %s, and its ca.crt has signed it", (name, host) => {
    const certificate = new X509Certificate(pem(first, name, "tls.crt"));
    expect(certificate.checkHost(host)).toBe(host);
    expect(certificate.verify(new X509Certificate(pem(first, name, "ca.crt")).publicKey)).toBe(true);
  });

  it("lets KEDA in by the certificate in its own namespace, and nobody with one of another port", async () => {
    expect(find(first, "Secret", "tradewind-keda-client").metadata.namespace).toBe("keda");
    const scaler = side(first, "tradewind-scaler-tls");
    const keda = side(first, "tradewind-keda-client");
    expect(await connects(keda, scaler)).toBe(true);
    expect(await connects({ ...side(first, "tradewind-agent-tls"), ca: keda.ca }, scaler)).toBe(false);
  });

  it("lets predictors in to each other by the one certificate that all of them have, and no other process", async () => {
    const host = "tradewind-peers.tradewind.svc";
    const peers = side(first, "tradewind-peers-tls");
    expect(await connects(peers, peers, host)).toBe(true);
    expect(await connects({ ...side(first, "tradewind-agent-tls"), ca: peers.ca }, peers, host)).toBe(false);
  });

  it("are kept by an upgrade, byte for byte", async () => {
    expect(await upgrade(first)).toEqual(first);
  });

  it("are made again when a host changes, and the new ones fit each other", async () => {
    const second = await upgrade(first, "--set", "clusterDomain=corp.example");
    const [before, after] = [side(first, "tradewind-scaler-tls"), side(second, "tradewind-scaler-tls")];
    expect(after.cert).not.toBe(before.cert);
    expect(
      new X509Certificate(after.cert).checkHost("tradewind-scaler.tradewind.svc.corp.example"),
    ).toBeDefined();
    const keda = new X509Certificate(side(second, "tradewind-keda-client").cert);
    expect(keda.verify(new X509Certificate(after.ca).publicKey)).toBe(true);
  });

  it("are made again, server's and KEDA's together, when one of the two is gone", async () => {
    const left = first.filter(({ metadata }) => metadata.name !== "tradewind-keda-client");
    const second = await upgrade(left);
    const [scaler, keda] = [side(second, "tradewind-scaler-tls"), side(second, "tradewind-keda-client")];
    expect(scaler.cert).not.toBe(pem(first, "tradewind-scaler-tls", "tls.crt"));
    expect(await connects(keda, scaler)).toBe(true);
    expect(pem(second, "tradewind-agent-tls", "tls.crt")).toBe(pem(first, "tradewind-agent-tls", "tls.crt"));
  });

  it("are made again once four fifths of their days are over", async () => {
    const name = "tradewind-agent-tls";
    const after = at(find(first, "Secret", name), "metadata", "annotations", "tradewind.dev/renew-after");
    const { validFrom, validTo } = new X509Certificate(pem(first, name, "tls.crt"));
    const span = Date.parse(validTo) - Date.parse(validFrom);
    expect((Number(after) * 1e3 - Date.parse(validFrom)) / span).toBeCloseTo(0.8, 3);
    const old = structuredClone(first);
    const annotations = at(find(old, "Secret", name), "metadata", "annotations") as Record<string, string>;
    annotations["tradewind.dev/renew-after"] = "1700000000";
    expect(pem(await upgrade(old), name, "tls.crt")).not.toBe(pem(first, name, "tls.crt"));
  });

  it("are left to whoever makes them where scaler.tls names others", async () => {
    const { stdout } = await template(
      "--values",
      valuesOf("mtls-secret"),
      "--set",
      "certificates.generate=true",
    );
    const made = objectsOf(stdout).filter((object) => at(object, "type") === "kubernetes.io/tls");
    expect(made.map(({ metadata }) => metadata.name)).toEqual(["tradewind-peers-tls"]);
  });
});
