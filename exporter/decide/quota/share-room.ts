import type { PlanRoom } from "@tradewind/core/contract/plan.ts";
import type { RoomShare } from "@tradewind/core/contract/recommendation.ts";
import { QUOTA_AMOUNTS } from "@tradewind/core/contract/workload.ts";
import type { QuotaAmounts } from "@tradewind/core/contract/workload.ts";

/** A service that is to have more replicas than run. */
export interface RoomClaim {
  readonly application: string;
  readonly service: string;
  readonly priority: number;
  /** Measured latency over the objective; 0 where it is not known. */
  readonly severity: number;
  readonly running: number;
  readonly asked: number;
  /** Of one more replica. */
  readonly takes: QuotaAmounts;
}

/** Room for rounding of sums of fractions. */
const SLACK = 1e-9;
/** Rivals named in one record. */
const MOST_NAMES = 5;

/**
 * Shares out what the quotas of a namespace leave: higher priority first, then the larger violation, then by name. What runs is
 * never taken away.
 * @returns of each claim that a quota cuts, and of each that had something before a claim that was cut, by service
 */
export function shareRoom(
  quotas: PlanRoom["quotas"],
  claims: readonly RoomClaim[],
): ReadonlyMap<string, RoomShare> {
  const left = quotas.map(({ left: amounts, name }) => ({ name, amounts: { ...amounts } }));
  const shares = new Map<string, RoomShare>();
  const claimsAhead: RoomClaim[] = [];
  for (const claim of claims.toSorted(inOrder)) {
    const { given, quota } = take(left, claim);
    if (quota !== undefined) {
      const rivals = claimsAhead.filter(({ takes }) => uses(takes, quota.amounts)).map(rivalOf);
      const mostReplicas = claim.running + given;
      shares.set(claim.service, { quota: quota.name, mostReplicas, ahead: rivals.slice(0, MOST_NAMES) });
      for (const winner of claimsAhead) addBehind(shares, winner, claim, quota.name);
    }
    if (given > 0) claimsAhead.push(claim);
  }
  return shares;
}

function inOrder(a: RoomClaim, b: RoomClaim): number {
  return (
    b.priority - a.priority ||
    b.severity - a.severity ||
    compare(a.application, b.application) ||
    compare(a.service, b.service)
  );
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

interface QuotaRemainder {
  readonly name: string;
  readonly amounts: QuotaAmounts;
}

/** Takes what the claim may have. @returns the replicas, and the quota that ran out first */
function take(
  remainders: readonly QuotaRemainder[],
  { asked, running, takes }: RoomClaim,
): { readonly given: number; readonly quota?: QuotaRemainder } {
  let grantedReplicas = Math.max(0, asked - running);
  let quota: QuotaRemainder | undefined;
  for (const remainder of remainders) {
    for (const amount of QUOTA_AMOUNTS) {
      const [room, one = 0] = [remainder.amounts[amount], takes[amount]];
      if (room === undefined || one <= 0) continue;
      const fits = Math.floor(room / one + SLACK);
      if (fits >= grantedReplicas) continue;
      grantedReplicas = fits;
      quota = remainder;
    }
  }
  for (const { amounts } of remainders) {
    for (const amount of QUOTA_AMOUNTS) {
      const room = amounts[amount];
      if (room !== undefined) amounts[amount] = Math.max(0, room - grantedReplicas * (takes[amount] ?? 0));
    }
  }
  return { given: grantedReplicas, ...(quota && { quota }) };
}

const uses = (takes: QuotaAmounts, amounts: QuotaAmounts): boolean =>
  QUOTA_AMOUNTS.some((amount) => amounts[amount] !== undefined && (takes[amount] ?? 0) > 0);

function addBehind(shares: Map<string, RoomShare>, winner: RoomClaim, loser: RoomClaim, quota: string): void {
  const known = shares.get(winner.service) ?? { quota, ahead: [] };
  const behind = [...(known.behind ?? []), rivalOf(loser)].slice(0, MOST_NAMES);
  shares.set(winner.service, { ...known, behind });
}

const rivalOf = ({ application, priority, service }: RoomClaim) => ({ application, service, priority });
