/** How old a reader wants figures of pods to be at most, seconds by pod uid. */
export type Freshness = ReadonlyMap<string, number>;

/** Pods of one question. */
export const MOST_FRESH_PODS = 64;
/** Seconds that can be asked for. */
export const FRESH_SECONDS = { least: 1, most: 60 } as const;

const PARAMETER = "fresh";
const POD = /^([A-Za-z0-9-]{1,64}):(\d{1,2})$/;

/** The query `fresh=UID:1,UID:5` of a snapshot. */
export function freshnessQuery(pods: Freshness): Readonly<Record<string, string>> {
  const asked = [...pods].slice(0, MOST_FRESH_PODS).map(([uid, seconds]) => `${uid}:${seconds}`);
  return asked.length === 0 ? {} : { [PARAMETER]: asked.join(",") };
}

/** What a URL asks for; whatever is not of the form, or beyond {@link MOST_FRESH_PODS}, is left out. */
export function freshnessIn(url: string): Freshness {
  const [, query = ""] = url.split("?", 2);
  const asked = (new URLSearchParams(query).get(PARAMETER) ?? "").split(",", MOST_FRESH_PODS);
  return new Map(
    asked.flatMap((each) => {
      const [, uid = "", digits] = POD.exec(each) ?? [];
      const seconds = Number(digits);
      const isAsked = seconds >= FRESH_SECONDS.least && seconds <= FRESH_SECONDS.most;
      return isAsked ? [[uid, seconds] as const] : [];
    }),
  );
}
