import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { parse } from "yaml";
import { helm, objectsOf, runHelm } from "../charts/helm.ts";
import { Application } from "@tradewind/core/contract/application.ts";

const root = join(import.meta.dirname, "..", "..");
const yaml = (path: string): unknown => parse(readFileSync(join(root, path), "utf8"));
const { version } = yaml("package.json") as { version: string };

describe("Chart.yaml", () => {
  const chart = yaml("charts/tradewind/Chart.yaml") as {
    version: string;
    appVersion: string;
    icon: string;
    annotations: Record<string, string>;
  };

  it("has the version of the package, for the chart and for the images it asks for", () => {
    expect({ chart: chart.version, app: chart.appVersion }).toEqual({ chart: version, app: version });
  });

  it("has an icon that needs no server, and is an SVG", () => {
    const [head, body = ""] = chart.icon.split(",");
    expect(head).toBe("data:image/svg+xml;base64");
    expect(Buffer.from(body, "base64").toString()).toMatch(/^<svg [^>]+>.*<\/svg>$/);
  });

  it("describes to Artifact Hub the custom resource of crds/, with an example that the contract takes", () => {
    const [described] = parse(chart.annotations["artifacthub.io/crds"]!) as {
      name: string;
      version: string;
    }[];
    expect(existsSync(join(root, "charts/tradewind/crds", "applications.tradewind.dev.yaml"))).toBe(true);
    expect(described).toMatchObject({ name: "applications.tradewind.dev", version: "v1alpha1" });
    const [example] = parse(chart.annotations["artifacthub.io/crdsExamples"]!) as {
      metadata: { name: string; namespace: string };
      spec: object;
    }[];
    expect(Application.safeParse({ ...example?.metadata, ...example?.spec }).error).toBeUndefined();
  });
});

describe.skipIf(helm === undefined)("npm run chart", () => {
  it("packages a chart that asks the given registry for images and names where it comes from", async () => {
    const folder = mkdtempSync(join(tmpdir(), "tradewind-package-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const flags = ["--registry", "ghcr.io/acme", "--source", "https://example.com/tradewind"];
    const env = { ...process.env, PATH: `${dirname(helm!)}:${process.env["PATH"]}` };
    const script = join(root, "bin", "chart.ts");
    await promisify(execFile)(process.execPath, [script, ...flags, "--output", folder], { env });
    const archive = join(folder, `tradewind-${version}.tgz`);
    const rendered = await runHelm("template", "tradewind", archive, "--kube-version", "1.34.1");
    const images = JSON.stringify(objectsOf(rendered.stdout)).match(/(?<="image":")[^"]+/g);
    expect(new Set(images)).toEqual(
      new Set(["agent", "exporter"].map((name) => `ghcr.io/acme/tradewind-${name}:${version}`)),
    );
    const { stdout } = await runHelm("show", "chart", archive);
    expect(parse(stdout)).toMatchObject({
      version,
      appVersion: version,
      home: "https://example.com/tradewind",
      sources: ["https://example.com/tradewind"],
    });
  });
});
