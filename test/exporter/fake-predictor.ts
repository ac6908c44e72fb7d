import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Plan } from "@tradewind/core/contract/plan.ts";

export type Behaviour = (request: IncomingMessage, response: ServerResponse) => void;

/** A real HTTP server in the place of the predictor. It serves what it was last told to. */
export interface FakePredictor {
  readonly url: string;
  /** Requests seen so far. */
  readonly requests: () => number;
  serve(plan: Plan): void;
  behave(behaviour: Behaviour): void;
  stop(): Promise<void>;
}

export const answering =
  (body: string | Buffer, status = 200): Behaviour =>
  (_request, response) => {
    response.writeHead(status, { "content-type": "application/json" }).end(body);
  };

export async function fakePredictor(plan?: Plan): Promise<FakePredictor> {
  let behaviour: Behaviour = plan === undefined ? answering("{}", 503) : answering(JSON.stringify(plan));
  let requests = 0;
  const server = createServer((request, response) => {
    requests += 1;
    behaviour(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: () => requests,
    serve: (next) => {
      behaviour = answering(JSON.stringify(next));
    },
    behave: (next) => {
      behaviour = next;
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
