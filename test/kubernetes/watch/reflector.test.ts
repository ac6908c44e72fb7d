import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { ApiClient } from "@tradewind/kubernetes/client/client.ts";
import type { ClientSettings } from "@tradewind/kubernetes/client/client.ts";
import { RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import { Reflector } from "@tradewind/kubernetes/watch/reflector.ts";
import type { ReflectorOptions, WatchEnd } from "@tradewind/kubernetes/watch/reflector.ts";
import { waitUntil } from "../../wait-until.ts";
import { FakeApiServer } from "../fake-api-server.ts";
import { silentLog } from "../silent-log.ts";

const Thing = z.object({ metadata: z.object({ name: z.string() }), spec: z.object({ size: z.number() }) });
type Thing = z.infer<typeof Thing>;
const PODS = RESOURCES.pods;

interface Setting {
  readonly fake: FakeApiServer;
  readonly reflector: Reflector<Thing>;
  readonly ends: WatchEnd[];
  readonly lists: () => number;
  readonly sizes: () => Record<string, number>;
}

async function following(
  options: Partial<ReflectorOptions<Thing>> = {},
  settings: ClientSettings = {},
  prepare: (fake: FakeApiServer) => void = () => undefined,
): Promise<Setting> {
  const fake = await FakeApiServer.start();
  prepare(fake);
  const client = new ApiClient(fake.connection(), { retryDelays: { firstMs: 1, maxMs: 5 }, ...settings });
  const ends: WatchEnd[] = [];
  let lists = 0;
  const reflector = new Reflector({
    client,
    resource: PODS,
    namespace: "shop",
    schema: Thing,
    log: silentLog,
    timings: { backoff: { firstMs: 5, maxMs: 50 }, absentMs: 50 },
    observer: {
      listed: () => (lists += 1),
      watchEnded: (_resource, reason) => ends.push(reason),
      itemSkipped: () => undefined,
    },
    ...options,
  });
  onTestFinished(async () => {
    await reflector.stop();
    await client.close();
  });
  reflector.start();
  const sizes = () =>
    Object.fromEntries([...reflector.items.values()].map(({ metadata, spec }) => [metadata.name, spec.size]));
  return { fake, reflector, ends, lists: () => lists, sizes };
}

const thing = (name: string, size: unknown) => ({ metadata: { name, namespace: "shop" }, spec: { size } });
/** The server has one watch open, and its answer to it has arrived. */
const watching = ({ fake, reflector }: Setting) =>
  waitUntil(() => fake.openWatches === 1 && reflector.ageMs() === 0);

describe("a reflector", () => {
  it("reads a long collection in pages and then follows it from exactly there", async () => {
    const setting = await following({ pageSize: 10 }, {}, (fake) => {
      for (let index = 0; index < 95; index += 1) fake.put(PODS, thing(`pod-${index}`, index));
    });
    await watching(setting);
    expect(setting.reflector.items.size).toBe(95);
    expect(setting.fake.calls.filter(({ verb }) => verb === "list")).toHaveLength(10);
    setting.fake.put(PODS, thing("pod-95", 95));
    setting.fake.remove(PODS, "shop", "pod-0");
    setting.fake.put(PODS, thing("pod-1", 111));
    await waitUntil(() => setting.sizes()["pod-1"] === 111);
    expect(setting.reflector.items.size).toBe(95);
    expect(setting.lists()).toBe(1);
  });

  it("leaves out an object that is nested too deep to be read, and follows the others", async () => {
    const setting = await following();
    await watching(setting);
    const deep = JSON.parse(`${"[".repeat(200)}1${"]".repeat(200)}`) as unknown;
    setting.fake.put(PODS, thing("deep", deep));
    setting.fake.put(PODS, thing("a", 1));
    await waitUntil(() => setting.sizes()["a"] === 1);
    expect(Object.keys(setting.sizes())).toEqual(["a"]);
    expect(setting.lists()).toBe(1);
  });

  it("begins a list anew when its pages expired half-way", async () => {
    const setting = await following({ pageSize: 10 }, {}, (fake) => {
      for (let index = 0; index < 25; index += 1) fake.put(PODS, thing(`pod-${index}`, index));
      let pages = 0;
      fake.fault((call) => {
        if (call.verb === "list") pages += 1;
        if (call.verb === "list" && pages === 2) fake.compact();
        return false;
      });
    });
    await watching(setting);
    expect(setting.reflector.items.size).toBe(25);
    expect(setting.fake.calls.filter(({ verb }) => verb === "list").map(({ status }) => status)).toEqual([
      200, 410, 200, 200, 200,
    ]);
  });

  it("goes on from the last event when the server ends the watch, without reading everything again", async () => {
    const setting = await following();
    await watching(setting);
    setting.fake.put(PODS, thing("a", 1));
    await waitUntil(() => setting.sizes()["a"] === 1);
    setting.fake.dropWatches();
    setting.fake.put(PODS, thing("a", 2));
    await waitUntil(() => setting.sizes()["a"] === 2);
    expect(setting.lists()).toBe(1);
    expect(setting.ends).toEqual(["closed"]);
  });

  it("goes on from the last bookmark, so that a quiet kind does not expire", async () => {
    const setting = await following();
    await watching(setting);
    setting.fake.compact();
    setting.fake.bookmark();
    setting.fake.put(PODS, thing("a", 1));
    await waitUntil(() => setting.sizes()["a"] === 1);
    const asked = () => setting.fake.calls.filter(({ verb }) => verb === "watch");
    setting.fake.dropWatches();
    await waitUntil(() => asked().length === 2);
    expect(Number(asked()[1]!.query.get("resourceVersion"))).toBeGreaterThan(
      Number(asked()[0]!.query.get("resourceVersion")),
    );
    expect(setting.lists()).toBe(1);
  });

  it.each(["in-stream", "status"] as const)(
    "reads everything again after 410 Gone (%s) and drops what was deleted meanwhile",
    async (expiredWatch) => {
      const setting = await following({}, {}, (fake) => {
        fake.expiredWatch = expiredWatch;
        fake.put(PODS, thing("gone", 1));
        fake.put(PODS, thing("stays", 1));
      });
      await watching(setting);
      let down = true;
      setting.fake.fault((call, response) => {
        if (down && call.verb === "watch") response.destroy();
        return down && call.verb === "watch";
      });
      setting.fake.dropWatches();
      setting.fake.remove(PODS, "shop", "gone");
      setting.fake.put(PODS, thing("new", 3));
      setting.fake.compact();
      down = false;
      await waitUntil(() => setting.sizes()["new"] === 3);
      expect(setting.sizes()).toEqual({ stays: 1, new: 3 });
      expect(setting.lists()).toBe(2);
      expect(setting.ends).toContain("expired");
    },
  );

  it("does not read in a circle when every watch is expired at once", async () => {
    const setting = await following(
      { timings: { backoff: { firstMs: 200, maxMs: 200 } }, rng: () => 1 },
      {},
      (fake) => {
        fake.failNext(1_000, 410, { matches: ({ verb }) => verb === "watch", reason: "Expired" });
      },
    );
    await waitUntil(() => setting.ends.length >= 3);
    expect(setting.lists()).toBeLessThanOrEqual(4);
    setting.fake.clearFaults();
    await watching(setting);
  });

  it("keeps what it has while the server is away, tells its age, and catches up", async () => {
    const setting = await following({}, {}, (fake) => fake.put(PODS, thing("a", 1)));
    await watching(setting);
    expect(setting.reflector.ageMs()).toBe(0);
    let down = true;
    setting.fake.fault((_call, response) => {
      if (down) response.destroy();
      return down;
    });
    setting.fake.cutConnections();
    await waitUntil(() => setting.reflector.ageMs() > 30);
    expect(setting.sizes()).toEqual({ a: 1 });
    await waitUntil(() => setting.reflector.state.problem !== undefined);
    setting.fake.put(PODS, thing("a", 2));
    down = false;
    await waitUntil(() => setting.sizes()["a"] === 2 && setting.reflector.ageMs() === 0);
  });

  it("has no problem any more once the reopened watch is open, not only when that one ends", async () => {
    const said: string[] = [];
    const log = Object.assign(Object.create(silentLog) as typeof silentLog, {
      info: (_facts: object, message: string) => said.push(message),
    });
    const setting = await following({ log }, {}, (fake) => fake.put(PODS, thing("a", 1)));
    await watching(setting);
    let down = true;
    setting.fake.fault((_call, response) => {
      if (down) response.destroy();
      return down;
    });
    setting.fake.cutConnections();
    await waitUntil(() => setting.reflector.state.problem !== undefined);
    down = false;
    await watching(setting);
    expect(setting.reflector.state.problem).toBeUndefined();
    expect(said).toEqual(["the watch works again"]);
    expect(setting.fake.openWatches).toBe(1);
  });

  it("takes a watch that says nothing at all for dead", async () => {
    const setting = await following({}, { watchIdleMs: 300 });
    await waitUntil(() => setting.fake.calls.filter(({ verb }) => verb === "watch").length >= 2);
    expect(setting.lists()).toBe(1);
  });

  it("waits as long as 429 asks for", async () => {
    const setting = await following({}, {}, (fake) => {
      fake.failNext(1, 429, { matches: ({ verb }) => verb === "watch", headers: { "retry-after": "1" } });
    });
    const startedMs = performance.now();
    await watching(setting);
    expect(performance.now() - startedMs).toBeGreaterThan(400);
    expect(setting.ends).toEqual(["failed"]);
  });

  it("is empty and content where the kind is not installed, and notices when it is", async () => {
    const setting = await following(
      { namespace: undefined, resource: RESOURCES.scaledObjects },
      {},
      (fake) => {
        fake.uninstall(RESOURCES.scaledObjects);
      },
    );
    await waitUntil(() => setting.reflector.state.absent);
    expect(setting.reflector.state).toEqual({ synced: true, absent: true, problem: undefined });
    expect(setting.reflector.ageMs()).toBe(0);
    setting.fake.install(RESOURCES.scaledObjects);
    setting.fake.put(RESOURCES.scaledObjects, thing("a", 1));
    await waitUntil(() => setting.sizes()["a"] === 1);
    setting.fake.uninstall(RESOURCES.scaledObjects);
    await waitUntil(() => setting.reflector.state.absent);
    expect(setting.reflector.items.size).toBe(0);
  });

  it("ages as an absent kind too once the server no longer answers", async () => {
    const setting = await following({ resource: RESOURCES.scaledObjects }, {}, (fake) => {
      fake.uninstall(RESOURCES.scaledObjects);
    });
    await waitUntil(() => setting.reflector.state.absent);
    await setting.fake.stop();
    await waitUntil(() => setting.reflector.ageMs() > 30);
    expect(setting.reflector.state).toMatchObject({ synced: true, absent: true });
    await waitUntil(() => setting.reflector.state.problem !== undefined);
  });

  it.each([
    [404, "failed"],
    [403, "forbidden"],
  ] as const)("keeps its pods and ages when the server answers %i for them", async (status, reason) => {
    const setting = await following({}, {}, (fake) => fake.put(PODS, thing("a", 1)));
    await watching(setting);
    setting.fake.failNext(1_000, status, { reason: status === 403 ? "Forbidden" : "" });
    setting.fake.dropWatches();
    await waitUntil(() => setting.reflector.ageMs() > 30 && setting.ends.includes(reason));
    expect(setting.sizes()).toEqual({ a: 1 });
    expect(setting.reflector.state).toMatchObject({ synced: true, absent: false });
    expect(setting.reflector.state.problem).toMatch(new RegExp(`${status} to (list|watch) pods`));
    setting.fake.clearFaults();
    await watching(setting);
    expect(setting.reflector.state.problem).toBeUndefined();
  });

  it("is never synced where the server has never known pods", async () => {
    const setting = await following({}, {}, (fake) => fake.uninstall(PODS));
    await waitUntil(() => setting.ends.length >= 2);
    expect(setting.reflector.state).toMatchObject({ synced: false, absent: false });
    expect(setting.reflector.state.problem).toMatch(/404 to list pods/);
    expect(setting.reflector.ageMs()).toBe(Number.POSITIVE_INFINITY);
  });

  it("is never synced and names the right it lacks where it may not read", async () => {
    const setting = await following({}, {}, (fake) => fake.addUser("admin", "admin-token", []));
    await waitUntil(() => setting.reflector.state.problem !== undefined);
    expect(setting.reflector.state.synced).toBe(false);
    expect(setting.reflector.state.problem).toMatch(/403 to list pods in namespace 'shop'/);
    setting.fake.addUser("admin", "admin-token", [
      { rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["list", "watch"] }] },
    ]);
    await waitUntil(() => setting.reflector.state.synced && setting.reflector.state.problem === undefined);
  });

  it("leaves out what it does not understand, older states of it included, and keeps the rest", async () => {
    const setting = await following({}, {}, (fake) => {
      fake.put(PODS, thing("good", 1));
      fake.put(PODS, thing("odd", "huge"));
    });
    await watching(setting);
    expect(setting.sizes()).toEqual({ good: 1 });
    setting.fake.put(PODS, thing("odd", 5));
    await waitUntil(() => setting.sizes()["odd"] === 5);
    setting.fake.put(PODS, thing("odd", "huge"));
    await waitUntil(() => setting.sizes()["odd"] === undefined);
    expect(setting.sizes()).toEqual({ good: 1 });
  });

  it("survives garbage in the stream by reading everything again", async () => {
    const setting = await following({}, {}, (fake) => fake.put(PODS, thing("a", 1)));
    await watching(setting);
    setting.fake.sendRaw(PODS, "MODIFIED", { metadata: { name: 7 } });
    await waitUntil(() => setting.lists() === 2);
    await watching(setting);
    expect(setting.sizes()).toEqual({ a: 1 });
  });

  it("refuses more objects than it may hold instead of eating all memory", async () => {
    const setting = await following({ maxItems: 5 }, {}, (fake) => {
      for (let index = 0; index < 6; index += 1) fake.put(PODS, thing(`pod-${index}`, index));
    });
    await waitUntil(() => setting.reflector.state.problem !== undefined);
    expect(setting.reflector.state.problem).toMatch(/more than 5 pods .*name fewer namespaces/);
    expect(setting.reflector.items.size).toBe(0);
  });

  it("stops at once in the middle of a watch or a wait", async () => {
    const setting = await following();
    await watching(setting);
    const startedMs = performance.now();
    await setting.reflector.stop();
    expect(performance.now() - startedMs).toBeLessThan(1_000);
    await waitUntil(() => setting.fake.openWatches === 0);
  });
});
