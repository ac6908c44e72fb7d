import type { CauseLabel } from "@tradewind/core/contract/accuracy.ts";
import { Explanation } from "@tradewind/core/contract/explanation.ts";
import { FAULT_CAUSES } from "../application/service-fault.ts";
import type { ServiceFault } from "../application/service-fault.ts";

const ANSWER_WITHIN_MS = 5_000;

/**
 * Tells the predictor what a fault was, which judges what it had named. Never throws.
 * @returns what came of it, for people
 */
export async function labelFault(
  predictor: string,
  { kind, service }: ServiceFault,
  { fromMs, toMs }: Pick<CauseLabel, "fromMs" | "toMs">,
): Promise<string> {
  const label: CauseLabel = { fromMs, toMs, service, type: FAULT_CAUSES[kind], source: "injected" };
  try {
    const answer = await fetch(`${predictor}/v1/labels`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(label),
      signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    });
    if (answer.status === 404)
      return "the fault was not felt: no missed objective was explained while it lasted";
    const [first] = Explanation.parse(await answer.json()).causes;
    return first === undefined ? "no cause was named" : `named was '${first.service}' (${first.type})`;
  } catch {
    return "the predictor did not answer what it had named";
  }
}
