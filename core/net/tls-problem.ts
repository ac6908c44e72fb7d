/** What went wrong with a TLS handshake, by the codes of Node.js and OpenSSL. */
export const TLS_PROBLEMS = {
  DEPTH_ZERO_SELF_SIGNED_CERT: "the server's certificate is self-signed",
  SELF_SIGNED_CERT_IN_CHAIN: "the server's certificate comes from an unknown authority",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "the server's certificate comes from an unknown authority",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "the server's certificate comes from an unknown authority",
  CERT_HAS_EXPIRED: "the server's certificate has expired",
  ERR_TLS_CERT_ALTNAME_INVALID: "the server's certificate is for another name",
  EPROTO: "the TLS handshake failed",
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: "the server wants a client certificate",
  ERR_SSL_TLSV1_ALERT_UNKNOWN_CA: "the server does not know the authority of our certificate",
  ERR_SSL_WRONG_VERSION_NUMBER: "the server does not speak TLS at this port",
} as const;

/** What is known of the code of an error, or of the error that caused it: the outermost that is among these. */
export function byCauseCode<Known>(
  error: unknown,
  known: Readonly<Record<string, Known>>,
): Known | undefined {
  for (let current = error, depth = 0; current instanceof Error && depth < 6; depth += 1) {
    const code = (current as { code?: unknown }).code;
    if (typeof code === "string" && Object.hasOwn(known, code)) return known[code];
    const inner = current instanceof AggregateError ? (current.errors[0] as unknown) : undefined;
    current = inner ?? current.cause;
  }
  return undefined;
}
