import { createSecureServer } from "node:http2";
import { createServer as createHttpServer } from "node:http";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { readFileSync } from "node:fs";
import { mkdtemp, rename, rm, symlink, writeFile, mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { describeError } from "@tradewind/core/values/errors.ts";
import { ApiError } from "@tradewind/kubernetes/client/api-error.ts";
import { ApiClient } from "@tradewind/kubernetes/client/client.ts";
import type { ClientSettings } from "@tradewind/kubernetes/client/client.ts";
import { connect } from "@tradewind/kubernetes/client/connect.ts";
import type { Connection } from "@tradewind/kubernetes/client/connection.ts";
import { RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import { FakeApiServer } from "../fake-api-server.ts";

const CERTIFICATES = new URL("../../fixtures/tls/", import.meta.url);
const pem = (name: string) => readFileSync(new URL(name, CERTIFICATES));
const QUICK: ClientSettings = { retryDelays: { firstMs: 1, maxMs: 5 }, deadlineMs: 5_000 };
const cart = { resource: RESOURCES.pods, namespace: "shop", name: "cart" };
const Named = z.object({ metadata: z.object({ name: z.string() }) });

function client(connection: Connection, settings: ClientSettings = {}): ApiClient {
  const made = new ApiClient(connection, { ...QUICK, ...settings });
  onTestFinished(async () => made.close());
  return made;
}

const failure = async (work: Promise<unknown>): Promise<ApiError> => {
  const error: unknown = await work.then(
    () => new Error("it did not fail"),
    (reason: unknown) => reason,
  );
  if (!(error instanceof ApiError)) throw error as Error;
  return error;
};

/** A service account's folder as kubelet lays it out: links through a directory that is swapped as a whole. */
async function serviceAccount(token: string) {
  const folder = await mkdtemp(join(tmpdir(), "tradewind-service-account-"));
  onTestFinished(async () => rm(folder, { recursive: true, force: true }));
  let revision = 0;
  const write = async (next: string): Promise<void> => {
    revision += 1;
    await mkdir(join(folder, `..${revision}`));
    await writeFile(join(folder, `..${revision}`, "token"), next);
    await writeFile(join(folder, `..${revision}`, "ca.crt"), pem("authority.crt"));
    await writeFile(join(folder, `..${revision}`, "namespace"), "tradewind");
    await symlink(`..${revision}`, join(folder, "..data_tmp"));
    await rename(join(folder, "..data_tmp"), join(folder, "..data"));
  };
  await write(token);
  for (const name of ["token", "ca.crt", "namespace"]) await symlink(`..data/${name}`, join(folder, name));
  return { folder, write };
}

it("the client speaks HTTP/1.1 with an API server that offers HTTP/2, which can hang Node when watches are cancelled", async () => {
  const versions = new Set<string>();
  const server = createSecureServer(
    { cert: pem("server.crt"), key: pem("server.key"), allowHTTP1: true },
    (request, response) => {
      versions.add(request.httpVersion);
      response.setHeader("content-type", "application/json");
      response.end('{"metadata":{"name":"cart"}}');
    },
  );
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const api = client({
    server: `https://localhost:${port}`,
    namespace: "shop",
    credentials: () => Promise.resolve({ headers: {}, tls: { ca: pem("authority.crt") }, generation: "1" }),
  });
  onTestFinished(() => void server.close());
  await api.get(cart, Named);
  await api.close();
  expect(versions).toEqual(new Set(["1.1"]));
});

describe("the pod's own connection", () => {
  it("speaks TLS with the cluster's authority and the mounted token, and takes up a renewed one at once", async () => {
    const fake = await FakeApiServer.start({ cert: pem("server.crt"), key: pem("server.key") });
    fake.addUser("system:serviceaccount:tradewind:scaler", "old", [
      { rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }] },
    ]);
    fake.put(RESOURCES.pods, { metadata: { name: "cart", namespace: "shop" } });
    const { folder, write } = await serviceAccount("old\n");
    const environment = { KUBERNETES_SERVICE_HOST: "127.0.0.1", KUBERNETES_SERVICE_PORT: String(fake.port) };
    const connection = await connect({ environment, serviceAccountFolder: folder });
    expect(connection.namespace).toBe("tradewind");
    const api = client(connection);
    await api.get(cart, Named);

    fake.expireToken("old");
    expect((await failure(api.get(cart, Named))).message).toContain("401");
    fake.addUser("system:serviceaccount:tradewind:scaler", "new", [
      { rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }] },
    ]);
    await write("new");
    expect(await api.get(cart, Named)).toEqual({ metadata: { name: "cart" } });
  });

  it("reads the token anew when the server refuses it, before the next call would", async () => {
    const fake = await FakeApiServer.start();
    fake.put(RESOURCES.pods, { metadata: { name: "cart", namespace: "shop" } });
    const asked: boolean[] = [];
    const api = client({
      server: fake.url,
      namespace: "x",
      credentials: async (refused) => {
        asked.push(refused);
        const authorization = `Bearer ${refused ? "admin-token" : "stale"}`;
        return Promise.resolve({ headers: { authorization }, tls: {}, generation: "1" });
      },
    });
    await api.get(cart, Named);
    expect(asked).toEqual([false, true]);
  });

  it("does not trust a server of another authority", async () => {
    const fake = await FakeApiServer.start({ cert: pem("server.crt"), key: pem("server.key") });
    const connection = fake.connection();
    const ca = pem("other-authority.crt");
    const api = client({
      ...connection,
      credentials: async () => ({ ...(await connection.credentials(false)), tls: { ca } }),
    });
    expect((await failure(api.get(cart, Named))).message).toMatch(/certificate/);
    expect(fake.calls).toHaveLength(0);
  });

  it("says which file is missing when no token is mounted", async () => {
    const environment = { KUBERNETES_SERVICE_HOST: "127.0.0.1", KUBERNETES_SERVICE_PORT: "1" };
    const connection = await connect({ environment, serviceAccountFolder: "/nowhere" });
    await expect(connection.credentials(false)).rejects.toThrow(/\/nowhere\/.*automountServiceAccountToken/);
  });
});

