import { describe, expect, it, onTestFinished } from "vitest";
import { AddressFollower, targetProblem } from "@tradewind/core/net/addresses.ts";
import type { AddressFollowerOptions } from "@tradewind/core/net/addresses.ts";
import { createLog } from "@tradewind/core/process/log.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import { waitUntil } from "../../wait-until.ts";

function following(options: Partial<AddressFollowerOptions>): AddressFollower {
  const follower = new AddressFollower({
    targets: ["dns+http://agents.tradewind.svc:9810"],
    everyMs: 5,
    log: createLog("test", "silent"),
    ...options,
  });
  onTestFinished(() => follower.stop());
  return follower;
}

describe("targets", () => {
  it.each([
    "http://127.0.0.1:9810",
    "https://agent.example",
    "dns+http://tradewind-agent.tradewind.svc:9810",
  ])("%s is one", (text) => {
    expect(targetProblem(text)).toBeUndefined();
  });

  it.each(["127.0.0.1:9810", "dns+tcp://x:1", "ftp://x", "http://", "http://u:p@x:1"])(
    "%s is none",
    (text) => {
      expect(targetProblem(text)).toBeDefined();
    },
  );
});

describe("an address follower", () => {
  it("turns a name into all its addresses and leaves plain addresses as they are", async () => {
    const follower = following({
      targets: ["http://127.0.0.1:1/", "dns+http://agents:9810"],
      lookup: async () => Promise.resolve(["10.0.0.2", "10.0.0.1", "fd00::1", "10.0.0.1"]),
    });
    expect(follower.current()).toEqual(["http://127.0.0.1:1"]);
    await follower.start();
    expect(follower.current()).toEqual([
      "http://127.0.0.1:1",
      "http://10.0.0.1:9810",
      "http://10.0.0.2:9810",
      "http://[fd00::1]:9810",
    ]);
  });

  it("knows the name that an address was resolved from, and none of a plain address", async () => {
    const follower = following({
      targets: ["https://10.0.0.9:1", "dns+https://agents.tradewind.svc:9810"],
      lookup: async () => Promise.resolve(["10.0.0.2"]),
    });
    await follower.start();
    expect(follower.nameOf("https://10.0.0.2:9810")).toBe("agents.tradewind.svc");
    expect(follower.nameOf("https://10.0.0.9:1")).toBeUndefined();
  });

  it("resolves again and tells only changes", async () => {
    let pods = ["10.0.0.1"];
    const told: (readonly string[])[] = [];
    const follower = following({
      lookup: async () => Promise.resolve(pods),
      onChange: (addresses) => told.push(addresses),
    });
    await follower.start();
    pods = ["10.0.0.1", "10.0.0.2"];
    await waitUntil(() => told.length === 2);
    pods = ["10.0.0.2"];
    await waitUntil(() => told.length === 3);
    expect(told.at(-1)).toEqual(["http://10.0.0.2:9810"]);
  });

  it("logs a name that is not there yet as news, and warns when it is missing for 30 s", async () => {
    const logged: string[] = [];
    const note = (level: string) => (_facts: object, text?: string) => void logged.push(`${level}: ${text}`);
    const log = {
      ...createLog("test", "silent"),
      info: note("info"),
      warn: note("warn"),
    } as unknown as Logger;
    let nowMs = 0;
    let asked = 0;
    const lookup = async (): Promise<readonly string[]> => {
      asked += 1;
      return Promise.reject(new Error("getaddrinfo EAI_AGAIN"));
    };
    const follower = following({ log, lookup, monotonicMs: () => nowMs });
    await follower.start();
    nowMs = 29_000;
    await waitUntil(() => asked > 5);
    const text = "the name cannot be resolved; keeping its last addresses";
    expect(logged).toEqual([`info: ${text}`]);
    nowMs = 30_000;
    await waitUntil(() => logged.length > 1);
    expect(logged).toEqual([`info: ${text}`, `warn: ${text}`]);
  });

  it("keeps the last addresses while DNS fails, and says that it does", async () => {
    let fails = false;
    let asked = 0;
    const follower = following({
      lookup: async () => {
        asked += 1;
        return fails ? Promise.reject(new Error("ENOTFOUND")) : Promise.resolve(["10.0.0.1"]);
      },
    });
    await follower.start();
    fails = true;
    await waitUntil(() => follower.isFailing && asked > 3);
    expect(follower.current()).toEqual(["http://10.0.0.1:9810"]);
    fails = false;
    await waitUntil(() => !follower.isFailing);
  });

  it("asks the system's resolver", async () => {
    const follower = following({ targets: ["dns+http://localhost:9810"] });
    await follower.start();
    expect(follower.current().length).toBeGreaterThan(0);
    expect(
      follower.current().every((address) => /^http:\/\/(127\.0\.0\.1|\[::1\]):9810$/.test(address)),
    ).toBe(true);
  });
});
