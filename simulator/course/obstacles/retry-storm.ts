import { flashCrowd } from "../../model/load.ts";
import { obstacle, USUAL_LOAD } from "../obstacle.ts";
import { call, cpu, shop, to, work } from "../../applications/course-shop.ts";

const patient = { timeoutMs: 250, retries: 2, backoffMs: 20 };

export const RETRY_STORM = obstacle({
  name: "retry-storm",
  about:
    "Callers give up after 250 ms and try twice more while the callee goes on: a short surge feeds itself.",
  load: flashCrowd({
    base: USUAL_LOAD,
    peak: 2 * USUAL_LOAD,
    startSeconds: 480,
    riseSeconds: 10,
    holdSeconds: 70,
  }),
  application: shop(
    (each) =>
      each.name === "search"
        ? {
            ...each,
            operations: { serve: [cpu(work(7)), call(to("price", patient), to("stock", patient))] },
          }
        : each,
    {
      routes: [
        { name: "GET /", service: "front", operation: "serve", share: 1, timeoutMs: 1_000, retries: 1 },
      ],
    },
  ),
});
