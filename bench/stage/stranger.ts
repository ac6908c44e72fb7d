import { connect } from "node:net";
import type { Socket } from "node:net";

/** Neither a pod's address nor KEDA's nor a client's. */
const ADDRESS = "127.0.0.66";
const CONNECT_MS = 2_000;
const AT_ONCE = 64;
const AGAIN_MS = 1_000;

/** Somebody on the network who opens connections and holds on to them. */
export class Stranger {
  private readonly held = new Map<string, Set<Socket>>();
  private readonly timers: NodeJS.Timeout[] = [];

  /** Keeps so many connections open to `host:port`, each of which says `words` and then nothing; lost ones are opened again. */
  async hold(address: string, count: number, words: Buffer | string): Promise<void> {
    await this.fill(address, count, words);
    this.timers.push(setInterval(() => void this.fill(address, count, words), AGAIN_MS));
  }

  leave(): void {
    for (const timer of this.timers.splice(0)) clearInterval(timer);
    for (const sockets of this.held.values()) for (const socket of sockets) socket.destroy();
    this.held.clear();
  }

  /** Opens what is missing, some at once. */
  private async fill(address: string, count: number, words: Buffer | string): Promise<void> {
    const sockets = this.held.get(address) ?? new Set<Socket>();
    this.held.set(address, sockets);
    for (let missing = count - sockets.size; missing > 0; missing -= AT_ONCE) {
      const opening = Array.from({ length: Math.min(AT_ONCE, missing) }, async () =>
        open(address, words, sockets),
      );
      const opened = (await Promise.all(opening)).filter((each) => each).length;
      if (opened === 0) return;
    }
  }
}

/** @returns whether the connection came about; it is in `sockets` for as long as it lasts */
async function open(address: string, words: Buffer | string, sockets: Set<Socket>): Promise<boolean> {
  const at = address.lastIndexOf(":");
  const [host, port] = [address.slice(0, at), Number(address.slice(at + 1))];
  const socket = connect({ host, port, localAddress: ADDRESS });
  socket.on("close", () => sockets.delete(socket)).on("data", () => undefined);
  return new Promise((resolve) => {
    const late = setTimeout(() => socket.destroy(), CONNECT_MS);
    socket.on("error", () => undefined);
    socket.once("close", () => resolve(false));
    socket.once("connect", () => {
      clearTimeout(late);
      sockets.add(socket);
      if (words.length > 0) socket.write(words);
      resolve(true);
    });
  });
}

/** `http://host:port` as `host:port`. */
export const hostPort = (url: string): string => new URL(url).host;
