import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "node:tls";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

export const fixture = (name: string) =>
  fileURLToPath(new URL(`../../../fixtures/tls/${name}`, import.meta.url));
/** Certificate files as a mounted Secret has them. */
export async function secretDirectory() {
  const directory = await mkdtemp(join(tmpdir(), "tradewind-tls-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const paths = {
    cert: join(directory, "tls.crt"),
    key: join(directory, "tls.key"),
    clientCa: join(directory, "ca.crt"),
  };
  const install = async (name: string) => {
    await copyFile(fixture(`${name}.key`), paths.key);
    await copyFile(fixture(`${name}.crt`), paths.cert);
  };
  await install("server");
  await copyFile(fixture("authority.crt"), paths.clientCa);
  return { paths, install };
}

/** Common name of the certificate that a new connection is shown. */
export function servedName(address: string, protocols = ["h2"]): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const [host, port] = address.split(":");
    const socket = connect(
      { host: host!, port: Number(port), rejectUnauthorized: false, ALPNProtocols: protocols },
      () => {
        const { subject } = socket.getPeerCertificate();
        socket.destroy();
        resolve([subject.CN].flat()[0]);
      },
    );
    socket.on("error", reject);
  });
}
