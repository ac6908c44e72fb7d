import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { choosePort } from "@tradewind/local/supervise/ports.ts";
import { parseReadyLine } from "@tradewind/local/supervise/ready-line.ts";

describe("choosePort", () => {
  it("takes the preferred port when it is free, and another when somebody has it", async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const other = await choosePort(port);
    expect(other.isPreferred).toBe(false);
    expect(other.port).not.toBe(port);
    await new Promise((resolve) => server.close(resolve));
    expect(await choosePort(port)).toEqual({ port, isPreferred: true });
  });

  it("takes any free port below those that connections get by default, one of which could take it before somebody listens", async () => {
    const free = await Promise.all(Array.from({ length: 50 }, async () => choosePort(0)));
    for (const { isPreferred, port } of free) {
      expect(isPreferred).toBe(true);
      expect(port).toBeLessThan(32_768);
    }
  });
});

describe("parseReadyLine", () => {
  it("reads the line that says ready, and no other", () => {
    expect(
      parseReadyLine('{"process":"agent","ready":true,"addresses":{"http":"http://127.0.0.1:1"}}'),
    ).toEqual({
      process: "agent",
      ready: true,
      addresses: { http: "http://127.0.0.1:1" },
    });
    for (const line of ["", "hello", "{}", '{"process":"agent","ready":false,"addresses":{}}']) {
      expect(parseReadyLine(line)).toBeUndefined();
    }
  });
});
