import { createHash } from "node:crypto";

/**
 * Whether a predictor is one of those that plan an application: the `count` with the greatest hash of the application with their
 * name (rendezvous hashing, Thaler and Ravishankar 1998). All who see the same predictors come to the same answer without asking,
 * and one that comes or goes moves nothing but what it plans. Who sees fewer predictors than there are plans rather too much.
 * @param self name of the predictor @param others names of those that run besides
 */
export function isPlanner(
  application: string,
  self: string,
  others: readonly string[],
  count: number,
): boolean {
  const own = hashOf(application, self);
  const before = others.filter((other) => other !== self && hashOf(application, other) > own);
  return before.length < count;
}

const hashOf = (application: string, predictor: string): string =>
  createHash("sha256").update(`${application}\n${predictor}`).digest("hex");
