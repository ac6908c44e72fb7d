import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** A Jaeger that holds no traces, and may be down. */
export class EmptyJaeger {
  readonly url: string;
  isDown = false;
  private readonly server;

  private constructor(server: ReturnType<typeof createServer>, url: string) {
    this.server = server;
    this.url = url;
    server.on("request", (request, response) => {
      if (this.isDown) request.destroy();
      else response.writeHead(200, { "content-type": "application/json" }).end('{"data":[],"errors":null}');
    });
  }

  static async start(): Promise<EmptyJaeger> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new EmptyJaeger(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise<void>((resolve) => this.server.close(() => resolve()));
  }
}
