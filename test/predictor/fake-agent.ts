import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** An agent's HTTP side under the test's control: a real server on a free port. */
export interface FakeAgent {
  readonly url: string;
  /** Requests so far. */
  readonly requests: () => number;
  answer(handler: Answer): void;
  /** Answers `/v1/events`, which is not found until then. */
  answerEvents(handler: Answer): void;
  stop(): Promise<void>;
}

export async function startFakeAgent(): Promise<FakeAgent> {
  let requests = 0;
  let handler: Answer = (_request, response) => {
    response.writeHead(503).end();
  };
  let events: Answer = (_request, response) => {
    response.writeHead(404).end();
  };
  const server = createServer((request, response) => {
    if (request.url === "/v1/events") {
      events(request, response);
      return;
    }
    requests += 1;
    handler(request, response);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: () => requests,
    answer: (next) => {
      handler = next;
    },
    answerEvents: (next) => {
      events = next;
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
