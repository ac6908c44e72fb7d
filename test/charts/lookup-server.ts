import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

type KubeObject = Readonly<Record<string, unknown>>;

const resource = (name: string, kind: string, namespaced: boolean): KubeObject => ({
  name,
  kind,
  namespaced,
  singularName: kind.toLowerCase(),
  verbs: ["get", "list", "create"],
});

const DISCOVERY: Readonly<Record<string, KubeObject>> = {
  "/version": { major: "1", minor: "34", gitVersion: "v1.34.1" },
  "/api": { kind: "APIVersions", versions: ["v1"] },
  "/apis": { kind: "APIGroupList", apiVersion: "v1", groups: [] },
  "/api/v1": {
    kind: "APIResourceList",
    groupVersion: "v1",
    resources: [resource("namespaces", "Namespace", false), resource("secrets", "Secret", true)],
  },
};

export interface LookupServer {
  readonly kubeconfig: string;
  /** Method and path of every call. */
  readonly calls: readonly string[];
}

/**
 * What Helm's `lookup` asks of a cluster, over real HTTP: discovery, and objects by their path in the API; all others are not there.
 * Stops with the test.
 */
export async function startLookupServer(objects: ReadonlyMap<string, KubeObject>): Promise<LookupServer> {
  const calls: string[] = [];
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? "/", "http://cluster").pathname;
    calls.push(`${request.method} ${path}`);
    const body = DISCOVERY[path] ?? objects.get(path);
    response.writeHead(body === undefined ? 404 : 200, { "content-type": "application/json" });
    response.end(
      JSON.stringify(
        body ?? { kind: "Status", apiVersion: "v1", status: "Failure", reason: "NotFound", code: 404 },
      ),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const folder = await mkdtemp(join(tmpdir(), "tradewind-lookup-"));
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await rm(folder, { recursive: true, force: true });
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const kubeconfig = join(folder, "kubeconfig.json");
  await writeFile(
    kubeconfig,
    JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      "current-context": "tests",
      contexts: [{ name: "tests", context: { cluster: "tests", user: "tester" } }],
      clusters: [{ name: "tests", cluster: { server: url } }],
      users: [{ name: "tester", user: {} }],
    }),
  );
  return { kubeconfig, calls };
}

/** Namespaces as objects for the server. */
export const namespaces = (...names: readonly string[]): ReadonlyMap<string, KubeObject> =>
  new Map(
    names.map((name) => [
      `/api/v1/namespaces/${name}`,
      { apiVersion: "v1", kind: "Namespace", metadata: { name } },
    ]),
  );
