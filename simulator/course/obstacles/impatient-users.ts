import { flashCrowd } from "../../model/load.ts";
import { obstacle } from "../obstacle.ts";
import { call, cpu, shop, to, work } from "../../applications/course-shop.ts";

export const IMPATIENT_USERS = obstacle({
  name: "impatient-users",
  about:
    "Eight times the users, who give up after 2 s and try again: the front answers nobody any more, and its spans are short, since requests wait before they reach it.",
  load: flashCrowd({ base: 10, peak: 80, startSeconds: 480, riseSeconds: 10, holdSeconds: 400 }),
  application: shop(
    (each) =>
      each.name === "front"
        ? {
            ...each,
            operations: {
              serve: [
                cpu(work(25)),
                call(to("search")),
                call(
                  to("cart", { count: { kind: "chance", chance: 0.5 } }),
                  to("profile", { count: { kind: "chance", chance: 0.2 } }),
                ),
              ],
            },
            blocking: true,
            queueLimit: 400,
            endsWithCaller: true,
          }
        : each,
    {
      routes: [
        {
          name: "GET /",
          service: "front",
          operation: "serve",
          share: 1,
          timeoutMs: 2_000,
          retries: 3,
          backoffMs: 200,
        },
      ],
    },
  ),
  objectiveMs: 300,
});
