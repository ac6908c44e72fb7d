import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { auditVerdict } from "../../bin/audit.ts";
import { licencesOf } from "../../bin/licences.ts";
import type { Lockfile } from "../../bin/licences.ts";

const root = join(import.meta.dirname, "..", "..");

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a script of the package as `npm run -s` does. */
async function run(script: string, env: NodeJS.ProcessEnv = {}): Promise<Ended> {
  try {
    const options = { cwd: root, env: { ...process.env, ...env }, maxBuffer: 64 * 2 ** 20 };
    return { code: 0, ...(await promisify(execFile)("npm", ["run", "-s", script], options)) };
  } catch (error) {
    return error as Ended;
  }
}

const locked = async (): Promise<Lockfile["packages"]> =>
  ((await import("../../package-lock.json", { with: { type: "json" } })).default as unknown as Lockfile)
    .packages;

describe("npm run sbom", () => {
  it("prints CycloneDX JSON with every package that is shipped, and none of development", async () => {
    const { code, stdout } = await run("sbom");
    expect(code).toBe(0);
    const bom = JSON.parse(stdout) as {
      bomFormat: string;
      specVersion: string;
      metadata: { component: { name: string } };
      components: { purl: string; hashes?: unknown; licenses: unknown[]; "bom-ref": string }[];
      dependencies: { ref: string; dependsOn: string[] }[];
    };
    expect(bom).toMatchObject({ bomFormat: "CycloneDX", metadata: { component: { name: "tradewind" } } });
    const purls = new Set(bom.components.map(({ purl }) => decodeURIComponent(purl)));
    const purlOf = ([path, { version = "" }]: [string, { version?: string }]): string =>
      `pkg:npm/${path.slice(path.lastIndexOf("node_modules/") + 13)}@${version}`;
    const packages = Object.entries(await locked()).filter(
      ([path, { link }]) => path.includes("node_modules/") && link !== true,
    );
    const shipped = packages.filter(([, { dev }]) => dev !== true).map(purlOf);
    expect(shipped.length).toBeGreaterThan(100);
    expect(shipped.filter((purl) => !purls.has(purl))).toEqual([]);
    const development = packages.filter(([, { dev }]) => dev === true).map(purlOf);
    expect(development.filter((purl) => purls.has(purl) && !shipped.includes(purl))).toEqual([]);
    const refs = new Set([...bom.components.map((each) => each["bom-ref"]), "tradewind@0.1.0"]);
    expect(
      bom.dependencies.flatMap(({ dependsOn, ref }) => [ref, ...dependsOn]).filter((ref) => !refs.has(ref)),
    ).toEqual([]);
    expect(bom.components.filter(({ licenses }) => licenses.length !== 1)).toEqual([]);
    const without = bom.components.filter(({ hashes }) => hashes === undefined);
    expect(without.filter(({ purl }) => !decodeURIComponent(purl).includes("@tradewind/"))).toEqual([]);
  }, 60_000);
});

describe("npm run licences", () => {
  it("lists every package and finds none that may not be shipped", async () => {
    const { code, stdout } = await run("licences");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ {2}MIT +zod@4/m);
    expect(stdout).not.toContain("lightningcss");
  });

  it("refuses a package without a licence, an unknown one, and a copyleft one that would be shipped", () => {
    const locking = (license?: string, dev = false) => ({
      version: "1.0.0",
      ...(license !== undefined && { license }),
      ...(dev && { dev }),
    });
    const lock = {
      packages: {
        "": locking("Apache-2.0"),
        "node_modules/fine": locking("(MIT OR GPL-3.0-only)"),
        "node_modules/both": locking("Apache-2.0 AND MIT"),
        "node_modules/silent": locking(),
        "node_modules/own": locking("SEE LICENSE IN LICENSE"),
        "node_modules/copyleft": locking("MPL-2.0"),
        "node_modules/mixed": locking("MIT AND GPL-3.0-only"),
        "node_modules/a/node_modules/@b/tool": locking("MPL-2.0", true),
      },
    };
    const refused = (all: boolean) =>
      licencesOf(lock, all)
        .filter(({ isAllowed }) => !isAllowed)
        .map(({ name }) => name);
    expect(refused(true)).toEqual(["copyleft", "mixed", "own", "silent"]);
    expect(licencesOf(lock, true).map(({ name }) => name)).toContain("@b/tool");
    expect(licencesOf(lock, false).map(({ name }) => name)).not.toContain("@b/tool");
  });

  it("allows all that development uses", async () => {
    const all = licencesOf({ packages: await locked() }, true);
    expect(all.filter(({ isAllowed }) => !isAllowed)).toEqual([]);
  });
});

describe("npm run audit", () => {
  /** A registry that answers everything in one way. */
  async function registry(listener: RequestListener): Promise<string> {
    const server = createServer(listener).listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => void server.close());
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  it("passes when the registry answers that it knows nothing", async () => {
    const npm_config_registry = await registry((_request, response) => response.end("{}"));
    expect(await run("audit", { npm_config_registry })).toMatchObject({
      code: 0,
      stdout: "audit: the registry knows no vulnerability\n",
    });
  }, 60_000);

  it("is no pass when the registry does not answer it, as mirrors do", async () => {
    const npm_config_registry = await registry((_request, response) => response.writeHead(405).end());
    const { code, stderr } = await run("audit", { npm_config_registry });
    expect(code).toBe(2);
    expect(stderr).toMatch(
      /^audit: the registry did not answer, so nothing is known .*405 Method Not Allowed/m,
    );
  }, 60_000);

  it("names each vulnerable package with its advisory", () => {
    const advisory = { title: "Reads too far", url: "https://example.com/1", range: "<2.0.0" };
    const vulnerabilities = {
      lib: { severity: "high", via: [advisory] },
      user: { severity: "high", via: ["lib"] },
    };
    expect(auditVerdict(JSON.stringify({ auditReportVersion: 2, vulnerabilities }))).toEqual({
      exitCode: 1,
      text: [
        "audit: high: lib <2.0.0: Reads too far https://example.com/1",
        "audit: high: user through lib",
      ].join("\n"),
    });
    expect(auditVerdict("").exitCode).toBe(2);
  });
});
