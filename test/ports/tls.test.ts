import { readFile, writeFile } from "node:fs/promises";
import { createServer, request } from "node:https";
import type { AddressInfo } from "node:net";
import { join, dirname } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "@tradewind/core/process/clock.ts";
import type { Snapshot } from "@tradewind/core/contract/snapshot.ts";
import { createLog } from "@tradewind/core/process/log.ts";
import { examine } from "@tradewind/predictor/commands/doctor/doctor.ts";
import { DoctorOptions } from "@tradewind/predictor/commands/doctor/options.ts";
import { Agents } from "@tradewind/predictor/sources/agents.ts";
import type { Finding } from "@tradewind/predictor/sources/source.ts";
import { fixture, secretDirectory, servedName } from "../exporter/serve/keda/secret.ts";
import { runningExporter } from "../exporter/running-exporter.ts";
import { planOf, wishOf } from "../exporter/wish.ts";
import { waitUntil } from "../wait-until.ts";
import { ask } from "./idle.ts";
import { PROCESSES, started } from "./processes.ts";

const AUTHORITY = fixture("authority.crt");
const STRANGE_AUTHORITY = fixture("other-authority.crt");

/** Asks over TLS, as a client that trusts this authority. */
async function askSecurely(
  url: string,
  authority: string | undefined,
  headers: Record<string, string> = {},
): Promise<{ status: number; text: string }> {
  const ca = authority === undefined ? {} : { ca: await readFile(authority) };
  return new Promise((resolve, reject) => {
    // The name in the certificate, whatever the header `Host` says.
    request(url, { ...ca, headers, servername: "localhost", agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
    })
      .on("error", reject)
      .end();
  });
}

describe.each(Object.entries(PROCESSES))("the %s with --http-tls-cert", (_name, process) => {
  it("is read by clients that trust its authority, and by no others", async () => {
    const { paths } = await secretDirectory();
    const { http, probe } = await started(process, { httpTls: { cert: paths.cert, key: paths.key } });
    expect(http).toMatch(/^https:/);
    const page = `${http}${process.path}`;
    await waitUntil(async () => (await askSecurely(page, AUTHORITY)).status === 200);
    await expect(askSecurely(page, undefined)).rejects.toThrow("unable to verify the first certificate");
    await expect(ask(page.replace("https:", "http:"))).rejects.toThrow("socket hang up");
    expect(probe).toMatch(/^http:/);
    expect((await ask(`${probe}/healthz`)).status).toBe(200);
    const evil = { host: "evil.example.com" };
    expect((await askSecurely(page, AUTHORITY, evil)).status).toBe(421);
  });

  it("takes up a renewed certificate, keeps it when the next one is spoilt, and counts both", async () => {
    const { install, paths } = await secretDirectory();
    const { http } = await started(process, { httpTls: { cert: paths.cert, key: paths.key, refreshMs: 20 } });
    const served = async (): Promise<string | undefined> => servedName(new URL(http).host, ["http/1.1"]);
    expect(await served()).toBe("tradewind scaler");
    await install("renewed");
    await waitUntil(async () => (await served()) === "tradewind scaler renewed");
    await writeFile(paths.cert, "-----BEGIN CERTIFICATE-----\nMIIB");
    const metrics = async (): Promise<string> => (await askSecurely(`${http}/metrics`, AUTHORITY)).text;
    const reloads = (result: string): string => `tradewind_tls_reloads_total{port="http",result="${result}"}`;
    await waitUntil(async () => (await metrics()).includes(reloads("failed")));
    expect(await metrics()).toContain(`${reloads("changed")} 2\n`);
    expect(await metrics()).toMatch(
      /^tradewind_tls_certificate_expiry_timestamp_seconds\{port="http"\} 4\d{9}$/m,
    );
    expect(await served()).toBe("tradewind scaler renewed");
  });

  it("does not start with a key of another certificate", async () => {
    const { paths } = await secretDirectory();
    const httpTls = { cert: paths.cert, key: fixture("client.key") };
    await expect(started(process, { httpTls })).rejects.toThrow(/cannot use the certificates .*tls\.crt/);
  });
});

