/** The two text formats of Prometheus: text 0.0.4 and OpenMetrics 1.0.0. */
export type TextFormat = "text" | "openmetrics";

export const CONTENT_TYPES: Readonly<Record<TextFormat, string>> = {
  text: "text/plain; version=0.0.4; charset=utf-8",
  openmetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8",
};

/** Picks the format by the `Accept` header: OpenMetrics when it is asked for at least as much as plain text. */
export function negotiate(accept: string | undefined): TextFormat {
  let openmetrics = 0;
  let text = 0;
  for (const part of (accept ?? "").slice(0, 2000).split(",")) {
    const [type = "", ...parameters] = part.split(";").map((field) => field.trim().toLowerCase());
    const q = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2);
    const quality = q === undefined ? 1 : Number(q);
    if (!(quality > 0)) continue;
    if (type === "application/openmetrics-text") openmetrics = Math.max(openmetrics, quality);
    else if (type === "text/plain") text = Math.max(text, quality);
  }
  return openmetrics > 0 && openmetrics >= text ? "openmetrics" : "text";
}
