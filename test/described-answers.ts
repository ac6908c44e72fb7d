import { expect } from "vitest";
import { z } from "zod";
import type { DescribedRoute } from "@tradewind/core/net/openapi.ts";

const Described = z.object({ openapi: z.literal("3.1.0"), paths: z.record(z.string(), z.unknown()) });

/**
 * Asks for all that a server describes and needs no more than its path.
 * @param isOwn whether it answers itself
 * @returns paths that were answered as described
 */
export async function describedAnswers(
  url: string,
  routes: readonly DescribedRoute[],
  isOwn: (route: DescribedRoute) => boolean = () => true,
): Promise<string[]> {
  const { paths } = Described.parse(await (await fetch(`${url}/openapi.json`)).json());
  expect(Object.keys(paths)).toHaveLength(new Set(routes.map(({ path }) => path)).size + 1);
  const answered: string[] = [];
  for (const { answer, mediaType, method, path } of routes.filter(isOwn)) {
    if (method !== "get" || path.includes(":") || mediaType === "text/event-stream") continue;
    const response = await fetch(`${url}${path}`);
    const text = await response.text();
    expect([200, 400, 404, 503]).toContain(response.status);
    if (response.status !== 200) continue;
    const read = answer?.safeParse(JSON.parse(text));
    expect({ path, problem: read?.error }).toEqual({ path, problem: undefined });
    answered.push(path);
  }
  return answered;
}
