import { once } from "node:events";
import { createServer } from "node:http";
import type { RequestListener } from "node:http";
import { connect } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { limitConnections, listenLimited, senderAddress } from "@tradewind/core/net/connection-limits.ts";
import type { Connections, ConnectionLimits } from "@tradewind/core/net/connection-limits.ts";
import { waitUntil } from "../../wait-until.ts";

interface Port {
  readonly port: number;
  readonly connections: Connections;
}

const LIMITS: ConnectionLimits = { maxConnections: 100, maxPerAddress: 100, firstRequestMs: 60_000 };

/** Answers `/` at once; the answer to any other path begins and never ends. */
const answer: RequestListener = (request, response) => {
  if (request.url === "/") response.end("ok");
  else response.write("begins");
};

async function httpPort(limits: Partial<ConnectionLimits>): Promise<Port> {
  const server = createServer(answer);
  const connections = limitConnections(server, { ...LIMITS, ...limits });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { port: (server.address() as AddressInfo).port, connections };
}

/** A raw connection from one loopback address, known to the server before this returns. */
async function opened({ port, connections }: Port, localAddress: string): Promise<Socket> {
  const before = connections.counts;
  const seen = before.held + before.refused + before.evicted;
  const socket = connect({ port, host: "127.0.0.1", localAddress }).on("error", () => undefined);
  socket.resume();
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  await waitUntil(() => {
    const { evicted, held, refused } = connections.counts;
    return held + refused + evicted > seen;
  });
  return socket;
}

async function openedMany(port: Port, localAddress: string, count: number): Promise<Socket[]> {
  const sockets: Socket[] = [];
  for (let index = 0; index < count; index += 1) sockets.push(await opened(port, localAddress));
  return sockets;
}

/** What the server says to one request on a connection of its own; undefined when it closes the connection. */
async function asked({ port }: Port, localAddress: string): Promise<string | undefined> {
  const socket = connect({ port, host: "127.0.0.1", localAddress });
  let text = "";
  socket.on("error", () => undefined).on("data", (chunk) => (text += chunk.toString()));
  socket.write("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  await once(socket, "close");
  return /^HTTP\/1\.1 (\d+)/.exec(text)?.[1];
}

/** Starts a request that stays in progress. */
async function beginRequest(socket: Socket): Promise<void> {
  socket.write("GET /never HTTP/1.1\r\nHost: x\r\n\r\n");
  await once(socket, "data");
}

describe("connections of a limited port", () => {
  it("1,000 idle connections of one address leave other addresses and that address itself served", async () => {
    const port = await httpPort({ maxConnections: 100, maxPerAddress: 60 });
    await openedMany(port, "127.0.0.2", 1_000);
    expect(await asked(port, "127.0.0.3")).toBe("200");
    expect(await asked(port, "127.0.0.2")).toBe("200");
    expect(port.connections.counts).toMatchObject({ refused: 0, evicted: 941 });
  });

  it("the longest idle connection of an address makes way for its next one", async () => {
    const port = await httpPort({ maxPerAddress: 3 });
    const sockets = await openedMany(port, "127.0.0.2", 3);
    sockets[0]!.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    await once(sockets[0]!, "data");
    const gone = once(sockets[1]!, "close");
    await opened(port, "127.0.0.2");
    await gone;
    expect(sockets.map(({ destroyed }) => destroyed)).toEqual([false, true, false]);
  });

  it("an address whose connections all have a request in progress gets no further one", async () => {
    const port = await httpPort({ maxPerAddress: 2 });
    const busy = await openedMany(port, "127.0.0.2", 2);
    for (const socket of busy) await beginRequest(socket);
    expect(await asked(port, "127.0.0.2")).toBeUndefined();
    expect(busy.some(({ destroyed }) => destroyed)).toBe(false);
    busy[0]!.destroy();
    await waitUntil(async () => (await asked(port, "127.0.0.2")) === "200");
  });

  it("a full port takes from the address with the most connections, even busy ones", async () => {
    const port = await httpPort({ maxConnections: 6, maxPerAddress: 5 });
    const greedy = await openedMany(port, "127.0.0.2", 5);
    for (const socket of greedy) await beginRequest(socket);
    const modest = await opened(port, "127.0.0.3");
    expect(await asked(port, "127.0.0.4")).toBe("200");
    await waitUntil(() => greedy.filter(({ destroyed }) => destroyed).length === 1);
    expect(greedy[0]!.destroyed).toBe(true);
    expect(modest.destroyed).toBe(false);
  });

  it("a full port shared equally gives the longest idle connection to a newcomer and refuses when none is idle", async () => {
    const port = await httpPort({ maxConnections: 2, maxPerAddress: 2 });
    const first = await opened(port, "127.0.0.2");
    const second = await opened(port, "127.0.0.3");
    expect(await asked(port, "127.0.0.4")).toBe("200");
    await waitUntil(() => first.destroyed);
    const third = await opened(port, "127.0.0.5");
    for (const socket of [second, third]) await beginRequest(socket);
    expect(await asked(port, "127.0.0.4")).toBeUndefined();
    expect([second.destroyed, third.destroyed]).toEqual([false, false]);
  });

  it("a connection whose first request never begins is ended, one that had a request stays", async () => {
    const port = await httpPort({ firstRequestMs: 200 });
    const used = await opened(port, "127.0.0.2");
    used.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    await once(used, "data");
    const silent = await opened(port, "127.0.0.2");
    await once(silent, "close");
    expect(used.destroyed).toBe(false);
    expect(port.connections.counts).toMatchObject({ silent: 1, held: 1 });
  });

  it("a port that hands its connections on limits them alike", async () => {
    const taken: Socket[] = [];
    const listen = { host: "127.0.0.1", port: 0 };
    const port = await listenLimited(listen, { ...LIMITS, maxPerAddress: 2 }, (socket) => taken.push(socket));
    onTestFinished(() => {
      port.close();
      port.connections.destroyAll();
    });
    const sockets = await openedMany(port, "127.0.0.2", 2);
    port.connections.begin(taken[0]!);
    await opened(port, "127.0.0.2");
    await waitUntil(() => sockets[1]!.destroyed);
    expect(sockets[0]!.destroyed).toBe(false);
    expect(taken).toHaveLength(3);
    await expect(listenLimited({ ...listen, port: port.port }, LIMITS, () => undefined)).rejects.toThrow(
      "EADDRINUSE",
    );
  });
});

it.each([
  ["::ffff:10.0.0.1", "10.0.0.1"],
  ["10.0.0.1", "10.0.0.1"],
  ["fd00::1", "fd00::1"],
  [undefined, ""],
])("the sender of %s is %s", (remoteAddress, sender) => {
  expect(senderAddress(remoteAddress)).toBe(sender);
});
