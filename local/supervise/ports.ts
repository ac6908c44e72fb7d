import { randomInt } from "node:crypto";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";

/** Tries to listen on a loopback port and lets go again. @returns the port, or undefined when somebody has it */
async function tryPort(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(undefined));
    server.listen({ port, host: "127.0.0.1", exclusive: true }, () => {
      const { port: taken } = server.address() as AddressInfo;
      server.close(() => resolve(taken));
    });
  });
}

export interface ChosenPort {
  readonly port: number;
  /** False when somebody else holds the preferred one. */
  readonly isPreferred: boolean;
}

/** Below the ports that Linux gives to connections by default (32768 to 60999): one of those may be taken before somebody listens on it. */
const FREE_PORTS = { from: 10_000, to: 32_768 } as const;
const MOST_TRIES = 100;

async function anyPort(): Promise<number | undefined> {
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    const port = await tryPort(randomInt(FREE_PORTS.from, FREE_PORTS.to));
    if (port !== undefined) return port;
  }
  return tryPort(0);
}

/** The preferred port, or a free one that no connection takes. @param preferred 0 for any free one */
export async function choosePort(preferred: number): Promise<ChosenPort> {
  const port = (preferred === 0 ? undefined : await tryPort(preferred)) ?? (await anyPort());
  if (port === undefined) throw new Error("no free port on 127.0.0.1");
  return { port, isPreferred: preferred === 0 || port === preferred };
}
