import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Agent, request } from "undici";
import type { Dispatcher } from "undici";
import { parse } from "yaml";
import { startRealApiServer } from "../kubernetes/real-api-server.ts";
import { waitUntil } from "../wait-until.ts";
import { CHART } from "./helm.ts";

export interface ApiAnswer {
  readonly status: number;
  readonly body: { message?: string; resources?: { name: string; kind: string; namespaced: boolean }[] };
  readonly warnings: string;
}

export interface ApiServer {
  /** A file for clients that want one; its user may do everything. */
  readonly kubeconfig: string;
  call(method: Dispatcher.HttpMethod, path: string, body?: unknown): Promise<ApiAnswer>;
  stop(): Promise<void>;
}

/** A real API server as clients of other kinds see it: by a kubeconfig, and by plain calls whose warnings count. */
export async function startApiServer(assets: string): Promise<ApiServer> {
  const { connection, kubeconfig, stop, url } = await startRealApiServer(assets);
  const { headers, tls } = await connection("admin").credentials(false);
  const dispatcher = new Agent({ connect: tls });
  return {
    kubeconfig,
    call: async (method, path, body) => {
      const answer = await request(`${url}${path}`, {
        dispatcher,
        method,
        headers: { ...headers, "content-type": "application/json", accept: "application/json" },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const text = await answer.body.text();
      return {
        status: answer.statusCode,
        body: text.startsWith("{") ? (JSON.parse(text) as ApiAnswer["body"]) : { message: text },
        warnings: [answer.headers["warning"] ?? []].flat().join(", "),
      };
    },
    stop: async () => {
      await dispatcher.destroy();
      await stop();
    },
  };
}

/** The same with the chart's definitions, once it serves Applications. */
export async function startApiServerWithApplications(assets: string): Promise<ApiServer> {
  const server = await startApiServer(assets);
  for (const file of readdirSync(join(CHART, "crds"))) {
    const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    await server.call("POST", path, parse(readFileSync(join(CHART, "crds", file), "utf8")));
  }
  const isServed = async (): Promise<boolean> =>
    (await server.call("GET", "/apis/tradewind.dev/v1alpha1")).status === 200;
  await waitUntil(isServed, 30_000, "the API server serves Applications");
  return server;
}
