import { execFile } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { imageCommands } from "../../bin/images.ts";
import type { ImageBuild } from "../../bin/images.ts";

const root = join(import.meta.dirname, "..", "..");
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };

const PLAIN: ImageBuild = {
  tool: "docker",
  registry: "",
  tag: "1.2.3",
  push: false,
  platform: "",
  nodeImage: "",
  labels: [],
};
const lines = (build: Partial<ImageBuild>): string[] =>
  imageCommands({ ...PLAIN, ...build }).map((words) => words.join(" "));

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the command with nothing on the search path but these programs, which write down how they are called. */
async function run(
  programs: Readonly<Record<string, string>>,
  ...args: readonly string[]
): Promise<Ended & { calls: readonly string[] }> {
  const folder = mkdtempSync(join(tmpdir(), "tradewind-images-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const log = join(folder, "calls");
  writeFileSync(log, "");
  for (const [name, body] of Object.entries(programs)) {
    writeFileSync(join(folder, name), `#!/bin/sh\necho "${name} $*" >> ${log}\n${body}\n`);
    chmodSync(join(folder, name), 0o755);
  }
  const calls = () => readFileSync(log, "utf8").trim().split("\n");
  try {
    const { stdout, stderr } = await promisify(execFile)(
      process.execPath,
      [join(root, "bin", "images.ts"), ...args],
      { env: { PATH: folder } },
    );
    return { code: 0, stdout, stderr, calls: calls() };
  } catch (error) {
    return { ...(error as Ended), calls: calls() };
  }
}

describe("npm run images", () => {
  it("names the images as the chart asks for them: registry, process and the chart's version", async () => {
    const { calls, code } = await run({ podman: "" }, "--registry", "registry.example.com/team/", "--push");
    expect(code).toBe(0);
    const image = (name: string): string => `registry.example.com/team/tradewind-${name}:${version}`;
    expect(calls.filter((call) => call.startsWith("podman push"))).toEqual(
      ["agent", "predictor", "exporter", "local", "demo"].map((name) => `podman push ${image(name)}`),
    );
    expect(calls).toContainEqual(
      expect.stringMatching(/^podman build --file=docker\/agent\.Dockerfile .*--tag=\S+ \.$/),
    );
    const values = readFileSync(join(root, "charts", "tradewind", "values.yaml"), "utf8");
    for (const name of ["agent", "predictor", "exporter", "local"]) {
      expect(values).toContain(`repository: tradewind-${name}\n`);
    }
  });

  it("takes the next tool where Docker's daemon does not answer", async () => {
    const docker = "echo 'Cannot connect to the Docker daemon' >&2; exit 1";
    const { calls, code } = await run({ docker, buildah: "", podman: "" });
    expect(code).toBe(0);
    expect(calls[0]).toMatch(/^docker version/);
    expect(calls.slice(1)).toEqual(expect.arrayContaining([expect.stringMatching(/^buildah build/)]));
    expect(calls.filter((call) => /^(docker|podman) build/.test(call))).toEqual([]);
  });

  it("says of each tool why it cannot build, and ends with 2, where none can", async () => {
    const { code, stderr } = await run({ docker: "echo 'Cannot connect to the Docker daemon' >&2; exit 1" });
    expect(code).toBe(2);
    expect(stderr).toContain("docker: Cannot connect to the Docker daemon");
    expect(stderr).toContain("podman: is not installed");
  });

  it("stops at the first build that fails, and pushes nothing after it", async () => {
    const { calls, code } = await run({ podman: 'case "$*" in *predictor*) exit 3;; esac' }, "--push");
    expect(code).toBe(1);
    expect(calls.filter((call) => call.includes("exporter"))).toEqual([]);
  });

  it("prints what it would run with --dry-run, and runs nothing but the question whether the tool works", async () => {
    const { calls, stdout } = await run({ podman: "" }, "--dry-run", "--tag", "9");
    expect(calls).toEqual(["podman version"]);
    expect(stdout).toContain("--tag=tradewind-exporter:9 .");
  });

  it.each([
    [["--platform", "linux/amd64,linux/arm64"], "--push"],
    [["--tool", "kaniko"], "docker, buildah, podman"],
    [["--regsitry", "x"], "--regsitry"],
  ])("refuses %j with 2", async (args, message) => {
    const { code, stderr } = await run({ podman: "" }, ...args);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });

  it.each([
    ["docker", /^docker buildx build --platform=a,b .*--push \.$/, 5],
    ["buildah", /^buildah build --platform=a,b --layers .*--manifest=\S+ \.$/, 10],
  ] as const)("builds for several platforms with %s", (tool, first, count) => {
    const commands = lines({ tool, platform: "a,b", push: true });
    expect(commands).toHaveLength(count);
    expect(commands[0]).toMatch(first);
  });

  it("has Buildah keep layers, so that what all images begin with is built once", () => {
    expect(lines({ tool: "buildah" }).map((line) => line.startsWith("buildah build --layers "))).toEqual(
      Array(5).fill(true),
    );
    expect(lines({ tool: "podman" }).join()).not.toContain("--layers");
  });

  it("hands on the base image and the labels", () => {
    const [first = ""] = lines({ nodeImage: "node@sha256:1", labels: ["a=b"] });
    expect(first).toContain(
      "--label=org.opencontainers.image.version=1.2.3 --label=a=b --build-arg=NODE_IMAGE=node@sha256:1",
    );
  });
});
