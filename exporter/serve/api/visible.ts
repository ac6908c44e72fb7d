import type { Caller } from "@tradewind/core/net/access-tokens.ts";
import { may } from "@tradewind/core/net/access-tokens.ts";
import type { RecommendationList } from "@tradewind/core/contract/recommendation.ts";
import type { RecommendationHeader } from "../../decide/recommendation-list.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** By the token that the request shows. */
    caller: Caller;
  }
}

/** Of a route whose answer keeps to the namespaces of the caller; others are refused to a token that is for some only. */
export const BY_NAMESPACE = { config: { byNamespace: true } };

/** Those things that are of a namespace which the caller may read. */
export const visible = <Thing extends { readonly namespace: string }>(
  things: readonly Thing[],
  caller: Caller,
): readonly Thing[] =>
  caller.namespaces === undefined ? things : things.filter(({ namespace }) => may(caller, "read", namespace));

export function visibleList(
  { recommendations, ...header }: RecommendationList,
  caller: Caller,
): RecommendationList {
  return { ...visibleHeader(header, caller), recommendations: [...visible(recommendations, caller)] };
}

/** Problems name applications, so a caller of some namespaces has only those of its own. */
export function visibleHeader(header: RecommendationHeader, caller: Caller): RecommendationHeader {
  const { applications, namespace, predictor, schema, servedAtMs } = header;
  const isOwn = namespace !== undefined && may(caller, "read", namespace);
  if (caller.namespaces === undefined || isOwn) return header;
  return {
    schema,
    servedAtMs,
    predictor: { reachable: predictor.reachable },
    ...(applications && { applications: [...visible(applications, caller)] }),
  };
}
