import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Plan } from "@tradewind/core/contract/plan.ts";
import { planOf, wishOf } from "../../test/exporter/wish.ts";
import { MAX_REPLICAS, NAMESPACE } from "./application.ts";
import type { Service } from "./application.ts";

const PLAN_EVERY_MS = 1_000;

/** What the predictor of the scenario says; `plan` is the one that is right. */
export type PlanText = (plan: Plan) => string;

/** A predictor under our control: it plans every second and may say anything. */
export class FakePredictor {
  readonly url: string;
  /** Turns the right plan into what is sent. */
  say: PlanText = (plan) => JSON.stringify(plan);
  private readonly server;

  private constructor(server: ReturnType<typeof createServer>, url: string, services: readonly Service[]) {
    this.server = server;
    this.url = url;
    const startedAtMs = Date.now();
    server.on("request", (_request, response) => {
      const sequence = Math.floor((Date.now() - startedAtMs) / PLAN_EVERY_MS);
      const text = this.say(planFor(services, sequence, startedAtMs));
      response.writeHead(200, { "content-type": "application/json" }).end(text);
    });
  }

  static async start(services: readonly Service[]): Promise<FakePredictor> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    return new FakePredictor(server, `http://127.0.0.1:${port}`, services);
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise<void>((resolve) => this.server.close(() => resolve()));
  }
}

function planFor(services: readonly Service[], sequence: number, predictorStartedAtMs: number): Plan {
  const wishes = services.map(({ name, replicas }) =>
    wishOf({
      namespace: NAMESPACE,
      service: name,
      allocation: { replicas },
      observed: { replicasReady: replicas, replicasWanted: replicas, lastStartedAtMs: 1, complete: true },
      bounds: { ...wishOf().bounds, minReplicas: 1, maxReplicas: MAX_REPLICAS },
    }),
  );
  return planOf(wishes, { application: "default", namespace: NAMESPACE, sequence, predictorStartedAtMs });
}
