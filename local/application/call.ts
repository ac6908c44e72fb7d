import { Agent, request } from "node:http";
import type { Endpoint } from "./balance.ts";

export interface HttpCall {
  readonly endpoint: Endpoint;
  /** `METHOD /path`. */
  readonly route: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** Connections kept open to replicas. */
export interface HttpClient {
  /**
   * Sends one request and reads the answer to its end.
   * @returns the status code
   * @throws Error when the replica cannot be reached, or the signal fires first
   */
  send(call: HttpCall): Promise<number>;
  close(): void;
}

export function createHttpClient(): HttpClient {
  const agent = new Agent({ keepAlive: true, maxSockets: 256, maxFreeSockets: 64, scheduling: "lifo" });
  return {
    async send({ endpoint, route, headers, signal }) {
      const [method = "GET", path = "/"] = route.split(" ");
      return new Promise((resolve, reject) => {
        const outgoing = request(new URL(path, endpoint), { method, headers, agent, signal });
        outgoing.on("error", reject);
        outgoing.on("response", (response) => {
          response.on("error", reject);
          response.on("end", () => resolve(response.statusCode ?? 0));
          response.resume();
        });
        outgoing.end();
      });
    },
    close: () => agent.destroy(),
  };
}
