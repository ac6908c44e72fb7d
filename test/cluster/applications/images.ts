import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { installed } from "../../installed.ts";
import { run } from "../build/run.ts";
import { buildProgramImage, once, ownArchiveOf } from "../node/images/build.ts";
import { buildImage } from "../node/images/buildah.ts";
import { writeDebianRoot } from "../node/images/node-root.ts";
import { buildGoProgram, cachedName } from "./programs.ts";
import type { GoProgram } from "./programs.ts";

/** A program that needs more than itself: Debian's packages, and what Python's or Maven's registry has of it. */
export interface PackagedProgram {
  readonly name: string;
  readonly version: string;
  /** Debian's packages, with what these depend on. */
  readonly debian: readonly string[];
  /** Python's, into `/opt/python`. */
  readonly pip?: readonly string[];
  /** Maven's, as `group:artifact:version`: jars into `/opt`. With `:zip` unpacked there. */
  readonly maven?: readonly string[];
  /** Lines of a shell, run as root once all is in its place. */
  readonly finish?: readonly string[];
  readonly entrypoint: readonly string[];
}

/** A static program is the whole image. */
export type Image = GoProgram | PackagedProgram;

type Report = (line: string) => void;

export const imageOf = (image: Image): string => `localhost/${cachedName(image)}:1`;

/** Builds an image unless that was done before. @returns its archive @throws Error with what could not be had */
export async function buildImageOf(image: Image, report: Report): Promise<string> {
  const name = imageOf(image);
  const file = ownArchiveOf(name);
  if ("package" in image) {
    const program = await buildGoProgram(image, report);
    return buildProgramImage(program, { image: name, user: NOBODY, file }, report);
  }
  const last = [`USER ${NOBODY}`, `ENTRYPOINT ${JSON.stringify(image.entrypoint)}`];
  const finish = (image.finish ?? []).map((line) => `RUN ${line}`);
  const lines = ["FROM scratch", "COPY . /", "RUN chmod 1777 /tmp", ...finish, ...last];
  const build = async (): Promise<void> => buildImage(name, lines, async (root) => fill(root, image));
  return once(name, report, build, file);
}

const NOBODY = "65534";

async function fill(root: string, { debian, maven = [], pip = [] }: PackagedProgram): Promise<void> {
  await writeDebianRoot(root, debian);
  if (pip.length > 0) await installPython(join(root, "opt", "python"), pip);
  for (const artifact of maven) await copyArtifact(join(root, "opt"), artifact);
}

/** Wheels for the Python of Debian 12, so that nothing is compiled. */
async function installPython(folder: string, packages: readonly string[]): Promise<void> {
  const wheels = ["--only-binary=:all:", "--python-version=3.11", "--no-compile"];
  const quiet = ["--quiet", "--disable-pip-version-check", "--root-user-action=ignore"];
  await run(program("pip"), ["install", ...quiet, ...wheels, `--target=${folder}`, ...packages], {});
}

async function copyArtifact(folder: string, artifact: string): Promise<void> {
  const isZip = artifact.endsWith(":zip");
  await mkdir(folder, { recursive: true });
  const goal = isZip ? "unpack" : "copy";
  const place = [`-DoutputDirectory=${folder}`, "-Dmdep.stripVersion=true"];
  const plugin = `org.apache.maven.plugins:maven-dependency-plugin:3.8.1:${goal}`;
  await run(program("mvn"), ["--batch-mode", "--quiet", plugin, `-Dartifact=${artifact}`, ...place], {});
  if ((await readdir(folder)).length === 0) throw new Error(`Maven put nothing of ${artifact} into an image`);
}

/** @throws Error where it is not installed */
function program(name: string): string {
  const file = installed(name);
  if (file === undefined) throw new Error(`'${name}' is not installed`);
  return file;
}
