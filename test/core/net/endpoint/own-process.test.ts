import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { askFor, asking } from "@tradewind/core/net/endpoint/own-process.ts";
import { FakeServer } from "./fake-server.ts";

const pem = (name: string): string => join(import.meta.dirname, "..", "..", "..", "fixtures", "tls", name);
const Answer = z.strictObject({ value: z.number() });

/** An address that the certificate does not name, as behind a forwarded port. */
async function unnamed(): Promise<string> {
  const tls = { cert: readFileSync(pem("server.crt")), key: readFileSync(pem("server.key")) };
  const server = createServer(tls, (_request, response) => response.end('{"value":7}'));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.2", resolve));
  onTestFinished(() => void server.close());
  return `https://127.0.0.2:${(server.address() as AddressInfo).port}`;
}

describe("asking one of our own processes over TLS", () => {
  const access = { timeoutSeconds: 5, caFile: pem("authority.crt") };
  const ask = async (serverName?: string): Promise<unknown> => {
    const scaler = { name: "scaler", url: await unnamed(), flag: "--scaler" } as const;
    return asking(scaler, { ...access, serverName }, async (client) => client.json({ path: "v1" }, Answer));
  };

  it("takes a certificate of the name that was given, where the address has another one", async () => {
    expect(await ask("localhost")).toEqual({ value: 7 });
  });

  it("names the flag to give where address and certificate differ", async () => {
    await expect(ask()).rejects.toThrow(/that name as --tls-server-name/);
  });
});

describe("asking for what may not be there yet", () => {
  it("gives the answer, or the process' own reason under the code that was asked for", async () => {
    const server = await FakeServer.start((request, response) => {
      if (request.url === "/v1/there") response.end('{"value":1}');
      else response.writeHead(503).end('{"error":{"code":"no-plan-yet","message":"no window has closed"}}');
    });
    const predictor = { name: "predictor", url: server.url } as const;
    const ask = async (path: string): Promise<unknown> =>
      askFor(predictor, { timeoutSeconds: 5 }, { path }, { absent: "no-answer", schema: Answer });
    expect(await ask("v1/there")).toEqual({ value: 1 });
    await expect(ask("v1/absent")).rejects.toMatchObject({
      code: "no-answer",
      message: `the predictor at ${server.url}: no window has closed`,
    });
  });
});
