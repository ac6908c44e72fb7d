import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";

const root = join(import.meta.dirname, "..", "..");
const read = (path: string): string => readFileSync(join(root, path), "utf8");

interface Manifest {
  readonly workspaces: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly resolved?: string;
  readonly link?: boolean;
  readonly dev?: boolean;
}
interface SecurityContext {
  readonly runAsUser: number;
  readonly runAsGroup: number;
}
const lock = JSON.parse(read("package-lock.json")) as { packages: Record<string, Manifest> };
const { workspaces } = JSON.parse(read("package.json")) as Manifest;

/** Where Node finds a package that is asked for from a folder, by the lockfile. */
function locate(from: string, name: string): string | undefined {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf("/")))) {
    const path = folder === "" ? `node_modules/${name}` : `${folder}/node_modules/${name}`;
    const found = lock.packages[path];
    if (found !== undefined) return found.link === true ? found.resolved : path;
    if (folder === "") return undefined;
  }
}

/** Every package that a workspace brings into its image, workspaces by their folder. */
function closure(workspace: string): Set<string> {
  const seen = new Set<string>();
  const visit = (folder: string): void => {
    if (seen.has(folder)) return;
    seen.add(folder);
    const { dependencies, optionalDependencies } = lock.packages[folder]!;
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      const path = locate(folder, name);
      if (path !== undefined) visit(path);
    }
  };
  visit(workspace);
  return seen;
}

/** Those that a cluster runs, and the one that shows all on one machine. */
const IN_CLUSTERS = ["agent", "exporter", "local", "predictor"];
const DEMO = "demo";
const IMAGES = [...IN_CLUSTERS, DEMO];
/** The workspace whose dependencies an image has. */
const workspaceOf = (image: string): string => (image === DEMO ? "cli" : image);

describe("images", () => {
  it.each(IMAGES)("%s: holds the compiled workspaces that the process uses, and the command", (image) => {
    const copied = [
      ...read(`docker/${image}.Dockerfile`).matchAll(/^COPY --from=build \/src\/dist\/(\w+) \1\/$/gm),
    ];
    const needed = [...closure(workspaceOf(image))].filter((path) => workspaces.includes(path));
    expect(new Set(copied.map(([, folder]) => folder))).toEqual(new Set([...needed, "cli", "node_modules"]));
  });

  it.each(IMAGES)("%s: has the packages that the command itself imports", (image) => {
    const packages = closure(workspaceOf(image));
    for (const name of importsOf("cli/main.ts")) {
      expect([...packages], `package ${name}`).toContain(`node_modules/${name}`);
    }
  });

  it.each(IMAGES)("%s: knows every workspace's manifest when it installs", (image) => {
    const text = read(`docker/${image}.Dockerfile`);
    for (const workspace of workspaces)
      expect(text).toContain(`COPY ${workspace}/package.json ${workspace}/\n`);
    expect(text).not.toContain(":latest");
  });

  it("are built on the Node.js that the tests run on, named by its exact version", () => {
    const { devDependencies } = JSON.parse(read("package.json")) as {
      devDependencies: Record<string, string>;
    };
    for (const image of IMAGES) {
      const text = read(`docker/${image}.Dockerfile`);
      expect(text).toContain(`\nARG NODE_IMAGE=node:${devDependencies["node"]}-bookworm-slim\n`);
      expect(text.match(/^FROM .*/gm)).toEqual(["FROM ${NODE_IMAGE} AS build", "FROM ${NODE_IMAGE}"]);
    }
  });

  it.each(IMAGES)("%s: is not built from a bare tag where a digest is required", async (image) => {
    const [, check = ""] = /^RUN (case .* esac)$/m.exec(read(`docker/${image}.Dockerfile`)) ?? [];
    const build = async (REQUIRE_DIGEST: string, NODE_IMAGE: string): Promise<string> =>
      promisify(execFile)("sh", ["-c", check], { env: { REQUIRE_DIGEST, NODE_IMAGE } }).then(
        () => "built",
        ({ stderr }: { stderr: string }) => stderr.trim(),
      );
    const tag = "node:24.21.0-bookworm-slim";
    expect(await build("no", tag)).toBe("built");
    expect(await build("yes", tag)).toBe(`NODE_IMAGE=${tag} has no digest`);
    expect(await build("yes", `${tag}@sha256:${"0".repeat(64)}`)).toBe("built");
    expect(await build("maybe", tag)).toContain("no digest");
  });

  it("run each as the user that the chart gives it, and no two as the same", () => {
    const users = IN_CLUSTERS.map((image) => {
      const [, uid, gid] = /^USER (\d+):(\d+)$/m.exec(read(`docker/${image}.Dockerfile`)) ?? [];
      return { image, uid: Number(uid), gid: Number(gid) };
    });
    const values = parse(read("charts/tradewind/values.yaml")) as Record<
      string,
      Record<string, SecurityContext>
    >;
    const given = {
      agent: values["agent"]!["podSecurityContext"]!,
      predictor: values["predictor"]!["securityContext"]!,
      exporter: values["scaler"]!["podSecurityContext"]!,
      local: values["inject"]!["podSecurityContext"]!,
    };
    expect(users).toEqual(
      Object.entries(given)
        .sort(([a], [b]) => IN_CLUSTERS.indexOf(a) - IN_CLUSTERS.indexOf(b))
        .map(([image, { runAsUser: uid, runAsGroup: gid }]) => ({ image, uid, gid })),
    );
    expect(new Set(users.map(({ uid }) => uid)).size).toBe(IN_CLUSTERS.length);
    // 65534 is everybody's: whoever shares it may read the environment and the files of the others on a node.
    for (const { uid } of users) expect(uid).not.toBe(65_534);
  });

  it("leave gRPC and the Kubernetes client out of the agent's", () => {
    const packages = [...closure("agent")].join("\n");
    for (const name of ["grpc", "kubernetes", "fastify"]) expect(packages).not.toContain(name);
  });

  it("start the exporter as the child of its supervisor, which loads nothing but core", () => {
    const [, text = "[]"] = /^ENTRYPOINT (\[.+\])$/m.exec(read("docker/exporter.Dockerfile")) ?? [];
    const [program, supervisor = "", ...command] = JSON.parse(text) as string[];
    expect([program, ...command]).toEqual(["node", "--v8-pool-size=1", "cli/main.js"]);
    expect(importsOf(supervisor.replace(/\.js$/, ".ts"))).toEqual([]);
    expect(read(supervisor.replace(/\.js$/, ".ts"))).not.toContain("log.ts");
  });
});

/** Packages from outside that a file imports at once. */
function importsOf(path: string): string[] {
  return [...read(path).matchAll(/^import .*from "([^"]+)";$/gm)]
    .map(([, name = ""]) => name)
    .filter((name) => !/^(\.|node:|@tradewind\/)/.test(name));
}
