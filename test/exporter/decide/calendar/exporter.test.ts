import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { runningExporter } from "../../running-exporter.ts";
import { planOf, wishOf } from "../../wish.ts";

it("answers KEDA the floor of a calendar in its configuration, and says which calendar it is", async () => {
  const directory = await mkdtemp(join(tmpdir(), "tradewind-calendars-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const application = join(directory, "app.yaml");
  const always = "from: '* * * * *', until: '* * * * *'";
  await writeFile(
    application,
    `{name: hotel, namespace: shop, mode: act, entry: search, objective: {milliseconds: 200}, calendars: [{name: day, ${always}, floor: {replicas: 9}}]}`,
  );
  const exporter = await runningExporter(planOf([wishOf()]), { application });
  const { recommendations } = await exporter.list();
  expect(recommendations[0]).toMatchObject({ wished: { replicas: 5 }, replicas: 9 });
  expect(recommendations[0]?.guard[0]).toMatchObject({ step: "calendar", reasons: [{ calendar: "day" }] });
  const ref = { name: "so", namespace: "shop", metadata: { service: "search" } };
  expect(await exporter.client.metrics(ref, "m")).toMatchObject([{ int: 9 }]);
});