describe("a kubeconfig's connection", () => {
  const kubeconfig = (server: string, user: string) => `
apiVersion: v1
kind: Config
current-context: here
contexts:
  - { name: here, context: { cluster: one, user: me, namespace: shop } }
clusters:
  - name: one
    cluster: { server: "${server}", certificate-authority-data: ${pem("authority.crt").toString("base64")} }
users:
  - name: me
    user: ${user}
`;
  const written = async (text: string): Promise<string> => {
    const folder = await mkdtemp(join(tmpdir(), "tradewind-kubeconfig-"));
    onTestFinished(async () => rm(folder, { recursive: true, force: true }));
    await writeFile(join(folder, "config"), text);
    return join(folder, "config");
  };

  it.each([
    ["a token", "{ token: admin-token }"],
    [
      "an exec plugin",
      `{ exec: { apiVersion: client.authentication.k8s.io/v1, command: echo, args: ['{"kind":"ExecCredential","status":{"token":"admin-token"}}'] } }`,
    ],
  ])("logs in with %s", async (_what, user) => {
    const fake = await FakeApiServer.start({ cert: pem("server.crt"), key: pem("server.key") });
    fake.put(RESOURCES.pods, { metadata: { name: "cart", namespace: "shop" } });
    const path = await written(kubeconfig(fake.url, user));
    const connection = await connect({ kubeconfig: path, environment: {} });
    expect(connection.namespace).toBe("shop");
    expect(await client(connection).get(cart, Named)).toEqual({ metadata: { name: "cart" } });
  });

  it("acts as the user, the groups and the uid that it names, as kubectl does", async () => {
    const asked: IncomingHttpHeaders[] = [];
    const server = createHttpServer((request, response) => {
      asked.push(request.headers);
      response.end(JSON.stringify({ metadata: { name: "cart" } }));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const user = `{ token: secret, as: ann, as-groups: [dev, ops], as-uid: u-1, as-user-extra: { Team: [shop] } }`;
    const path = await written(kubeconfig(`http://127.0.0.1:${port}`, user));
    const api = client(await connect({ kubeconfig: path, environment: {} }));
    expect(await api.get(cart, Named)).toEqual({ metadata: { name: "cart" } });
    expect(asked).toMatchObject([
      {
        authorization: "Bearer secret",
        "impersonate-user": "ann",
        "impersonate-group": "dev, ops",
        "impersonate-uid": "u-1",
        "impersonate-extra-team": "shop",
      },
    ]);
  });

  it.each(["HTTPS_PROXY", "https_proxy"])(
    "goes by the proxy that %s names, as kubectl's does",
    async (name) => {
      const asked: string[] = [];
      const proxy = createHttpServer().on("connect", (request: IncomingMessage, socket: Socket) => {
        asked.push(request.url ?? "");
        socket.end("HTTP/1.1 503 Service Unavailable\r\n\r\n");
      });
      await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
      onTestFinished(() => void proxy.close());
      const environment = { [name]: `127.0.0.1:${(proxy.address() as AddressInfo).port}` };
      const path = await written(kubeconfig("https://api.example.com:6443", "{ token: secret }"));
      await expect(client(await connect({ kubeconfig: path, environment })).get(cart, Named)).rejects.toThrow(
        /./,
      );
      expect(new Set(asked)).toEqual(new Set(["api.example.com:6443"]));
      const socks = { HTTPS_PROXY: "socks5://127.0.0.1:1080" };
      await expect(connect({ kubeconfig: path, environment: socks })).rejects.toThrow(
        /proxy must be an http/,
      );
    },
  );

  it("is refused in plain words when it names no cluster, none that can be asked, or is no YAML", async () => {
    const plain = await written(kubeconfig("ftp://127.0.0.1:1", "{}"));
    await expect(connect({ kubeconfig: plain, environment: {} })).rejects.toThrow(/must be an https/);
    const empty = await written("apiVersion: v1\nkind: Config\n");
    await expect(connect({ kubeconfig: empty, environment: {} })).rejects.toThrow(/get-contexts/);
    const broken = await written("a: [");
    await expect(connect({ kubeconfig: broken, environment: {} })).rejects.toThrow(/cannot be read/);
  });
});

describe("a call", () => {
  it("waits as long as Retry-After says and then succeeds", async () => {
    const fake = await FakeApiServer.start();
    fake.put(RESOURCES.pods, { metadata: { name: "cart", namespace: "shop" } });
    fake.failNext(1, 429, { headers: { "retry-after": "1" } });
    const startedMs = performance.now();
    await client(fake.connection(), { retryDelays: { firstMs: 1, maxMs: 1_000 } }).get(cart, Named);
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(990);
    expect(fake.calls).toHaveLength(2);
  });

  it("that creates something is not sent twice after an error of the server, but is after 429", async () => {
    const fake = await FakeApiServer.start();
    const api = client(fake.connection());
    const event = { resource: RESOURCES.events, namespace: "shop" };
    fake.failNext(1, 500);
    expect((await failure(api.create(event, { metadata: { name: "a" } }))).status).toBe(500);
    expect(fake.calls).toHaveLength(1);
    fake.failNext(1, 429);
    await api.create(event, { metadata: { name: "a" } });
    expect(fake.list(RESOURCES.events)).toHaveLength(1);
  });

  it("ends at its deadline when the server hangs, and says so", async () => {
    const fake = await FakeApiServer.start();
    fake.fault(() => true);
    const error = await failure(client(fake.connection(), { deadlineMs: 100 }).get(cart, Named));
    expect(error.message).toMatch(/no complete answer to get pods 'cart' in namespace 'shop' within 0.1 s/);
  });

  it("gives up at the deadline of the call where that is earlier than its own", async () => {
    const fake = await FakeApiServer.start();
    fake.fault(() => true);
    const { signal } = new AbortController();
    const error = await failure(client(fake.connection()).update(cart, {}, signal, 100));
    expect(error.message).toMatch(
      /no complete answer to update pods 'cart' in namespace 'shop' within 0.1 s/,
    );
  });

  it("names the missing right and never the token", async () => {
    const fake = await FakeApiServer.start();
    fake.addUser("scaler", "s3cret", []);
    const error = await failure(client(fake.connection("s3cret")).get(cart, Named));
    expect(error.isForbidden).toBe(true);
    expect(error.message).toMatch(/403 to get pods 'cart'.*docs\/kubernetes\.md/);
    expect(describeError(error)).not.toContain("s3cret");
  });

  it("gives up after some attempts on a server that is not there", async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise<void>((resolve) => server.close(() => resolve()));
    const fake = await FakeApiServer.start();
    const gone = { ...fake.connection(), server: `http://127.0.0.1:${port}` };
    expect((await failure(client(gone).get(cart, Named))).status).toBe(0);
  });

  it("keeps the patch formats apart: json, merge, apply with owners, and 409 for an old version", async () => {
    const fake = await FakeApiServer.start();
    const api = client(fake.connection());
    const place = { resource: RESOURCES.applications, namespace: "shop", name: "hotel" };
    fake.put(RESOURCES.applications, {
      metadata: { name: "hotel", namespace: "shop" },
      spec: { entry: "a" },
    });
    await api.patch({ ...place, subresource: "status" }, "json", [
      { op: "add", path: "/status", value: { a: 1 } },
    ]);
    await api.patch({ ...place, subresource: "status" }, "merge", {
      spec: { entry: "ignored" },
      status: { b: 2 },
    });
    expect(fake.find(RESOURCES.applications, "shop", "hotel")).toMatchObject({
      spec: { entry: "a" },
      status: { a: 1, b: 2 },
    });

    const apply = (manager: string, status: object, force: boolean) =>
      api.apply(
        { ...place, subresource: "status" },
        { apiVersion: "tradewind.dev/v1alpha1", kind: "Application", metadata: { name: "hotel" }, status },
        { manager, force },
      );
    await apply("one", { c: 3, d: 4 }, false);
    expect((await failure(apply("two", { c: 5 }, false))).isConflict).toBe(true);
    await apply("two", { c: 5 }, true);
    await apply("one", { e: 6 }, false);
    expect(fake.find(RESOURCES.applications, "shop", "hotel")!.status).toEqual({ a: 1, b: 2, c: 5, e: 6 });

    const old = { metadata: { name: "hotel", namespace: "shop", resourceVersion: "1" }, spec: {} };
    expect((await failure(api.update(place, old))).isConflict).toBe(true);
  });
});
