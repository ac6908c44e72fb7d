import { copyFile, readFile, rm, writeFile } from "node:fs/promises";
import { credentials, status } from "@grpc/grpc-js";
import { describe, expect, it, onTestFinished } from "vitest";
import { startExporter } from "@tradewind/exporter/exporter.ts";
import { runningExporter } from "../../running-exporter.ts";
import { until } from "../../until.ts";
import { planOf, wishOf } from "../../wish.ts";
import type { Ref } from "./wire.ts";
import { fixture, secretDirectory, servedName } from "./secret.ts";
import { failure, WireClient } from "./wire-client.ts";

const ref: Ref = { name: "so", namespace: "shop", metadata: { service: "search" } };

async function clientOf(address: string, identity?: string): Promise<WireClient> {
  const authority = await readFile(fixture("authority.crt"));
  const channel =
    identity === undefined
      ? credentials.createSsl(authority)
      : credentials.createSsl(
          authority,
          await readFile(fixture(`${identity}.key`)),
          await readFile(fixture(`${identity}.crt`)),
        );
  const client = new WireClient(address.replace("127.0.0.1", "localhost"), channel);
  onTestFinished(() => client.close());
  return client;
}

describe("TLS on the scaler port", () => {
  it("lets in clients of the right authority and nobody else", async () => {
    const { paths } = await secretDirectory();
    const exporter = await runningExporter(planOf([wishOf()]), { tls: paths });
    const address = exporter.running.addresses["grpc"]!;
    expect(await (await clientOf(address, "client")).metrics(ref, "m")).toMatchObject([{ int: 5 }]);
    for (const identity of [undefined, "stranger"]) {
      const client = await clientOf(address, identity);
      expect((await failure(client.metrics(ref, "m"))).code).toBe(status.UNAVAILABLE);
    }
    expect((await failure(exporter.client.metrics(ref, "m"))).code).toBe(status.UNAVAILABLE);
  });

  it("takes any client when no client authority is given", async () => {
    const { paths } = await secretDirectory();
    const exporter = await runningExporter(planOf([wishOf()]), { tls: { cert: paths.cert, key: paths.key } });
    const client = await clientOf(exporter.running.addresses["grpc"]!);
    expect(await client.metrics(ref, "m")).toMatchObject([{ int: 5 }]);
  });

  it("takes up a renewed certificate without a restart, and no call fails over it", async () => {
    const { paths, install } = await secretDirectory();
    const exporter = await runningExporter(planOf([wishOf()]), { tls: { ...paths, refreshMs: 20 } });
    const address = exporter.running.addresses["grpc"]!;
    const client = await clientOf(address, "client");
    expect(await client.metrics(ref, "m")).toMatchObject([{ int: 5 }]);
    expect(await servedName(address)).toBe("tradewind scaler");
    await install("renewed");
    await until("the renewed certificate", async () => {
      expect(await client.metrics(ref, "m")).toMatchObject([{ int: 5 }]);
      return (await servedName(address)) === "tradewind scaler renewed";
    });
    expect(await (await clientOf(address, "client")).metrics(ref, "m")).toMatchObject([{ int: 5 }]);
    expect(await exporter.metrics()).toMatch(/tradewind_tls_reloads_total\{port="grpc",result="changed"\} 2/);
  });

  it("keeps the certificate in use while the files are half-written, mismatched or gone", async () => {
    const { paths, install } = await secretDirectory();
    const exporter = await runningExporter(planOf([wishOf()]), { tls: { ...paths, refreshMs: 20 } });
    const address = exporter.running.addresses["grpc"]!;
    const failures = async (): Promise<number> =>
      Number(
        /tls_reloads_total\{port="grpc",result="failed"\} (\d+)/.exec(await exporter.metrics())?.[1] ?? 0,
      );
    const spoil: (() => Promise<void>)[] = [
      () => writeFile(paths.cert, "-----BEGIN CERTIFICATE-----\nMIIB"),
      () => copyFile(fixture("renewed.crt"), paths.cert),
      () => writeFile(paths.clientCa, ""),
      () => rm(paths.key),
    ];
    for (const [index, damage] of spoil.entries()) {
      await install("server");
      await copyFile(fixture("authority.crt"), paths.clientCa);
      const before = await failures();
      await damage();
      await until(`problem ${index} to be noticed`, async () => (await failures()) > before + 1);
      expect(await servedName(address)).toBe("tradewind scaler");
      const client = await clientOf(address, "client");
      expect(await client.metrics(ref, "m")).toMatchObject([{ int: 5 }]);
    }
    await copyFile(fixture("authority.crt"), paths.clientCa);
    await install("renewed");
    await until("the good files", async () => (await servedName(address)) === "tradewind scaler renewed");
  });

  it("refuses to start on unusable files, naming them", async () => {
    const { paths } = await secretDirectory();
    const start = (tls: { cert: string; key: string }) =>
      startExporter({ listen: "127.0.0.1:0", grpcListen: "127.0.0.1:0", logLevel: "silent", tls });
    await expect(start({ cert: paths.cert, key: fixture("client.key") })).rejects.toThrow(
      /cannot use the certificates .*tls\.crt/,
    );
    await expect(start({ cert: paths.cert, key: "" })).rejects.toThrow(
      /give --grpc-tls-cert and --grpc-tls-key together/,
    );
  });
});
