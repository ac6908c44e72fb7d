/** How numbers are written for people, in every text of every process. */

/** `38 ms`, `1.25 s`; a dash when it was not measured. */
export function formatLatency(seconds: number | undefined): string {
  if (seconds === undefined) return "–";
  return seconds < 1 ? `${Math.round(seconds * 1e3)} ms` : `${seconds.toFixed(2)} s`;
}

/** `75 s`, `2 m 05 s`. */
export function formatSeconds(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 100) return `${whole} s`;
  return `${Math.floor(whole / 60)} m ${String(whole % 60).padStart(2, "0")} s`;
}

/** `p95` of 0.95 */
export const percentileName = (percentile: number): string => `p${Number((100 * percentile).toFixed(3))}`;

/** `13 %` */
export const percent = (ratio: number): string => `${Math.round(ratio * 100)} %`;

/** `1.25 %` below a tenth, else `12.5 %` */
export const finePercent = (ratio: number): string => `${(100 * ratio).toFixed(ratio < 0.1 ? 2 : 1)} %`;

/** In UTC, to the second or the minute. */
export const utcSeconds = (epochMs: number): string => `${new Date(epochMs).toISOString().slice(0, 19)}Z`;
export const utcMinutes = (epochMs: number): string => `${new Date(epochMs).toISOString().slice(0, 16)}Z`;

/** CPU in whole thousandths of a core, rounded up, at least one: `250m`, `2`. */
export function formatCores(cores: number): string {
  const milli = Math.max(1, Math.ceil(cores * 1_000 - 1e-6));
  return milli % 1_000 === 0 ? String(milli / 1_000) : `${milli}m`;
}

/** Memory in whole mebibytes, rounded up, at least one: `200Mi`, `2Gi`. */
export function formatMemory(bytes: number): string {
  const mebi = Math.max(1, Math.ceil(bytes / 2 ** 20 - 1e-6));
  return mebi % 1_024 === 0 ? `${mebi / 1_024}Gi` : `${mebi}Mi`;
}
