import { expect } from "vitest";
import { z } from "zod";
import type { DescribedRoute, DescribedServer } from "@tradewind/core/net/openapi.ts";

const Described = z.object({ openapi: z.literal("3.1.0"), paths: z.record(z.string(), z.unknown()) });
/** What no server has. */
const UNKNOWN = "no-such-thing";
const NO_BODY_OF_OURS = JSON.stringify("nonsense");

/**
 * Asks for all that a server describes, with parameters and bodies that are none, and holds every answer against the description:
 * status, kind of content, and form, of problems too.
 * @param isOwn whether it answers itself
 * @returns paths that were answered with what was asked for
 */
export async function describedAnswers(
  url: string,
  { problem, routes }: DescribedServer,
  isOwn: (route: DescribedRoute) => boolean = () => true,
): Promise<string[]> {
  const { paths } = Described.parse(await (await fetch(`${url}/openapi.json`)).json());
  expect(Object.keys(paths)).toHaveLength(new Set(routes.map(({ path }) => path)).size + 1);
  const answered: string[] = [];
  for (const { answer, mediaType, method, path, statuses = [200] } of routes.filter(isOwn)) {
    if (mediaType === "text/event-stream") continue;
    const response = await fetch(`${url}${path.replaceAll(/:\w+/g, UNKNOWN)}`, {
      method,
      ...(method === "post" && { body: NO_BODY_OF_OURS, headers: { "content-type": "application/json" } }),
    });
    const text = await response.text();
    const isAnswer = statuses.includes(response.status);
    const where = `${method} ${path} answered ${response.status}`;
    const isRefusal = [400, 401, 403, 404, 409, 503].includes(response.status);
    const schema = isAnswer ? answer : problem;
    const expected = schema === undefined ? (mediaType ?? "text/plain") : "application/json";
    const sent = response.headers.get("content-type")?.split(";")[0];
    expect({
      where,
      isDescribed: isAnswer || isRefusal,
      mediaType: mediaType === "*/*" && isAnswer ? expected : sent,
      problem: schema?.safeParse(JSON.parse(text)).error,
    }).toEqual({ where, isDescribed: true, mediaType: expected, problem: undefined });
    if (isAnswer) answered.push(path);
  }
  return answered;
}
