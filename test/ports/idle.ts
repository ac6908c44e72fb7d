import { Agent, request } from "node:http";
import type { IncomingHttpHeaders } from "node:http";
import { onTestFinished } from "vitest";

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

interface Asked {
  /** Address of the client; every one under 127 is this machine. */
  readonly from?: string;
  readonly headers?: Record<string, string>;
  readonly agent?: Agent;
}

/** Asks from an address of one's own, on a new connection. */
export function ask(url: string, { agent, from, headers }: Asked = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(
      url,
      { agent: agent ?? new Agent(), localAddress: from ?? "127.0.0.1", headers: { ...headers } },
      (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
        response.on("end", () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
        );
      },
    );
    sent.on("error", reject).end();
  });
}

/** Connections that asked once and stay open, all from one address. @returns how many of them were answered */
export async function idleConnections(url: string, count: number, from: string): Promise<number> {
  let answered = 0;
  for (let left = count; left > 0; left -= 64) {
    const batch = Array.from({ length: Math.min(64, left) }, async () => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      onTestFinished(() => agent.destroy());
      await ask(url, { from, agent }).then(
        () => (answered += 1),
        () => undefined,
      );
    });
    await Promise.all(batch);
  }
  return answered;
}