describe("an exporter whose predictor speaks TLS", () => {
  /** A predictor over TLS that asks for a token. @returns its port */
  async function securePredictor(): Promise<number> {
    const [key, cert] = await Promise.all([readFile(fixture("server.key")), readFile(fixture("server.crt"))]);
    const server = createServer({ key, cert }, ({ headers }, response) => {
      response.statusCode = headers.authorization === "Bearer for-plans-0123456789" ? 200 : 401;
      response.end(JSON.stringify(planOf([wishOf()])));
    });
    await new Promise<void>((resolve) => {
      server.listen(0, "127.0.0.1", resolve);
    });
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    return (server.address() as AddressInfo).port;
  }

  async function tokenFile(token: string): Promise<string> {
    const { paths } = await secretDirectory();
    const path = join(dirname(paths.cert), "token");
    await writeFile(path, `${token}\n`);
    return path;
  }

  const lookup = async (): Promise<string[]> => Promise.resolve(["127.0.0.1"]);

  it.each([
    { target: "https://127.0.0.1", named: "by address" },
    { target: "dns+https://localhost", named: "by the name that is resolved" },
    {
      target: "dns+https://predictors.tradewind.svc",
      predictorServerName: "localhost",
      named: "by another name",
    },
  ])("takes its plan: $target, certificate $named", async ({ predictorServerName, target }) => {
    const exporter = await runningExporter(
      undefined,
      {
        predictor: `${target}:${await securePredictor()}`,
        predictorCaFile: AUTHORITY,
        predictorTokenFile: await tokenFile("for-plans-0123456789"),
        ...(predictorServerName !== undefined && { predictorServerName }),
      },
      { lookup },
    );
    const { recommendations } = await exporter.listWhen(
      "a recommendation",
      ({ recommendations }) => recommendations.length > 0,
    );
    expect(recommendations).toMatchObject([{ replicas: 5 }]);
  });

  it.each([
    {
      why: "without its authority",
      authority: undefined,
      says: /unknown authority; see --predictor-ca-file/,
    },
    { why: "with another authority", authority: STRANGE_AUTHORITY, says: /unknown authority/ },
    {
      why: "under another name",
      target: "dns+https://predictors.tradewind.svc",
      says: /is for another name/,
    },
    { why: "with a wrong token", token: "of-yesterday-0123456789", says: /401; give --predictor-token-file/ },
    { why: "by http://", target: "http://127.0.0.1", says: /no plan from http:\/\/127\.0\.0\.1/ },
  ])("takes none $why, and says why", async ({ says, target = "https://127.0.0.1", token, ...given }) => {
    const authority = "authority" in given ? given.authority : AUTHORITY;
    const exporter = await runningExporter(
      undefined,
      {
        predictor: `${target}:${await securePredictor()}`,
        predictorTokenFile: await tokenFile(token ?? "for-plans-0123456789"),
        ...(authority !== undefined && { predictorCaFile: authority }),
      },
      { lookup },
    );
    const { recommendations } = await exporter.listWhen("a problem", ({ predictor }) =>
      says.test(predictor.problem ?? ""),
    );
    expect(recommendations).toEqual([]);
  });

  it("does not start with an authority's file that holds no certificate", async () => {
    const predictorCaFile = await tokenFile("no certificate");
    await expect(runningExporter(undefined, { predictorCaFile })).rejects.toThrow(
      `cannot use the file of the predictors' authority ${predictorCaFile}`,
    );
  });
});

describe("a predictor whose agents speak TLS", () => {
  async function asking(security: { caFile?: string | undefined; token?: string | undefined }) {
    const { paths } = await secretDirectory();
    const directory = dirname(paths.cert);
    const served = join(directory, "token");
    await writeFile(served, "for-snapshots-now\nfor-snapshots-renewed\n");
    const { http } = await started(PROCESSES["agent"]!, {
      httpTls: { cert: paths.cert, key: paths.key },
      httpTokenFile: served,
    });
    const tokenFile = join(directory, "shown");
    await writeFile(tokenFile, security.token ?? "for-snapshots-renewed\nfor-snapshots-now\n");
    const received: Snapshot[] = [];
    const agents = new Agents({
      urls: [http],
      pollMs: 20,
      timeoutMs: 5_000,
      tokenFile,
      caFile: security.caFile,
      nameOf: () => "localhost",
      clock: systemClock,
      rng: Math.random,
      log: createLog("test", "silent"),
      fresh: () => new Map(),
      onSnapshot: (_url, snapshot) => received.push(snapshot),
    });
    onTestFinished(async () => agents.stop());
    agents.start();
    return { agents, received };
  }

  it("gets their snapshots with their authority and a token of theirs", async () => {
    const { received } = await asking({ caFile: AUTHORITY });
    await waitUntil(() => received.length > 1);
  });

  it.each([
    { why: "without their authority", failure: "tls", remedy: "--agents-ca-file" },
    {
      why: "with a wrong token",
      caFile: AUTHORITY,
      token: "x",
      failure: "refused",
      remedy: "--agents-token-file",
    },
  ])("gets none $why, and says what to do", async ({ failure, remedy, caFile, token }) => {
    const { agents, received } = await asking({ caFile, token });
    await waitUntil(() => agents.health()[0]?.lastProblem !== undefined);
    const problem = agents.health()[0]?.lastProblem;
    expect(problem?.failure).toBe(failure);
    expect(problem?.remedy).toContain(remedy);
    expect(received).toEqual([]);
  });
});

describe("the doctor", () => {
  it("looks at processes that speak TLS with their authority, and says how without", async () => {
    const { paths } = await secretDirectory();
    const httpTls = { cert: paths.cert, key: paths.key };
    const { http } = await started(PROCESSES["agent"]!, { httpTls });
    await waitUntil(async () => (await askSecurely(`${http}/readyz`, AUTHORITY)).status === 200);
    const look = async (given: object): Promise<Finding | undefined> =>
      (await examine(DoctorOptions.parse({ agents: [http], ...given }), Date.now()))[0];
    expect((await look({ caFile: AUTHORITY }))?.level).not.toBe("problem");
    expect(await look({})).toMatchObject({
      level: "problem",
      message: expect.stringContaining("unknown authority") as string,
      remedy: expect.stringContaining("--ca-file") as string,
    });
  });
});
