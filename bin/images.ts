/**
 * Builds the images of all processes: `npm run images -- --registry registry.example.com/team --push`. Uses Docker, Buildah or Podman,
 * whichever is there first and works; `--help` lists the options.
 */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { trimmedEnd } from "@tradewind/core/values/trimmed-end.ts";

const root = dirname(import.meta.dirname);
const PROCESSES = ["agent", "predictor", "exporter", "local", "demo"] as const;
const TOOLS = ["docker", "buildah", "podman"] as const;
type Tool = (typeof TOOLS)[number];

/** How a tool is asked whether it works here. Docker's command may be there without its daemon. */
const WORKS: Readonly<Record<Tool, readonly string[]>> = {
  docker: ["version", "--format", "{{.Server.Version}}"],
  buildah: ["version"],
  podman: ["version"],
};

const OPTIONS = {
  registry: { type: "string", default: "" },
  tag: { type: "string" },
  push: { type: "boolean", default: false },
  platform: { type: "string", default: "" },
  "node-image": { type: "string", default: "" },
  label: { type: "string", multiple: true, default: [] as string[] },
  tool: { type: "string" },
  "dry-run": { type: "boolean", default: false },
  help: { type: "boolean", default: false },
} as const;

const HELP = `Builds tradewind-agent, tradewind-predictor, tradewind-exporter, tradewind-local and tradewind-demo from docker/.

  --registry HOST/PATH  what the names begin with; the chart's global.image.registry
  --tag TAG             tag of all (default: the version in package.json, which the chart asks for)
  --push                push them after the build
  --platform LIST       such as linux/amd64,linux/arm64; needs --push
  --node-image IMAGE    what they are built on (default: as the Dockerfiles say); with a digest in a release
  --label KEY=VALUE     put on every image; may be given several times
  --tool NAME           docker, buildah or podman (default: the first that works)
  --dry-run             print the commands and run none
`;

export interface ImageBuild {
  readonly tool: Tool;
  /** Empty: no registry. */
  readonly registry: string;
  readonly tag: string;
  readonly push: boolean;
  /** Separated by commas; empty: that of this machine. */
  readonly platform: string;
  readonly nodeImage: string;
  readonly labels: readonly string[];
}

/** @returns the commands that build, and push, the images */
export function imageCommands(build: ImageBuild): readonly (readonly string[])[] {
  const { labels, nodeImage, platform, push, registry, tag, tool } = build;
  return PROCESSES.flatMap((name) => {
    const image = `${registry === "" ? "" : `${trimmedEnd(registry, "/")}/`}tradewind-${name}:${tag}`;
    const args = [
      // Buildah alone forgets layers unless it is told not to, and the first stage of all three is the same.
      ...(tool === "buildah" ? ["--layers"] : []),
      `--file=docker/${name}.Dockerfile`,
      ...[`org.opencontainers.image.version=${tag}`, ...labels].map((label) => `--label=${label}`),
      ...(nodeImage === "" ? [] : [`--build-arg=NODE_IMAGE=${nodeImage}`]),
    ];
    if (platform === "") {
      const built = [tool, "build", ...args, `--tag=${image}`, "."];
      return push ? [built, [tool, "push", image]] : [built];
    }
    // Docker keeps no image of several platforms: it pushes what it builds, with what it was made of and how.
    if (tool === "docker") {
      const attested = ["--sbom=true", "--provenance=mode=max"];
      const built = ["docker", "buildx", "build", `--platform=${platform}`, ...attested, ...args];
      return [[...built, `--tag=${image}`, "--push", "."]];
    }
    return [
      [tool, "build", `--platform=${platform}`, ...args, `--manifest=${image}`, "."],
      [tool, "manifest", "push", "--all", image, `docker://${image}`],
    ];
  });
}

function isTool(name: string): name is Tool {
  return (TOOLS as readonly string[]).includes(name);
}

/** @returns the first tool that works, or why none does, one reason a tool */
function findTool(wanted: string | undefined): Tool | readonly string[] {
  if (wanted !== undefined && !isTool(wanted)) return [`--tool ${wanted}: there are ${TOOLS.join(", ")}`];
  const problems: string[] = [];
  for (const tool of wanted === undefined ? TOOLS : [wanted]) {
    const { error, status, stderr } = spawnSync(tool, WORKS[tool], { encoding: "utf8", timeout: 20_000 });
    if (error === undefined && status === 0) return tool;
    const why = error === undefined ? stderr.trim().split("\n").at(-1) : "is not installed";
    problems.push(`${tool}: ${why}`);
  }
  return problems;
}

function versionOf(manifest: string): string {
  return (JSON.parse(readFileSync(manifest, "utf8")) as { version: string }).version;
}

/** @returns the exit code: 0 built, 1 a command failed, 2 wrong options or no tool */
function main(args: string[]): number {
  let values;
  try {
    ({ values } = parseArgs({ args, options: OPTIONS }));
  } catch (error) {
    console.error(`images: ${(error as Error).message}`);
    return 2;
  }
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  const { label, platform, push, registry, tag = versionOf(join(root, "package.json")) } = values;
  if (platform.includes(",") && !push) {
    console.error("images: several platforms need --push: only a registry holds them under one name");
    return 2;
  }
  const tool = findTool(values.tool);
  if (typeof tool !== "string") {
    console.error(`images: nothing here builds images.\n${tool.map((line) => `  ${line}`).join("\n")}`);
    return 2;
  }
  const build = { tool, registry, tag, push, platform, nodeImage: values["node-image"], labels: label };
  for (const [command = "", ...rest] of imageCommands(build)) {
    console.log(`${command} ${rest.join(" ")}`);
    if (values["dry-run"]) continue;
    // Docker's old builder knows no cache mounts.
    const env = { ...process.env, DOCKER_BUILDKIT: "1" };
    const { error, status } = spawnSync(command, rest, { cwd: root, env, stdio: "inherit" });
    if (error !== undefined || status !== 0) {
      console.error(`images: that failed${error === undefined ? "" : `: ${error.message}`}`);
      return 1;
    }
  }
  return 0;
}

if (import.meta.main) process.exitCode = main(process.argv.slice(2));
