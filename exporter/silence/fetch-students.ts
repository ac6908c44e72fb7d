import { applicationKey } from "@tradewind/core/contract/application-list.ts";
import type { Plan } from "@tradewind/core/contract/plan.ts";
import { describeError } from "@tradewind/core/values/errors.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import type { PlanFetcher } from "../plans/plan-fetcher.ts";
import type { StudentShelf } from "./student-shelf.ts";

/** A predictor that gives its plan gives a model of some kilobytes at once. ms */
const DEADLINE_MS = 2_000;

/**
 * Fetches the students that a plan names, once. Never rejects: they are asked for again with the next plan, and until then the reactive
 * need would decide.
 */
export async function fetchStudents(
  { application: name, namespace, students }: Pick<Plan, "application" | "namespace" | "students">,
  {
    fetcher,
    log,
    shelf,
  }: { readonly fetcher: PlanFetcher; readonly shelf: StudentShelf; readonly log: Logger },
): Promise<void> {
  if (students === undefined) return;
  const application = applicationKey({ namespace, name });
  const { hash } = students;
  if (shelf.has(application, hash)) return;
  try {
    await shelf.keep(application, hash, await fetcher.model(hash, AbortSignal.timeout(DEADLINE_MS)));
    log.info({ application, hash }, "has the students of the planner");
  } catch (error) {
    log.debug(
      { application, hash, problem: describeError(error) },
      "cannot have the students of the planner yet",
    );
  }
}
