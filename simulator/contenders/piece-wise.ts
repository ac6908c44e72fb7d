import type { ServiceFacts } from "./numbers.ts";

interface Point {
  readonly load: number;
  readonly seconds: number;
}

function fitLine(points: readonly Point[]): { readonly a: number; readonly b: number } {
  const count = points.length;
  const [x, y] = [0, 0].map(
    (_, axis) => points.reduce((sum, { load, seconds }) => sum + (axis ? seconds : load), 0) / count,
  );
  const spread = points.reduce((sum, { load }) => sum + (load - (x ?? 0)) ** 2, 0);
  const product = points.reduce(
    (sum, { load, seconds }) => sum + (load - (x ?? 0)) * (seconds - (y ?? 0)),
    0,
  );
  const a = spread > 0 ? Math.max(0, product / spread) : 0;
  // Below 0 for a steep piece: it is only used above the bend.
  return { a, b: (y ?? 0) - a * (x ?? 0) };
}

const KEPT = 60;
/** Use of a pod's CPU at which its latency is taken to bend: where the second piece of the line begins. */
const BEND = 0.6;

/**
 * The piece-wise linear profile of one service, from the windows so far. Before there are any under load, the second piece is
 * the tangent that one processor with the measured latency would have.
 */
export class PieceWise {
  private readonly points: (Point & { readonly use: number })[] = [];

  add({ readyPods, requestsPerSecond = 0, selfTime, utilisation }: ServiceFacts): void {
    if (selfTime === undefined || utilisation === undefined || readyPods === 0) return;
    this.points.push({
      load: requestsPerSecond / readyPods,
      seconds: selfTime.p95Seconds,
      use: Math.min(0.95, utilisation),
    });
    if (this.points.length > KEPT) this.points.shift();
  }

  /** The piece above the bend. */
  line(): { readonly a: number; readonly b: number } | undefined {
    const last = this.points.at(-1);
    if (last === undefined) return undefined;
    const above = this.points.filter(({ use }) => use > BEND);
    if (above.length >= 5) return fitLine(above);
    const unloaded = last.seconds * (1 - last.use);
    const atUse = (use: number): Point => ({
      load: (last.load * use) / Math.max(0.01, last.use),
      seconds: unloaded / (1 - use),
    });
    return fitLine([...above, atUse(BEND), atUse(0.75), atUse(0.9)]);
  }
}
