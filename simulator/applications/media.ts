import type { ApplicationModel, ServiceModel } from "../model/application-model.ts";
import { bimodal, fixed } from "../model/distribution.ts";
import { all, around, service, store, withReplicas } from "./parts.ts";
import type { Replicas } from "./parts.ts";

/**
 * Media Microservices of DeathStarBench (Gan et al., ASPLOS 2019). Calls are those of its source (`mediaMicroservices/src`,
 * `review/compose.lua`): a review is sent in parts to one service, and the last part that arrives stores it in three places at
 * once; here that is always the rating's. Of a page the plot and the cast follow the movie's own record; here they follow the
 * reviews too. The mix, CPU times and those of stores are ours.
 */
export function media(replicas: Replicas = {}): ApplicationModel {
  return {
    name: "media",
    entry: "nginx",
    services: withReplicas(SERVICES, replicas),
    routes: [
      { name: "GET /page", service: "nginx", operation: "page", share: 0.85 },
      { name: "POST /review", service: "nginx", operation: "review", share: 0.15, objectiveMs: 250 },
    ],
    networkMs: fixed(0.2),
  };
}

const SERVICES: readonly ServiceModel[] = [
  service("nginx", {
    page: around(3, all("page/read")),
    review: around(4, all("user/upload", "movie-id/upload", "text/upload", "unique-id/upload")),
  }),
  service("page", {
    read: around(5, all("movie-info/read", "movie-review/read"), all("cast-info/read", "plot/read")),
  }),
  service("movie-info", { read: around(5, store("memcached-movie-info", bimodal(0.6, 8, 0.1))) }),
  service("cast-info", { read: around(6, store("memcached-cast-info", bimodal(0.6, 8, 0.1))) }),
  service("plot", { read: around(4, store("memcached-plot", bimodal(0.6, 8, 0.1))) }),
  service("movie-review", {
    read: around(5, store("redis-movie-review", 0.6), all("review-storage/read")),
    upload: around(4, store("mongodb-movie-review", 3)),
  }),
  service("review-storage", {
    read: around(8, store("memcached-review", bimodal(0.6, 8, 0.1))),
    store: around(5, store("mongodb-review", 4)),
  }),
  service("user", { upload: around(3, store("memcached-user", 0.6), all("compose-review/part")) }),
  service("text", { upload: around(3, all("compose-review/part")) }),
  service("unique-id", { upload: around(1, all("compose-review/part")) }),
  service("movie-id", {
    upload: around(3, store("memcached-movie-id", 0.6), all("compose-review/part", "rating/upload")),
  }),
  service("rating", { upload: around(2, all("compose-review/last"), store("redis-rating", 0.6)) }),
  service("compose-review", {
    part: around(2, store("memcached-compose", 0.6)),
    last: around(4, all("review-storage/store", "user-review/upload", "movie-review/upload")),
  }),
  service("user-review", { upload: around(4, store("mongodb-user-review", 3)) }),
];
