/** Who asked, as far as a span says it. */
export const USER_AGENT = { unknown: 0, kubelet: 1, other: 2 } as const;

/** Span attributes that hold it: semantic conventions of 2023 on, and those before. */
export const USER_AGENT_KEYS = ["user_agent.original", "http.user_agent"] as const;
export const isUserAgentKey = (key: string): boolean => USER_AGENT_KEYS.some((each) => each === key);

const KUBELET = "kube-probe/";
/** As much of a user agent as {@link userAgentOf} looks at. */
export const USER_AGENT_BYTES = KUBELET.length;

/** @param text the attribute or its first {@link USER_AGENT_BYTES}; empty where a span has none */
export function userAgentOf(text: string): number {
  if (text === "") return USER_AGENT.unknown;
  return text.startsWith(KUBELET) ? USER_AGENT.kubelet : USER_AGENT.other;
}

/** A text that {@link userAgentOf} reads as this user agent. */
export const userAgentText = (userAgent: number): string =>
  userAgent === USER_AGENT.kubelet ? KUBELET : "other";
