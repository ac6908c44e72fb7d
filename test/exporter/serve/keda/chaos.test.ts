import { readFile } from "node:fs/promises";
import { credentials } from "@grpc/grpc-js";
import { describe, expect, it } from "vitest";
import { freePort } from "../../../free-port.ts";
import type { ExporterProcess } from "../../exporter-process.ts";
import { answering } from "../../fake-predictor.ts";
import { runningExporter } from "../../running-exporter.ts";
import { until } from "../../until.ts";
import { planOf, wishOf } from "../../wish.ts";
import { fixture, secretDirectory, servedName } from "./secret.ts";
import { planFor, stage, WANTED } from "./stage.ts";
import type { Stage } from "./stage.ts";

interface Scenario {
  readonly name: string;
  /** Whether polls may come back with an error, on which an HPA keeps its replicas. Never with another number. */
  readonly mayFail: boolean;
  /** How long a call of this KEDA may take. */
  readonly deadlineMs?: number;
  /** Whether the port wants a client certificate. */
  readonly secured?: boolean;
  readonly play: (on: Stage) => Promise<void>;
}

/** Two exporters that have decided, with KEDA polling them. */
async function pair(on: Stage, ...flags: string[]) {
  const pods = await Promise.all([on.join(flags), on.join(flags)]);
  on.watch();
  await on.answers(10);
  on.keda.countAnew();
  return pods;
}

const leave = (on: Stage, address: string): void => {
  on.addresses.splice(on.addresses.indexOf(address), 1);
};

async function hasBeenAsked({ http }: ExporterProcess): Promise<boolean> {
  const metrics = await (await fetch(`${http}/metrics`)).text();
  return /tradewind_keda_rpc_duration_seconds_count\{rpc="GetMetrics",code="OK"\} [1-9]/.test(metrics);
}

async function clientCredentials() {
  const [authority, key, certificate] = await Promise.all([
    readFile(fixture("authority.crt")),
    readFile(fixture("client.key")),
    readFile(fixture("client.crt")),
  ]);
  return credentials.createSsl(authority, key, certificate);
}

const SCENARIOS: readonly Scenario[] = [
  {
    name: "each in turn is killed, stays listed, and restarts in place with its state while no predictor answers",
    mayFail: false,
    play: async (on) => {
      const pods = await pair(on);
      on.predictor.behave(answering("", 503));
      for (const { process, address, state } of pods) {
        await process.kill("SIGKILL");
        await on.answers(20);
        const { process: restarted } = await on.start({ state, at: address });
        await until("KEDA to ask it again", () => hasBeenAsked(restarted));
      }
      await on.answers(20);
    },
  },
  {
    name: "one of two hangs until its liveness probe ends it",
    mayFail: true,
    deadlineMs: 300,
    play: async (on) => {
      const [first] = await pair(on);
      first.process.child.kill("SIGSTOP");
      await on.polls(4);
      await first.process.kill("SIGKILL");
      await on.answers(50);
    },
  },
  {
    name: "a rolling update puts two new ones, with nothing in their hands, in the place of two old ones",
    mayFail: false,
    play: async (on) => {
      for (const old of await pair(on)) {
        const { address } = await on.start();
        on.addresses.push(address);
        leave(on, old.address);
        expect(await old.process.kill("SIGTERM")).toBe(0);
        await on.answers(30);
      }
    },
  },
  {
    name: "certificates are renewed, and every connection is made anew",
    mayFail: false,
    secured: true,
    play: async (on) => {
      const { install, paths } = await secretDirectory();
      const input = { tls: { ...paths, refreshMs: 20 }, scaler: { connectionAgeMs: 100 } };
      for (let pod = 0; pod < 2; pod += 1) {
        const { running } = await runningExporter(planFor(WANTED, 1), input);
        on.addresses.push(running.addresses["grpc"]!);
      }
      on.watch();
      await on.answers(20);
      await install("renewed");
      for (const address of on.addresses) {
        await until("the new one", async () => (await servedName(address)) === "tradewind scaler renewed");
      }
      await on.answers(100);
    },
  },
  {
    name: "the predictor is cut off: numbers are held while they age, and then there are none",
    mayFail: true,
    play: async (on) => {
      const plan = (): string => JSON.stringify(planFor(WANTED, Math.round(performance.now())));
      on.predictor.behave((request, response) => answering(plan())(request, response));
      const [first] = await pair(on, "--stale-after", "5s");
      on.predictor.behave(() => undefined);
      const isOlder = async (): Promise<boolean> => {
        const [known] = (await first.process.list()).recommendations;
        expect(known).toMatchObject({ replicas: WANTED });
        return known!.valid && known!.ageSeconds! > 1.2;
      };
      await until("numbers older than any while plans came", isOlder);
      expect(on.keda.counts.failures).toBe(0);
      await until("the end of what is known", () => on.keda.counts.failures > 20);
      on.predictor.behave((request, response) => answering(plan())(request, response));
      await on.answers(20);
    },
  },
  {
    name: "KEDA is there before the first exporter, and both before the first plan",
    mayFail: true,
    play: async (on) => {
      on.predictor.behave(answering("", 503));
      on.addresses.push(`127.0.0.1:${await freePort()}`);
      on.watch();
      await until("KEDA to have been refused", () => on.keda.counts.specFailures > 10);
      await on.start({ at: on.addresses[0]! });
      await until("the first specs", async () => {
        on.keda.countAnew();
        await on.polls(3);
        return on.keda.counts.specFailures === 0;
      });
      await on.polls(20);
      expect(on.replicasSet.size).toBe(0);
      on.predictor.serve(planFor(WANTED, 1));
      await on.answers(20);
    },
  },
  {
    name: "KEDA asks for 5,000 objects at the same moment, and one of two is killed meanwhile",
    mayFail: false,
    deadlineMs: 30_000,
    play: async (on) => {
      const replicas = Array.from({ length: 5_000 }, (_, index) => 4 + (index % 10));
      const wishes = replicas.map((each, index) =>
        wishOf({ service: `service-${index}`, allocation: { replicas: each } }),
      );
      on.predictor.serve(planOf(wishes));
      const [first] = await Promise.all([on.join(), on.join()]);
      const polls = replicas.map(async (_, index) =>
        on.keda.poll({ name: "so", namespace: "shop", metadata: { service: `service-${index}` } }),
      );
      await Promise.any(polls);
      await first.process.kill("SIGKILL");
      expect((await Promise.all(polls)).map(({ value }) => value)).toEqual(replicas);
    },
  },
];

describe("KEDA's questions, while one exporter lives, get a spec and never a wrong number when", () => {
  it.each(SCENARIOS)("$name", { timeout: 60_000 }, async ({ deadlineMs, mayFail, play, secured }) => {
    const on = await stage({
      ...(deadlineMs === undefined ? {} : { deadlineMs }),
      ...(secured === true ? { channel: await clientCredentials() } : {}),
    });
    await play(on);
    expect(on.keda.counts.polls).toBeGreaterThan(0);
    expect(on.keda.counts.specFailures).toBe(0);
    expect([...on.replicasSet].filter((replicas) => replicas !== WANTED)).toEqual([]);
    expect(on.inactive()).toBe(0);
    expect(on.keda.counts.failures === 0 || mayFail).toBe(true);
  });
});
