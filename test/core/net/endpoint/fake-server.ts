import { createServer } from "node:http";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A server on a free port whose behaviour a test may change while it runs. */
export class FakeServer {
  /** Requests so far, newest last. */
  readonly requests: {
    readonly url: URL;
    readonly headers: IncomingMessage["headers"];
    readonly body: string;
  }[] = [];
  handler: (request: IncomingMessage, response: ServerResponse, body: string) => void;
  private readonly server;

  private constructor(
    handler: FakeServer["handler"],
    create: (listener: RequestListener) => ReturnType<typeof createServer>,
  ) {
    this.handler = handler;
    this.server = create((request, response) => {
      let body = "";
      request.setEncoding("utf8").on("data", (text: string) => {
        body += text;
      });
      request.on("end", () => {
        this.requests.push({ url: new URL(request.url ?? "/", "http://x"), headers: request.headers, body });
        this.handler(request, response, body);
      });
    });
  }

  static async start(
    handler: FakeServer["handler"],
    create: (listener: RequestListener) => ReturnType<typeof createServer> = createServer,
  ): Promise<FakeServer> {
    const fake = new FakeServer(handler, create);
    await fake.listen(0);
    return fake;
  }

  /** Stays what it was after a stop, so that a test can come back at the same address. */
  port = 0;

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async listen(port: number): Promise<void> {
    await new Promise<void>((resolve) => this.server.listen(port, "127.0.0.1", resolve));
    this.port = (this.server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

export function json(
  response: ServerResponse,
  value: unknown,
  status = 200,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(typeof value === "string" ? value : JSON.stringify(value));
}
