import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "@tradewind/core/process/clock.ts";
import { FollowedApplications, MOST_APPLICATIONS } from "@tradewind/kubernetes/application/followed.ts";
import {
  applicationSources,
  maySeveral,
  resourceNamespaces,
} from "@tradewind/kubernetes/application/sources.ts";
import { ApiClient } from "@tradewind/kubernetes/client/client.ts";
import { RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import { waitUntil } from "../../wait-until.ts";
import { FakeApiServer } from "../fake-api-server.ts";
import { silentLog } from "../silent-log.ts";

async function directory(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "tradewind-applications-"));
  onTestFinished(async () => rm(path, { recursive: true, force: true }));
  return path;
}

const text = (name: string, more = ""): string =>
  `{ name: ${name}, namespace: shop, entry: ${name}, objective: { milliseconds: 100 }${more} }`;

async function follow(...given: readonly string[]): Promise<FollowedApplications> {
  const sources = await applicationSources(given);
  const options = { sources, clock: systemClock, log: silentLog, onChange: () => undefined, filesPollMs: 10 };
  const followed = new FollowedApplications(options);
  onTestFinished(async () => followed.stop());
  await followed.start();
  return followed;
}

const standing = (followed: FollowedApplications): string[] =>
  followed
    .list()
    .map(({ name, origin, state }) => `${name ?? origin.slice(origin.lastIndexOf("/") + 1)} ${state}`);

describe("where applications come from", () => {
  it.each([
    ["app.yaml", false, undefined],
    ["crd:shop/hotel", false, ["shop"]],
    ["crd:shop/*", true, ["shop"]],
    ["crd:*/*", true, []],
    [tmpdir(), true, undefined],
  ])("%s", async (given, several, namespaces) => {
    const sources = await applicationSources([given]);
    expect([maySeveral(sources), resourceNamespaces(sources)]).toEqual([several, namespaces]);
  });
});

it("applications of a namespace keep their last valid state and its generation, and are unread once they are deleted", async () => {
  const fake = await FakeApiServer.start();
  const put = (milliseconds: number): void => {
    const spec = { entry: "search", objective: { milliseconds } };
    fake.put(RESOURCES.applications, { metadata: { name: "hotel", namespace: "shop" }, spec });
  };
  const client = new ApiClient(fake.connection());
  const sources = await applicationSources(["crd:shop/*"]);
  const options = { sources, client, clock: systemClock, log: silentLog, onChange: () => undefined };
  const followed = new FollowedApplications(options);
  onTestFinished(async () => {
    await followed.stop();
    await client.close();
  });
  expect(followed.isUnread("shop/hotel")).toBe(true);
  put(100);
  await followed.start();
  await waitUntil(() => followed.reading("shop/hotel").generation === 1);
  expect([followed.isUnread("shop/hotel"), followed.isUnread("shop/other")]).toEqual([false, false]);
  put(-1);
  await waitUntil(() => followed.reading("shop/hotel").problem !== undefined);
  expect(followed.reading("shop/hotel").generation).toBe(1);
  put(200);
  await waitUntil(() => followed.reading("shop/hotel").generation === 3);
  expect(followed.reading("shop/hotel").problem).toBeUndefined();
  fake.remove(RESOURCES.applications, "shop", "hotel");
  await waitUntil(() => followed.isUnread("shop/hotel"));
  put(100);
  await waitUntil(() => !followed.isUnread("shop/hotel"));
});

describe("applications of a directory", () => {
  it("come, change and go while they are followed, and one that is broken leaves the others alone", async () => {
    const path = await directory();
    await writeFile(join(path, "a.yaml"), text("a"));
    await writeFile(join(path, "broken.yaml"), "entry: [");
    await writeFile(join(path, "notes.txt"), "none");
    const followed = await follow(path);
    expect(standing(followed)).toEqual(["a planned", "broken.yaml invalid"]);
    expect(followed.list()[1]?.problem).toContain("broken.yaml cannot be read as YAML");
    await writeFile(join(path, "b.yaml"), text("b"));
    await waitUntil(() => standing(followed).includes("b planned"));
    await writeFile(join(path, "a.yaml"), text("a", ", budget: { pods: -1 }"));
    await waitUntil(() => followed.list()[0]?.problem !== undefined);
    expect(followed.find("shop/a")).toMatchObject({ entry: "a" });
    await rm(join(path, "a.yaml"));
    await waitUntil(() => standing(followed).includes("a deleted"));
    expect(followed.planned().map(({ name }) => name)).toEqual(["b"]);
    await writeFile(join(path, "a.yaml"), text("a"));
    await waitUntil(() => standing(followed).includes("a planned"));
    expect(standing(followed)).not.toContain("a deleted");
  });

  it("of one name are one: the first by path counts, and the other says so", async () => {
    const path = await directory();
    await writeFile(join(path, "1.yaml"), text("a"));
    await writeFile(join(path, "2.yaml"), text("a", ", mode: act"));
    const [first, second] = (await follow(path)).list();
    expect(first).toMatchObject({ state: "planned", application: { mode: "observe" } });
    expect(second).toMatchObject({
      state: "invalid",
      problem: expect.stringContaining("is also configured by") as string,
    });
  });

  it("have no sections of their own: what all share stands elsewhere", async () => {
    const path = await directory();
    await writeFile(join(path, "a.yaml"), text("a", ", sources: {}"));
    const [only] = (await follow(path)).list();
    expect(only?.problem).toContain("has a section 'sources', which is of all applications");
  });

  it("are bounded in number", async () => {
    const path = await directory();
    for (let index = 0; index <= MOST_APPLICATIONS; index += 1)
      await writeFile(join(path, `${index + 100}.yaml`), text(`a${index}`));
    const followed = await follow(path);
    expect(followed.planned()).toHaveLength(MOST_APPLICATIONS);
    expect(followed.list().at(-1)).toMatchObject({
      state: "invalid",
      problem: expect.stringContaining("at most") as string,
    });
  });

  it("that are too many are of the namespace with the most, whatever they are called", async () => {
    const path = await directory();
    for (let index = 0; index < MOST_APPLICATIONS; index += 1)
      await writeFile(join(path, `a${index + 100}.yaml`), text(`a${index}`));
    const other = "{ name: z, namespace: bank, entry: z, objective: { milliseconds: 100 } }";
    await writeFile(join(path, "z.yaml"), other);
    const followed = await follow(path);
    expect(followed.planned()).toHaveLength(MOST_APPLICATIONS);
    expect(followed.planned().at(-1)).toMatchObject({ name: "z", namespace: "bank" });
  });
});
