/** What proves who we are, and who the server is. Never logged. */
export interface ApiCredentials {
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly tls: {
    readonly ca?: string | Buffer;
    readonly cert?: string | Buffer;
    readonly key?: string | Buffer;
    readonly servername?: string;
    readonly rejectUnauthorized?: boolean;
  };
  /** Address of an HTTP proxy in between. */
  readonly proxy?: string | undefined;
  /** Changes with `tls` and `proxy`: connections of an older generation are not used again. */
  readonly generation: string;
}

/** How to reach one API server, and as whom. */
export interface Connection {
  /** Base address, for example `https://10.96.0.1:443`. */
  readonly server: string;
  /** The namespace to use when none is named: the pod's own, or the kubeconfig context's. */
  readonly namespace: string;
  /** @param refused true when the server refused what was given last: get it anew */
  credentials(refused: boolean): Promise<ApiCredentials>;
}
