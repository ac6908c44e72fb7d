/** Who asked, as far as a span says it; of what several attributes say the largest counts. A checker asks whether a process is well. */
export const USER_AGENT = { unknown: 0, other: 1, health: 2, checker: 3, browser: 4 } as const;

/** Span attributes that hold it: semantic conventions of 2023 on, those before, Datadog's. */
const USER_AGENT_KEYS = ["user_agent.original", "http.user_agent", "http.useragent"] as const;
/** Those, and the path that was asked for: where spans are named by method alone it is said there. */
export const ASKING_KEYS = [...USER_AGENT_KEYS, "url.path", "http.target"] as const;
export const isAskingKey = (key: string): boolean => ASKING_KEYS.some((asking) => asking === key);

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
  "AlwaysOn",
  "HealthCheck/",
  "Knative-",
  "K-Network-Probe",
  "Blackbox Exporter/",
  "GoogleStackdriverMonitoring",
  "Uptime-Kuma/",
  "UptimeRobot/",
  "Telegraf/",
  "Alloy/",
  "GrafanaAgent/",
  "otelcol",
  "Datadog Agent/",
] as const;
const BROWSER = "Mozilla/";
const BY_LETTER = Map.groupBy(CHECKERS, (name) => name.charCodeAt(0));
/** As much of an attribute as {@link userAgentOf} looks at: health paths are shorter. */
export const USER_AGENT_BYTES = 32;

/** Paths by which health is asked for wherever they are, and by nobody else. */
export const HEALTH_PATHS: readonly string[] = [
  "/healthz",
  "/livez",
  "/readyz",
  "/health",
  "/health/live",
  "/health/ready",
  "/health/started",
  "/q/health",
  "/q/health/live",
  "/q/health/ready",
  "/q/health/started",
  "/actuator/health",
  "/actuator/health/liveness",
  "/actuator/health/readiness",
  "/-/healthy",
  "/-/ready",
  "/metrics",
  "/actuator/prometheus",
  "/grpc.health.v1.Health/Check",
  "/grpc.health.v1.Health/Watch",
];
const HEALTH: ReadonlySet<string> = new Set(HEALTH_PATHS);

/** @param text the attribute or its first {@link USER_AGENT_BYTES}: a user agent or a path; empty where a span has none */
export function userAgentOf(text: string): number {
  if (text === "") return USER_AGENT.unknown;
  if (text.startsWith("/")) return isHealthPath(text) ? USER_AGENT.health : USER_AGENT.unknown;
  if (text.startsWith(BROWSER)) return USER_AGENT.browser;
  const isChecker = BY_LETTER.get(text.charCodeAt(0))?.some((name) => text.startsWith(name)) === true;
  return isChecker ? USER_AGENT.checker : USER_AGENT.other;
}

function isHealthPath(path: string): boolean {
  const query = path.indexOf("?");
  return HEALTH.has(query < 0 ? path : path.slice(0, query));
}

/** Of several texts that of the largest {@link userAgentOf}. */
export function tellingAgent(texts: Iterable<unknown>): string | undefined {
  let telling: string | undefined;
  for (const text of texts)
    if (typeof text === "string" && userAgentOf(text) >= userAgentOf(telling ?? "")) telling = text;
  return telling;
}

/** A text that {@link userAgentOf} reads as this user agent. */
export function userAgentText(userAgent: number): string {
  if (userAgent === USER_AGENT.browser) return BROWSER;
  if (userAgent === USER_AGENT.health) return "/healthz";
  return userAgent === USER_AGENT.checker ? CHECKERS[0] : "other";
}
