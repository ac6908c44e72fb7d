/** Who asked, as far as a span says it: a checker asks whether a process is well, or reads its metrics. */
export const USER_AGENT = { unknown: 0, checker: 1, other: 2, browser: 3 } as const;

/** Span attributes that hold it: semantic conventions of 2023 on, and those before. */
export const USER_AGENT_KEYS = ["user_agent.original", "http.user_agent"] as const;
export const isUserAgentKey = (key: string): boolean => USER_AGENT_KEYS.some((each) => each === key);

/** How checkers begin to call themselves: kubelets, load balancers and proxies, Consul, Prometheus and its kin. */
const CHECKERS = [
  "kube-probe/",
  "ELB-HealthChecker/",
  "GoogleHC/",
  "Envoy/HC",
  "Consul Health Check",
  "Prometheus/",
  "vm_promscrape",
  "Amazon-Route53-Health",
  "Edge Health Probe",
  "Load Balancer Agent",
] as const;
const BROWSER = "Mozilla/";
const BY_LETTER = Map.groupBy(CHECKERS, (name) => name.charCodeAt(0));
/** As much of a user agent as {@link userAgentOf} looks at. */
export const USER_AGENT_BYTES = Math.max(...CHECKERS.map(({ length }) => length));

/** @param text the attribute or its first {@link USER_AGENT_BYTES}; empty where a span has none */
export function userAgentOf(text: string): number {
  if (text === "") return USER_AGENT.unknown;
  if (text.startsWith(BROWSER)) return USER_AGENT.browser;
  const isChecker = BY_LETTER.get(text.charCodeAt(0))?.some((name) => text.startsWith(name)) === true;
  return isChecker ? USER_AGENT.checker : USER_AGENT.other;
}

/** A text that {@link userAgentOf} reads as this user agent. */
export function userAgentText(userAgent: number): string {
  if (userAgent === USER_AGENT.browser) return BROWSER;
  return userAgent === USER_AGENT.checker ? CHECKERS[0] : "other";
}
