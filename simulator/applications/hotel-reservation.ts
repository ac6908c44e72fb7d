import type { ApplicationModel, ServiceModel } from "../model/application-model.ts";
import { bimodal, fixed } from "../model/distribution.ts";
import { all, around, service, store, withReplicas } from "./parts.ts";
import type { Replicas } from "./parts.ts";

/**
 * Hotel Reservation of DeathStarBench (Gan et al., ASPLOS 2019). Which service calls which, in which order, and the mix of
 * requests are those of its source (`hotelReservation/services`, `mixed-workload_type_1.lua`: 60 % searches, 39 %
 * recommendations, 0.5 % logins, 0.5 % reservations). CPU times and those of stores are ours: a few times the original's, so
 * that 100 requests a second need several cores.
 */
export function hotelReservation(replicas: Replicas = {}): ApplicationModel {
  return {
    name: "hotel-reservation",
    entry: "frontend",
    services: withReplicas(SERVICES, replicas),
    routes: [
      { name: "GET /hotels", service: "frontend", operation: "hotels", share: 0.6 },
      { name: "GET /recommendations", service: "frontend", operation: "recommendations", share: 0.39 },
      { name: "POST /user", service: "frontend", operation: "user", share: 0.005 },
      { name: "POST /reservation", service: "frontend", operation: "reservation", share: 0.005 },
    ],
    networkMs: fixed(0.2),
  };
}

const SERVICES: readonly ServiceModel[] = [
  service("frontend", {
    hotels: around(4, all("search/nearby"), all("reservation/check"), all("profile/get")),
    recommendations: around(4, all("recommendation/get"), all("profile/get")),
    user: around(3, all("user/check")),
    reservation: around(3, all("user/check"), all("reservation/make")),
  }),
  service("search", { nearby: around(5, all("geo/nearby"), all("rate/get")) }),
  // Its points are kept in memory.
  service("geo", { nearby: around(7) }),
  service("rate", { get: around(9, store("memcached-rate", 0.6)) }),
  // Profiles that are not in the cache are read from the database.
  service("profile", { get: around(9, store("mongodb-profile", bimodal(0.6, 8, 0.1))) }),
  service("recommendation", { get: around(10) }),
  service("user", { check: around(4) }),
  service("reservation", {
    check: around(7, store("memcached-reserve", 0.6)),
    make: around(9, store("mongodb-reservation", 5)),
  }),
];
