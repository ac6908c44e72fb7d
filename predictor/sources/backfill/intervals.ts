/** A stretch of time, `startMs` included, `endMs` excluded; ms since the epoch. */
export interface Stretch {
  readonly startMs: number;
  readonly endMs: number;
}

/** What of `whole` is in none of `parts`, by rising start. */
export function without(whole: readonly Stretch[], parts: readonly Stretch[]): Stretch[] {
  const gone = parts.filter(({ startMs, endMs }) => endMs > startMs).sort((a, b) => a.startMs - b.startMs);
  const left: Stretch[] = [];
  for (const { startMs, endMs } of [...whole].sort((a, b) => a.startMs - b.startMs)) {
    let at = startMs;
    for (const part of gone) {
      if (part.endMs <= at) continue;
      if (part.startMs >= endMs) break;
      if (part.startMs > at) left.push({ startMs: at, endMs: part.startMs });
      at = Math.max(at, part.endMs);
    }
    if (at < endMs) left.push({ startMs: at, endMs });
  }
  return left;
}

export function lengthMs(stretches: readonly Stretch[]): number {
  return stretches.reduce((sum, { startMs, endMs }) => sum + endMs - startMs, 0);
}
