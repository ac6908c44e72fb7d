import type { ApplicationModel, ServiceModel } from "../model/application-model.ts";
import { bimodal, fixed } from "../model/distribution.ts";
import { all, around, service, store, withReplicas } from "./parts.ts";
import type { Replicas } from "./parts.ts";

/**
 * Social Network of DeathStarBench (Gan et al., ASPLOS 2019). Calls, their stages and the mix of requests are those of its
 * source (`socialNetwork/src`, `mixed-workload.lua`: 60 % home timelines, 30 % user timelines, 10 % posts). To compose a post is
 * a stage of four calls at once, one of which makes two more, and then a stage of three. CPU times and those of stores are ours.
 */
export function socialNetwork(replicas: Replicas = {}): ApplicationModel {
  return {
    name: "social-network",
    entry: "nginx",
    services: withReplicas(SERVICES, replicas),
    routes: [
      { name: "GET /home-timeline", service: "nginx", operation: "home", share: 0.6 },
      { name: "GET /user-timeline", service: "nginx", operation: "user", share: 0.3 },
      { name: "POST /compose", service: "nginx", operation: "compose", share: 0.1, objectiveMs: 250 },
    ],
    networkMs: fixed(0.2),
  };
}

const SERVICES: readonly ServiceModel[] = [
  service("nginx", {
    home: around(3, all("home-timeline/read")),
    user: around(3, all("user-timeline/read")),
    compose: around(4, all("compose-post/compose")),
  }),
  service("compose-post", {
    compose: around(
      6,
      all("text/compose", "user/creator", "media/compose", "unique-id/compose"),
      all("post-storage/store", "user-timeline/write", "home-timeline/write"),
    ),
  }),
  service("text", { compose: around(6, all("url-shorten/compose", "user-mention/compose")) }),
  service("url-shorten", { compose: around(3, store("mongodb-url-shorten", 3)) }),
  service("user-mention", { compose: around(3, store("memcached-user", bimodal(0.6, 6, 0.1))) }),
  service("user", { creator: around(2) }),
  service("media", { compose: around(3) }),
  service("unique-id", { compose: around(1) }),
  // Posts that are not in the cache are read from the database.
  service("post-storage", {
    store: around(5, store("mongodb-post", 4)),
    read: around(9, store("memcached-post", bimodal(0.8, 9, 0.08))),
  }),
  service("user-timeline", {
    write: around(4, store("mongodb-user-timeline", 4), store("redis-user-timeline", 0.6)),
    read: around(6, store("redis-user-timeline", bimodal(0.6, 7, 0.05)), all("post-storage/read")),
  }),
  service("home-timeline", {
    write: around(5, all("social-graph/followers"), store("redis-home-timeline", 1)),
    read: around(6, store("redis-home-timeline", 0.6), all("post-storage/read")),
  }),
  service("social-graph", { followers: around(4, store("redis-social-graph", bimodal(0.6, 6, 0.05))) }),
];
