/**
 * Whether a child in a tree of summing counters can be left unread, exactly: over the time `seconds` its increase lies
 * in [0, parentIncrease], so its rate lies in [0, parentIncrease / seconds]. It is left unread only when every rate in
 * that range is within the tolerance of the rate now held, so pruning never hides a movement above the tolerance.
 * @param heldRate the child's last known rate, units per second
 * @param parentIncrease what the parent's counter gained over (at least) that time; negative means it was reset, NaN unknown
 */
export function sumBoundsChild(
  heldRate: number,
  parentIncrease: number,
  seconds: number,
  tolerance: number,
): boolean {
  if (!(seconds > 0) || !(parentIncrease >= 0)) return false;
  const highest = parentIncrease / seconds;
  return heldRate <= tolerance && highest - heldRate <= tolerance;
}

/** As {@link sumBoundsChild} for PSI totals, where only a parent that stood still proves anything about its children. */
export function zeroBoundsChild(heldRate: number, parentIncrease: number, tolerance: number): boolean {
  return parentIncrease === 0 && heldRate <= tolerance;
}
