import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createSecureContext } from "node:tls";
import { ServerCredentials } from "@grpc/grpc-js";
import { describeError, TradewindError } from "@tradewind/core/errors.ts";
import type { Logger } from "@tradewind/core/log.ts";

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

interface Material {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly ca: Buffer | undefined;
  readonly expiresAtMs: number;
}

/**
 * Server credentials from files that are read again every few seconds, because a mounted Kubernetes Secret changes
 * under its reader by renaming a directory, which file watching misses. New connections use the new certificate;
 * a half-written or mismatched set is reported and the one in use stays.
 */
export class ReloadingCredentials extends ServerCredentials {
  readonly #files: TlsFiles;
  readonly #log: Logger;
  readonly #observer: TlsObserver;
  readonly #timer: NodeJS.Timeout;
  #material: Material;
  #lastProblem: string | undefined;
  #reading = false;

  /** @throws TradewindError `tls-material` when the files cannot be used */
  static async open(
    files: TlsFiles,
    options: { everyMs: number; log: Logger; observer: TlsObserver },
  ): Promise<ReloadingCredentials> {
    return new ReloadingCredentials(files, await readMaterial(files), options);
  }

  private constructor(
    files: TlsFiles,
    material: Material,
    options: { everyMs: number; log: Logger; observer: TlsObserver },
  ) {
    const checksClients = files.clientCa !== undefined;
    super(
      { requestCert: checksClients, rejectUnauthorized: checksClients, minVersion: "TLSv1.2" },
      contextOf(material),
    );
    this.#files = files;
    this.#material = material;
    this.#log = options.log;
    this.#observer = options.observer;
    this.#observer.tlsReloaded("changed", material.expiresAtMs);
    this.#timer = setInterval(() => void this.#reload(), options.everyMs).unref();
  }

  override _equals(other: ServerCredentials): boolean {
    return this === other;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #reload(): Promise<void> {
    if (this.#reading) return;
    this.#reading = true;
    try {
      const material = await readMaterial(this.#files);
      this.#lastProblem = undefined;
      if (sameMaterial(material, this.#material)) return;
      this.#material = material;
      this.updateSecureContextOptions(contextOf(material));
      this.#observer.tlsReloaded("changed", material.expiresAtMs);
      this.#log.info({ cert: this.#files.cert, expiresAtMs: material.expiresAtMs }, "certificates re-read");
    } catch (error) {
      const problem = describeError(error);
      this.#observer.tlsReloaded("failed", this.#material.expiresAtMs);
      if (problem !== this.#lastProblem) this.#log.error({ problem }, "keeping the certificates in use");
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
    if (ca !== undefined) requireCertificate(ca);
    createSecureContext({ cert, key, ca });
    return { cert, key, ca, expiresAtMs: Date.parse(leaf.validTo) };
  } catch (error) {
    const names = [files.cert, files.key, files.clientCa].filter((name) => name !== undefined);
    throw new TradewindError("tls-material", `cannot use the certificates ${names.join(", ")}`, {
      cause: error,
    });
  }
}

/** OpenSSL takes a file without any certificate for an empty list of authorities; that would lock every client out. */
function requireCertificate(pem: Buffer): X509Certificate {
  return new X509Certificate(pem);
}

function contextOf({ cert, key, ca }: Material) {
  return { cert, key, ...(ca === undefined ? {} : { ca }) };
}

function sameMaterial(a: Material, b: Material): boolean {
  const sameCa = a.ca === undefined || b.ca === undefined ? a.ca === b.ca : a.ca.equals(b.ca);
  return sameCa && a.cert.equals(b.cert) && a.key.equals(b.key);
}
