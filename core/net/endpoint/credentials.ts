import { readFile, stat } from "node:fs/promises";
import type { EndpointOptions } from "./options.ts";
import { EndpointError } from "./error.ts";

const SECRET_MAX_BYTES = 1_048_576;

/** What a call needs to prove who we are. Never logged. */
export interface Credentials {
  readonly authorization: string | undefined;
  readonly ca: Buffer | undefined;
  readonly cert: Buffer | undefined;
  readonly key: Buffer | undefined;
  /** Changes whenever one of the TLS files changed: connections of an older generation are not used again. */
  readonly tlsGeneration: number;
}

interface CachedFile {
  readonly fingerprint: string;
  readonly content: Buffer;
}

/** Reads an endpoint's secret files, again whenever modification time, inode or size changes. */
export class CredentialFiles {
  private readonly cache = new Map<string, CachedFile>();
  private readonly options: EndpointOptions;
  private tlsFingerprint = "";
  private tlsGeneration = 0;

  constructor(options: EndpointOptions) {
    this.options = options;
  }

  /** @throws EndpointError `credentials` naming the file that cannot be read */
  async read(): Promise<Credentials> {
    const { tls } = this.options;
    const [authorization, ca, cert, key] = await Promise.all([
      this.authorization(),
      this.file(tls?.caFile),
      this.file(tls?.certFile),
      this.file(tls?.keyFile),
    ]);
    const fingerprint = [tls?.caFile, tls?.certFile, tls?.keyFile]
      .map((path) => (path === undefined ? "" : this.cache.get(path)?.fingerprint))
      .join("|");
    if (fingerprint !== this.tlsFingerprint) {
      this.tlsFingerprint = fingerprint;
      this.tlsGeneration += 1;
    }
    return { authorization, ca, cert, key, tlsGeneration: this.tlsGeneration };
  }

  private async authorization(): Promise<string | undefined> {
    const { basicAuth, bearerTokenFile } = this.options;
    if (bearerTokenFile !== undefined) {
      // Of several, as core/net/token-file.ts has them, the first.
      const token = (await this.file(bearerTokenFile))?.toString("utf8").trim().split(/\s/, 1)[0];
      return token === undefined ? undefined : `Bearer ${token}`;
    }
    if (basicAuth === undefined) return undefined;
    const password = (await this.file(basicAuth.passwordFile))?.toString("utf8").replace(/\r?\n$/, "") ?? "";
    return `Basic ${Buffer.from(`${basicAuth.username}:${password}`, "utf8").toString("base64")}`;
  }

  private async file(path: string | undefined): Promise<Buffer | undefined> {
    if (path === undefined) return undefined;
    try {
      const { mtimeMs, ino, size } = await stat(path);
      if (size > SECRET_MAX_BYTES) throw new Error(`larger than ${SECRET_MAX_BYTES} bytes`);
      const fingerprint = `${mtimeMs}:${ino}:${size}`;
      const cached = this.cache.get(path);
      if (cached?.fingerprint === fingerprint) return cached.content;
      const content = await readFile(path);
      this.cache.set(path, { fingerprint, content });
      return content;
    } catch (error) {
      throw new EndpointError(
        "credentials",
        `the credential file ${path} cannot be read`,
        "mount the file, correct its path, or give this user the right to read it",
        { cause: error },
      );
    }
  }
}
