import { systemClock } from "@tradewind/core/process/clock.ts";
import { ApiClient } from "@tradewind/kubernetes/client/client.ts";
import { RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import type { Resource } from "@tradewind/kubernetes/client/resources.ts";
import { ClusterWatch } from "@tradewind/kubernetes/workloads/cluster-watch.ts";
import { namedWorkloads } from "@tradewind/kubernetes/workloads/named-kinds.ts";
import { ServiceSpec } from "@tradewind/core/contract/application.ts";
import { describe, expect, it, onTestFinished } from "vitest";
import { waitUntil } from "../../wait-until.ts";
import { pod } from "../cluster-objects.ts";
import { FakeApiServer } from "../fake-api-server.ts";
import { silentLog } from "../silent-log.ts";

const SETS: Resource = {
  group: "sets.example.com",
  version: "v1beta1",
  plural: "gamesets",
  kind: "GameSet",
  namespaced: true,
};

/** A kind that keeps its number of pods where it likes, and what an application says of workloads. */
async function cluster(...workloads: readonly object[]) {
  const fake = await FakeApiServer.start();
  fake.install(SETS);
  const put = (replicas: number) =>
    fake.put(SETS, {
      metadata: { name: "lobby", namespace: "shop", uid: "set-lobby" },
      spec: { size: { pods: replicas }, replicas: "by size" },
      scale: { spec: { replicas }, status: { replicas, selector: "game=lobby" } },
    });
  put(2);
  const owner = { kind: "GameSetRevision", name: "lobby-1", uid: "revision-1" };
  for (const at of [0, 1]) {
    const made = pod(`lobby-${at}`, { owner });
    fake.put(RESOURCES.pods, { ...made, metadata: { ...made.metadata, labels: { game: "lobby" } } });
  }
  fake.put(RESOURCES.pods, pod("other-1", { owner }));
  const services = workloads.map((workload, at) => ServiceSpec.parse({ name: `service-${at}`, workload }));
  const named = namedWorkloads([{ namespace: "shop", services }]);
  const client = new ApiClient(fake.connection());
  const watch = new ClusterWatch({
    client,
    namespaces: ["shop"],
    scaledObjects: false,
    capacity: false,
    log: silentLog,
    clock: systemClock,
  });
  watch.start();
  onTestFinished(async () => {
    await watch.stop();
    await client.close();
  });
  const list = () => {
    watch.want(named);
    return watch.workloads(() => undefined, 10_000)?.workloads ?? [];
  };
  const name = (kind: Resource, workload: string): void => {
    const spec = ServiceSpec.parse({ name: workload, workload: { kind: kind.kind, name: workload } });
    named.push(...namedWorkloads([{ namespace: "shop", services: [spec] }]));
  };
  return { fake, list, name, named, put, watch };
}

describe("a workload of a kind that an application names", () => {
  it("is found by discovery, with the replicas and the pods that its /scale says, and followed", async () => {
    const { list, put } = await cluster({ kind: "GameSet", name: "lobby" });
    await waitUntil(() => list()[0]?.pods.length === 2);
    expect(list()).toMatchObject([
      { kind: "GameSet", name: "lobby", service: "lobby", replicasWanted: 2, replicasReady: 2 },
    ]);
    put(5);
    await waitUntil(() => list()[0]?.replicasWanted === 5);
  });

  it("is followed where it is named later, of a kind that was not named before", async () => {
    const { fake, list, name } = await cluster({ kind: "GameSet", name: "lobby" });
    const rooms: Resource = { ...SETS, plural: "rooms", kind: "Room" };
    fake.install(rooms);
    fake.put(rooms, {
      metadata: { name: "hall", namespace: "shop", uid: "room-hall" },
      spec: {},
      scale: { spec: { replicas: 3 }, status: { selector: "room=hall" } },
    });
    await waitUntil(() => list().length === 1);
    name(rooms, "hall");
    await waitUntil(() => list().some(({ kind, replicasWanted }) => kind === "Room" && replicasWanted === 3));
  });

  it("is read where the /scale of another must not be, and that one is not asked for at each look", async () => {
    const { fake, list, put } = await cluster(
      { kind: "GameSet", name: "arena" },
      { kind: "GameSet", name: "lobby" },
    );
    fake.put(SETS, { metadata: { name: "arena", namespace: "shop", uid: "set-arena" }, spec: {} });
    const isOfArena = ({ name, resource }: (typeof fake.calls)[number]): boolean =>
      resource === "gamesets/scale" && name === "arena";
    fake.failNext(Infinity, 403, { matches: isOfArena });
    await waitUntil(() => list().some(({ name }) => name === "lobby"));
    put(5);
    for (let look = 0; look < 20; look += 1) list();
    await waitUntil(() => fake.calls.some(isOfArena));
    expect(fake.calls.filter(isOfArena)).toHaveLength(1);
  });

  it("is told apart from one of another group by its apiVersion", async () => {
    const right = { apiVersion: "sets.example.com/v1beta1", kind: "GameSet", name: "lobby" };
    const wrong = { apiVersion: "games.example.org/v1", kind: "GameSet", name: "lobby" };
    const { list, named, watch } = await cluster(right, wrong);
    await waitUntil(() => list().length > 0 && watch.problem(named) !== undefined);
    expect(watch.problem(named)).toBe(
      "service 'service-1': the cluster has no kind 'games.example.org/v1 GameSet' with replicas that /scale changes",
    );
  });

  it("is refused by name where the cluster has no such kind, or one that cannot be scaled", async () => {
    const { list, named, watch } = await cluster(
      { kind: "Deploymnet", name: "web" },
      { kind: "ConfigMap", name: "web" },
      { kind: "StatefulSet", name: "web" },
    );
    await waitUntil(() => list().length === 0 && watch.problem(named) !== undefined);
    expect(watch.problem(named)).toMatch(
      /'service-0': .* no kind 'Deploymnet' .*'service-1': .* 'ConfigMap'/,
    );
    expect(watch.problem(named)).not.toMatch(/service-2/);
  });

  it("does not stop a cluster from being read where nothing can be discovered", async () => {
    const { fake, list, named, watch } = await cluster({ kind: "GameSet", name: "lobby" });
    fake.expireToken("admin-token");
    expect(list()).toEqual([]);
    expect(watch.problem(named)).toBeUndefined();
  });
});
