import { byCauseCode, TLS_PROBLEMS } from "../tls-problem.ts";
import { EndpointError } from "./error.ts";
import type { EndpointFailure } from "./error.ts";

interface Finding {
  readonly failure: EndpointFailure;
  readonly happened: string;
  readonly remedy: string;
}

const NEEDS_AUTHORITY = "set tls.caFile to the authority's certificate";

const tls = (code: keyof typeof TLS_PROBLEMS, remedy: string): Finding => ({
  failure: "tls",
  happened: TLS_PROBLEMS[code],
  remedy,
});

const BY_CODE: Readonly<Record<string, Finding>> = {
  ECONNREFUSED: {
    failure: "unreachable",
    happened: "nothing listens at this address and port",
    remedy: "start the server, or correct host and port",
  },
  ENOTFOUND: {
    failure: "unreachable",
    happened: "the host name does not resolve",
    remedy: "correct the host name, or the DNS of this machine or pod",
  },
  EAI_AGAIN: {
    failure: "unreachable",
    happened: "the DNS server did not answer",
    remedy: "check the DNS of this machine or pod",
  },
  ECONNRESET: {
    failure: "unreachable",
    happened: "the server closed the connection before it answered",
    remedy: "check the server's log, and whether it wants https",
  },
  EHOSTUNREACH: {
    failure: "unreachable",
    happened: "no route to the host",
    remedy: "check the network, firewall and network policies",
  },
  ENETUNREACH: {
    failure: "unreachable",
    happened: "no route to the network",
    remedy: "check the network, firewall and network policies",
  },
  UND_ERR_SOCKET: {
    failure: "unreachable",
    happened: "the server closed the connection before it answered",
    remedy: "check the server's log, and whether it wants https",
  },
  UND_ERR_CONNECT_TIMEOUT: {
    failure: "unreachable",
    happened: "the connection was not accepted in time",
    remedy: "check the address, firewall and network policies",
  },
  UND_ERR_HEADERS_TIMEOUT: {
    failure: "timeout",
    happened: "the server accepted the call but did not answer in time",
    remedy: "check the server's load, or raise timeoutSeconds",
  },
  UND_ERR_BODY_TIMEOUT: {
    failure: "timeout",
    happened: "the answer stopped half-way",
    remedy: "check the server's load, or raise timeoutSeconds",
  },
  DEPTH_ZERO_SELF_SIGNED_CERT: tls("DEPTH_ZERO_SELF_SIGNED_CERT", "set tls.caFile to that certificate"),
  SELF_SIGNED_CERT_IN_CHAIN: tls("SELF_SIGNED_CERT_IN_CHAIN", NEEDS_AUTHORITY),
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: tls("UNABLE_TO_VERIFY_LEAF_SIGNATURE", NEEDS_AUTHORITY),
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: tls("UNABLE_TO_GET_ISSUER_CERT_LOCALLY", NEEDS_AUTHORITY),
  CERT_HAS_EXPIRED: tls("CERT_HAS_EXPIRED", "renew it, or check this machine's clock"),
  ERR_TLS_CERT_ALTNAME_INVALID: tls(
    "ERR_TLS_CERT_ALTNAME_INVALID",
    "correct the host name or set tls.serverName",
  ),
  EPROTO: tls(
    "EPROTO",
    "check whether the server speaks https at this port, and whether it wants a client certificate",
  ),
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: tls(
    "ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED",
    "set tls.certFile and tls.keyFile",
  ),
  ERR_SSL_WRONG_VERSION_NUMBER: tls(
    "ERR_SSL_WRONG_VERSION_NUMBER",
    "write http:// instead of https://, or correct the port",
  ),
};

/** A failed connection or a broken answer, in plain words. `where` is the endpoint's name and address. */
export function connectionError(where: string, error: unknown): EndpointError {
  if (error instanceof EndpointError) return error;
  const finding = byCauseCode(error, BY_CODE);
  if (finding !== undefined) {
    return new EndpointError(finding.failure, `${where}: ${finding.happened}`, finding.remedy, {
      cause: error,
    });
  }
  return new EndpointError(
    "unreachable",
    `${where}: the call failed`,
    "see the cause, and check the address and the server's log",
    { cause: error },
  );
}

const REASON_MAX = 300;

/** What a server said about an error. */
export interface Stated {
  readonly text: string;
  /** In a field for it, not as some text. */
  readonly isField: boolean;
}

/** An answer that is no success, in plain words. */
export function statusError(
  where: string,
  status: number,
  reason: Stated | undefined,
  retryAfterMs: number | undefined,
): EndpointError {
  const said = reason === undefined || reason.text === "" ? "" : ` (${reason.text.slice(0, REASON_MAX)})`;
  const [failure, happened, remedy] =
    status === 404 && reason?.isField === true ? ABSENT : explainStatus(status);
  return new EndpointError(failure, `${where}: ${happened}${said}`, remedy, {
    status,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
}

/** The path is right: the server says what it does not have. */
const ABSENT = ["not-found", "answered 404", "ask for one that there is"] as const;

function explainStatus(status: number): readonly [EndpointFailure, string, string] {
  if (status === 401) {
    return [
      "refused",
      "answered 401: not signed in",
      "set basicAuth or bearerTokenFile, or renew the secret",
    ];
  }
  if (status === 403) {
    return ["refused", "answered 403: not allowed", "give this account the right to read"];
  }
  if (status === 404) {
    return ["not-found", "answered 404: no such path", "check the url's path, for example a missing prefix"];
  }
  if (status === 429) {
    return ["busy", "answered 429: too many requests", "raise the server's limits, or ask less often"];
  }
  if (status === 413) {
    return ["too-large", "answered 413: the request is too large", "ask for fewer series or a shorter range"];
  }
  if (status === 502 || status === 503 || status === 504) {
    return [
      "busy",
      `answered ${status}: overloaded or not ready`,
      "check the server, and what stands before it",
    ];
  }
  if (status >= 500) return ["server-error", `answered ${status}: it failed`, "check the server's log"];
  if (status >= 300 && status < 400) {
    return ["bad-request", `answered ${status}: a redirect`, "write the final address as the url"];
  }
  return ["bad-request", `answered ${status}: it does not accept the request`, "check mapping and url"];
}
