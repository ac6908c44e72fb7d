import { createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { PassThrough, Writable } from "node:stream";
import { PortForward } from "@kubernetes/client-node";
import type { KubeConfig } from "@kubernetes/client-node";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import type { PodPort } from "./scaler-pods.ts";

/** A port of this machine whose connections end in a pod. */
export interface Forwarded {
  readonly port: number;
  /** Why connections failed last; undefined while all succeed. */
  readonly problem: string | undefined;
  close(): Promise<void>;
}

/** The part of a web socket that is used; the library's own types are of a package without types. */
interface Tunnel {
  /** Ends it at once; a server that hangs would let a polite end wait for 30 s. */
  terminate(): void;
  addEventListener(type: "close", listener: () => void): void;
}

/**
 * Forwards a loopback port of this machine to a port of a pod, by way of the Kubernetes API, each connection for itself.
 * Tries one connection first, so that a missing right is known before anybody waits for an answer.
 * @param localPort 0 for any free port
 * @throws TradewindError `port-forward`, `invalid-port` where the local port is taken
 */
export async function forwardPort(config: KubeConfig, to: PodPort, localPort = 0): Promise<Forwarded> {
  const forward = new PortForward(config);
  (await open(forward, to, new PassThrough(), new PassThrough(), () => undefined)).terminate();
  let problem: string | undefined;
  const sockets = new Set<Socket>();
  const failed = (socket: Socket, why: string): void => {
    problem = why;
    socket.destroy();
  };
  const tunnelled = async (socket: Socket): Promise<void> => {
    try {
      const tunnel = await open(forward, to, socket, socket, (why) => failed(socket, why));
      socket.on("close", () => tunnel.terminate());
      if (socket.destroyed) tunnel.terminate();
    } catch (error) {
      failed(socket, (error as Error).message);
    }
  };
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => sockets.delete(socket));
    void tunnelled(socket);
  });
  await listen(server, localPort);
  return {
    port: (server.address() as AddressInfo).port,
    get problem() {
      return problem;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** @param onProblem told what the kubelet says of the connection, for example that nothing listens there */
async function open(
  forward: PortForward,
  { namespace, pod, port }: PodPort,
  output: Writable,
  input: PassThrough | Socket,
  onProblem: (why: string) => void,
): Promise<Tunnel> {
  const errors = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (chunk.length > 0)
        onProblem(`pod ${namespace}/${pod}: ${chunk.toString("utf8").trim().slice(0, 300)}`);
      done();
    },
  });
  try {
    const opened: unknown = await forward.portForward(namespace, pod, [port], output, errors, input);
    const tunnel = opened as Tunnel;
    tunnel.addEventListener("close", () => output.end());
    return tunnel;
  } catch (error) {
    // An event of the web socket, whose only use is its message.
    throw new TradewindError("port-forward", refused(namespace, pod, (error as Error).message));
  }
}

const STATUS = /Unexpected server response: (\d+)/;

function refused(namespace: string, pod: string, said: string): string {
  const what = `cannot port-forward to pod ${namespace}/${pod}`;
  const status = STATUS.exec(said)?.[1];
  if (status === "401") return `${what}: this user is not signed in; kubectl get pods says the same`;
  if (status === "403")
    return `${what}: this user needs the verbs get and create on pods/portforward; kubectl --namespace ${namespace} auth can-i create pods/portforward checks it`;
  if (status === "404") return `${what}: it is gone; try again`;
  return `${what}: ${said.slice(0, 300)}`;
}

async function listen(server: ReturnType<typeof createServer>, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const isTaken = error.code === "EADDRINUSE";
      const why = isTaken ? `port ${port} of this machine is taken; give --port another one` : error.message;
      reject(new TradewindError(isTaken ? "invalid-port" : "port-forward", why, { cause: error }));
    });
    server.listen(port, "127.0.0.1", resolve);
  });
}
