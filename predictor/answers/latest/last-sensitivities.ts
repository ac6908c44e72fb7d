import { setImmediate as nextTurn } from "node:timers/promises";
import type { Plan } from "@tradewind/core/contract/plan.ts";
import { SENSITIVITIES_SCHEMA } from "@tradewind/core/contract/sensitivities.ts";
import type { SensitivityList, ServiceSensitivity } from "@tradewind/core/contract/sensitivities.ts";
import type { Sensitivities } from "../../decide/cost/price/sensitivities.ts";

/** Requests and spans wait no longer than this for their turn. */
const SLICE_MS = 8;

/**
 * What one more unit of each service is worth after the last decision. It is worked out in slices, once for each decision and
 * only when somebody asks; the models of that decision are given up then, or at the next one.
 */
export class LastSensitivities {
  readonly #monotonicMs: () => number;
  #header: Omit<SensitivityList, "services"> | undefined;
  #services: () => Promise<readonly ServiceSensitivity[]> = async () => [];

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
  }

  /** @param models undefined where no live models decided */
  adopt(plan: Plan, models: Sensitivities | undefined): void {
    const { application, namespace, objective, plannedAtMs, policy, policyReason } = plan;
    this.#header = {
      schema: SENSITIVITIES_SCHEMA,
      application,
      namespace,
      decidedAtMs: plannedAtMs,
      policy,
      objective,
      ...(models === undefined && {
        unavailable: `policy '${policy}' decided without live models: ${policyReason}`,
      }),
    };
    this.#services = async () => {
      const worked = this.#workOut(models?.services() ?? []);
      this.#services = async () => worked;
      return worked;
    };
  }

  /** Undefined before the first decision. */
  async list(): Promise<SensitivityList | undefined> {
    const header = this.#header;
    return header && { ...header, services: [...(await this.#services())] };
  }

  async #workOut(all: Iterable<ServiceSensitivity>): Promise<ServiceSensitivity[]> {
    const services: ServiceSensitivity[] = [];
    let sliceEndMs = this.#monotonicMs() + SLICE_MS;
    for (const each of all) {
      services.push(each);
      if (this.#monotonicMs() < sliceEndMs) continue;
      await nextTurn();
      sliceEndMs = this.#monotonicMs() + SLICE_MS;
    }
    return services;
  }
}
