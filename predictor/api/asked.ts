import { applicationKey, askForOne } from "@tradewind/core/contract/application-list.ts";
import type { Applications } from "../run/applications.ts";
import type { PlannedApplication } from "../run/application/planned-application.ts";

/** Query of a request, as it came. */
export interface Asked {
  readonly namespace?: unknown;
  readonly application?: unknown;
  readonly service?: unknown;
  /** ms since the epoch. */
  readonly at?: unknown;
  readonly from?: unknown;
  readonly to?: unknown;
}

export type Chosen =
  | { readonly one: PlannedApplication }
  | { readonly status: number; readonly code: string; readonly problem: string };

/** The application that is asked for, or the only one. */
export function chosen(applications: Applications, { application, namespace }: Asked): Chosen {
  const all = applications.planned();
  const found = all.filter(
    ({ application: each }) =>
      (application === undefined || each.name === application) &&
      (namespace === undefined || each.namespace === namespace),
  );
  const [one, ...others] = found;
  if (one !== undefined && others.length === 0) return { one };
  if (all.length === 0) {
    const problem = applications.whyNot() ?? "there is no application to plan; /v1/applications lists them";
    return { status: 503, code: "no-plan-yet", problem };
  }
  const problem = askForOne(all.map(({ application: each }) => applicationKey(each)));
  return found.length === 0
    ? { status: 404, code: "no-such-application", problem }
    : { status: 400, code: "several-applications", problem };
}
