import { ServerCredentials } from "@grpc/grpc-js";
import { ReloadingTls } from "@tradewind/core/net/reloading-tls.ts";
import type { ReloadingTlsOptions, TlsFiles } from "@tradewind/core/net/reloading-tls.ts";

/** Server credentials from files that are read again every few seconds. New connections use the new certificate. */
export class ReloadingCredentials extends ServerCredentials {
  readonly #tls: ReloadingTls;

  /** @throws TradewindError `tls-material` when the files cannot be used */
  static async open(files: TlsFiles, options: ReloadingTlsOptions): Promise<ReloadingCredentials> {
    return new ReloadingCredentials(await ReloadingTls.open(files, options));
  }

  private constructor(tls: ReloadingTls) {
    const { checksClients, context } = tls;
    super({ requestCert: checksClients, rejectUnauthorized: checksClients, minVersion: "TLSv1.2" }, context);
    this.#tls = tls;
    tls.onChange((changed) => this.updateSecureContextOptions(changed));
  }

  override _equals(other: ServerCredentials): boolean {
    return this === other;
  }

  stop(): void {
    this.#tls.stop();
  }
}
