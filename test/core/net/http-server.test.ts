import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { expect, it, onTestFinished } from "vitest";
import { closeHttp, createHttpServer, listenHttp } from "@tradewind/core/net/http-server.ts";

it.each([
  ["Host: a.svc\r\n", 200],
  ["Host: a.svc\r\nHost: b.svc\r\n", 400],
  ["Host: a.svc\r\nX-Other: 1\r\nhOST: a.svc\r\n", 400],
  ["", 400],
])("a port that speaks HTTP answers a request with %j by %i", async (hosts, status) => {
  const limits = { maxConnections: 8, maxPerAddress: 8, firstRequestMs: 10_000 };
  const { server } = createHttpServer({ limits }, (_request, response) => response.end("ok"));
  const address = await listenHttp(server, { host: "127.0.0.1", port: 0 }, "");
  onTestFinished(async () => closeHttp(server));
  const socket = connect(Number(address.split(":").at(-1)), "127.0.0.1");
  socket.end(`GET / HTTP/1.1\r\n${hosts}Connection: close\r\n\r\n`);
  expect(await text(socket)).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
});
