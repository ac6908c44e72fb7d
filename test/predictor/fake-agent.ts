import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** An agent's HTTP side under the test's control: a real server on a free port. */
export interface FakeAgent {
  readonly url: string;
  /** Requests so far. */
  readonly requests: () => number;
  /** What was asked for last. */
  readonly lastAsked: () => string;
  answer(handler: Answer): void;
  stop(): Promise<void>;
}

export async function startFakeAgent(): Promise<FakeAgent> {
  let requests = 0;
  let lastAsked = "";
  let handler: Answer = (_request, response) => {
    response.writeHead(503).end();
  };
  const server = createServer((request, response) => {
    requests += 1;
    lastAsked = request.url ?? "";
    handler(request, response);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: () => requests,
    lastAsked: () => lastAsked,
    answer: (next) => {
      handler = next;
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
    },
  };
}

/** Answers every request with this JSON value. */
export function json(value: () => unknown): Answer {
  return (_request, response) => {
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value()));
  };
}
