import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { generatedFiles } from "../../charts/generate/files.ts";
import { CHART, helm, template } from "./helm.ts";

const APPLICATION = "application.spec.entry=frontend,application.spec.objective.milliseconds=250";

describe("files of the chart that are generated", () => {
  it.each([...generatedFiles(CHART)])(
    "%s is up to date; else run node charts/generate/main.ts",
    (path, content) => {
      expect(readFileSync(join(CHART, path), "utf8")).toBe(content);
    },
  );
});

describe.skipIf(helm === undefined)("values that cannot be meant", () => {
  it.each([
    ["agent.enabledd=true", "at '/agent': additional properties 'enabledd' not allowed"],
    ["scalar.replicas=2", "additional properties 'scalar' not allowed"],
    ["scaler.tls.certmanager.enabled=true", "additional properties 'certmanager' not allowed"],
    ["scaler.replicas=two", "at '/scaler/replicas': got string, want integer"],
    ["scaler.replicas=0", "at '/scaler/replicas': minimum: got 0, want 1"],
    ["scaler.staleAfter=soon", "at '/scaler/staleAfter'"],
    ["predictor.policy=best", "value must be one of 'auto', 'queue', 'static'"],
    ["predictor.policy=plan", "value must be one of 'auto', 'queue', 'static'"],
    ["predictor.nodeSelector.disk=ssd", "at '/predictor': additional properties 'nodeSelector' not allowed"],
    ["logLevel=verbose", "at '/logLevel': value must be one of"],
    ["logLevel=fatal", "at '/logLevel': value must be one of"],
    ["agent.image.digest=latest", "at '/agent/image/digest'"],
    ["agent.extraArgs[0]=verbose", "at '/agent/extraArgs/0'"],
    ["application.spec.entry=frontend", "at '/application/spec': missing property 'objective'"],
    [`${APPLICATION},application.spec.objectivs=1`, "additional properties 'objectivs' not allowed"],
    [`${APPLICATION},application.spec.mode=auto`, "'observe', 'recommend', 'act'"],
    [
      "application.spec.entry=a,application.spec.objective.milliseconds=-5",
      "exclusiveMinimum: got -5, want 0",
    ],
    ["scaler.preStopSleepSeconds=70", "at least 10 s more than scaler.preStopSleepSeconds"],
    [
      `${APPLICATION},application.spec.services[0].name=web,application.spec.services[0].minReplicas=5,application.spec.services[0].maxReplicas=2`,
      "web has minReplicas 5 above maxReplicas 2",
    ],
    [
      `${APPLICATION},application.spec.services[0].name=web,application.spec.services[0].minReplicas=101`,
      "web has minReplicas 101 above maxReplicas 100",
    ],
    [
      `${APPLICATION},application.spec.services[0].name=web,application.spec.services[0].cpu.minCores=9`,
      "web has cpu.minCores above cpu.maxCores",
    ],
    [
      `${APPLICATION},application.spec.services[0].name=web,application.spec.services[0].memory.maxBytes=1000`,
      "web has memory.minBytes above memory.maxBytes",
    ],
    [
      `${APPLICATION},application.spec.services[0].name=web,application.spec.services[0].brownout=true`,
      "additional properties 'brownout' not allowed",
    ],
    ["scaler.tls.enabled=true", "scaler.tls.enabled needs a certificate: set certificates.generate"],
    ["certificates.days=7", "minimum: got 7, want 30"],
    ["scaler.tls.existingSecret=tls", "scaler.tls.enabled is false: KEDA would be served without TLS"],
    ["scaler.tls.enabled=true,scaler.tls.certManager.enabled=true,scaler.tls.existingSecret=tls", "not both"],
    [
      "scaler.tls.enabled=true,scaler.tls.certManager.enabled=true,scaler.tls.certManager.client.namespace=keda",
      "issuerRef of kind ClusterIssuer",
    ],
    ["scaler.replicas=1", "would block every node drain"],
    ["metrics.serviceMonitor.enabled=true,metrics.podMonitor.enabled=true", "scraped twice"],
    [`${APPLICATION},application.existing=shop`, "set application.existing or application.spec, not both"],
    ["watchNamespaces={shop},application.existing=shop/shop", "set application.from: Resource"],
    ["application.existing=mine", "set watchNamespaces"],
    ["application.existing=mine,application.store.rawDays=1", "belong into the ConfigMap"],
    ["watchNamespaces={*,shop}", "name no others beside it"],
    ["application.sources.skywalking=1", "additional properties 'skywalking' not allowed"],
    ["agent.http.monitorTokenKey=a/b", "at '/agent/http/monitorTokenKey': 'a/b' does not match pattern"],
  ])("are refused with a readable message: %s", async (set, message) => {
    const { ok, stderr } = await template("--set", set);
    expect(ok).toBe(false);
    expect(stderr).toContain(message);
  });
});

describe.skipIf(helm === undefined)("what the application's resize is", () => {
  const resizeOf = async (...sets: readonly string[]): Promise<string | undefined> => {
    const { stdout } = await template(...[APPLICATION, ...sets].flatMap((set) => ["--set", set]));
    return /^ +resize: (?<resize>.*)$/m.exec(stdout)?.groups?.["resize"];
  };

  it("is limits where the chart resizes pods in place, unless the values say something else", async () => {
    expect(await resizeOf()).toBeUndefined();
    expect(await resizeOf("scaler.inPlaceResize.enabled=true")).toBe("limits");
    const requests = "application.spec.resize=requests";
    expect(await resizeOf("scaler.inPlaceResize.enabled=true", requests)).toBe("requests");
    const resource = "application.from=Resource";
    expect(await resizeOf("scaler.inPlaceResize.enabled=true", resource)).toBe("limits");
  });
});
