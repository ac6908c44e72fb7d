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

/** The preferred port, or a free one. @param preferred 0 for any free one */
export async function choosePort(preferred: number): Promise<ChosenPort> {
  const port = (await tryPort(preferred)) ?? (await tryPort(0));
  if (port === undefined) throw new Error("no free port on 127.0.0.1");
  return { port, isPreferred: preferred === 0 || port === preferred };
}
