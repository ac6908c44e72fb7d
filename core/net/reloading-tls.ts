import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createSecureContext } from "node:tls";
import { describeError, TradewindError } from "../values/errors.ts";
import type { Logger } from "../process/log.ts";

/** PEM files on disk; `clientCa` switches on the check of client certificates. */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
  readonly clientCa?: string | undefined;
}

/** Hears of re-read certificates. */
export interface TlsObserver {
  tlsReloaded(result: "changed" | "failed", expiresAtMs: number | undefined): void;
}

/** What a TLS server is given. */
export interface TlsContext {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly ca?: Buffer;
}

export interface ReloadingTlsOptions {
  /** Time between two reads; default: 10 s. ms */
  readonly everyMs?: number | undefined;
  readonly log: Logger;
  readonly observer?: TlsObserver | undefined;
}

interface Material {
  readonly context: TlsContext;
  readonly expiresAtMs: number;
}

/** A renewed Secret is mounted within a minute or two. */
const REREAD_MS = 10_000;
/** Who has not shaken hands by then is cut off. */
const HANDSHAKE_MS = 10_000;

/**
 * A server's certificate, read again every few seconds, because a mounted Kubernetes Secret changes under its reader by
 * renaming a directory, which file watching misses. A half-written or mismatched set is reported and the one in use stays.
 */
export class ReloadingTls {
  readonly #files: TlsFiles;
  readonly #options: ReloadingTlsOptions;
  readonly #timer: NodeJS.Timeout;
  readonly #listeners: ((context: TlsContext) => void)[] = [];
  #material: Material;
  #lastProblem: string | undefined;
  #reading = false;

  /** @throws TradewindError `tls-material` when the files cannot be used */
  static async open(files: TlsFiles, options: ReloadingTlsOptions): Promise<ReloadingTls> {
    return new ReloadingTls(files, await readMaterial(files), options);
  }

  private constructor(files: TlsFiles, material: Material, options: ReloadingTlsOptions) {
    this.#files = files;
    this.#material = material;
    this.#options = options;
    options.observer?.tlsReloaded("changed", material.expiresAtMs);
    this.#timer = setInterval(() => void this.#reload(), options.everyMs ?? REREAD_MS).unref();
  }

  get context(): TlsContext {
    return this.#material.context;
  }

  /** Whether clients must show a certificate of the authority. */
  get checksClients(): boolean {
    return this.#files.clientCa !== undefined;
  }

  /** The settings with which a TLS server is created; {@link onChange} has those that replace them. */
  get serverSettings() {
    const { checksClients, context } = this;
    return {
      ...context,
      requestCert: checksClients,
      rejectUnauthorized: checksClients,
      minVersion: "TLSv1.2",
      handshakeTimeout: HANDSHAKE_MS,
    } as const;
  }

  /** @param listener is given every new certificate, for new connections */
  onChange(listener: (context: TlsContext) => void): void {
    this.#listeners.push(listener);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #reload(): Promise<void> {
    if (this.#reading) return;
    this.#reading = true;
    const { log, observer } = this.#options;
    try {
      const material = await readMaterial(this.#files);
      this.#lastProblem = undefined;
      if (isSame(material.context, this.#material.context)) return;
      this.#material = material;
      for (const listener of this.#listeners) listener(material.context);
      observer?.tlsReloaded("changed", material.expiresAtMs);
      log.info({ cert: this.#files.cert, expiresAtMs: material.expiresAtMs }, "certificates re-read");
    } catch (error) {
      const problem = describeError(error);
      observer?.tlsReloaded("failed", this.#material.expiresAtMs);
      if (problem !== this.#lastProblem) log.error({ problem }, "keeping the certificates in use");
      this.#lastProblem = problem;
    } finally {
      this.#reading = false;
    }
  }
}

async function readMaterial(files: TlsFiles): Promise<Material> {
  try {
    const [cert, key, ca] = await Promise.all([
      readFile(files.cert),
      readFile(files.key),
      files.clientCa === undefined ? undefined : readFile(files.clientCa),
    ]);
    const leaf = new X509Certificate(cert);
    if (!leaf.checkPrivateKey(createPrivateKey(key)))
      throw new Error("the key does not belong to the certificate");
    if (ca !== undefined) requireAuthority(ca);
    const context = { cert, key, ...(ca && { ca }) };
    createSecureContext(context);
    return { context, expiresAtMs: Date.parse(leaf.validTo) };
  } catch (error) {
    const names = [files.cert, files.key, files.clientCa].filter((name) => name !== undefined);
    throw new TradewindError("tls-material", `cannot use the certificates ${names.join(", ")}`, {
      cause: error,
    });
  }
}

/**
 * OpenSSL takes a file without any certificate for an empty list of authorities; that would lock everybody out.
 * @returns the same PEM @throws Error when it holds no certificate
 */
export function requireAuthority(pem: Buffer): Buffer {
  void new X509Certificate(pem);
  return pem;
}

function isSame(a: TlsContext, b: TlsContext): boolean {
  const sameCa = a.ca === undefined || b.ca === undefined ? a.ca === b.ca : a.ca.equals(b.ca);
  return sameCa && a.cert.equals(b.cert) && a.key.equals(b.key);
}
