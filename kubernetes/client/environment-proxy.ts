import { BlockList, isIP } from "node:net";

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The proxy that the environment names for a server, as Go's programs and so kubectl read it: `HTTPS_PROXY` or `HTTP_PROXY` unless
 * `NO_PROXY` has the host, with small letters too; never for the machine itself.
 * https://pkg.go.dev/golang.org/x/net/http/httpproxy
 */
export function environmentProxy(
  { hostname, port, protocol }: URL,
  environment: Environment,
): string | undefined {
  const named = (name: string): string => environment[name] || environment[name.toLowerCase()] || "";
  const proxy = named(protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY").trim();
  const host = hostname.replace(/^\[|\]$/g, "").toLowerCase();
  if (proxy === "" || host === "localhost" || isLoopback(host)) return undefined;
  const hostPort = port === "" ? (protocol === "https:" ? "443" : "80") : port;
  const exceptions = named("NO_PROXY").slice(0, MOST_TEXT).toLowerCase().split(",");
  if (exceptions.some((each) => isException(each.trim(), host, hostPort))) return undefined;
  return proxy.includes("://") ? proxy : `http://${proxy}`;
}

const MOST_TEXT = 10_000;

const isLoopback = (host: string): boolean => isWithin(host, "127.0.0.0", 8) || host === "::1";

/** `*`, an address, a CIDR, a domain with all below it, `.domain` for those below it alone; the last two with a port or without. */
function isException(exception: string, host: string, port: string): boolean {
  if (exception === "" || exception === "*" || exception === host) return exception !== "";
  const [network = "", prefix = ""] = exception.split("/", 2);
  if (isIP(network) !== 0) return prefix !== "" && isWithin(host, network, Number(prefix));
  const [domain = "", onlyPort = port] = exception.split(":", 2);
  if (onlyPort !== port || domain === "" || isIP(host) !== 0) return onlyPort === port && domain === host;
  const below = domain.startsWith("*.") ? domain.slice(1) : domain;
  return below.startsWith(".") ? host.endsWith(below) : host === below || host.endsWith(`.${below}`);
}

function isWithin(host: string, network: string, prefix: number): boolean {
  const family = isIP(network) === 6 ? "ipv6" : "ipv4";
  const isPrefix = Number.isInteger(prefix) && prefix >= 0 && prefix <= (family === "ipv6" ? 128 : 32);
  if (!isPrefix || isIP(host) !== isIP(network)) return false;
  const list = new BlockList();
  list.addSubnet(network, prefix, family);
  return list.check(host, family);
}
