import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { Plan } from "@tradewind/core/contract/plan.ts";
import { startPredictor } from "@tradewind/predictor/predictor.ts";
import { describe, expect, it, onTestFinished } from "vitest";
import { codesOf } from "@tradewind/core/contract/reasons.ts";
import { freePort } from "../free-port.ts";
import { RunningApplication } from "../predictor/running-application.ts";
import { secretFile } from "../predictor/sources/peers/nodes.ts";
import { waitUntil } from "../wait-until.ts";

const PROGRAM = fileURLToPath(new URL("../../cli/main.ts", import.meta.url));

/** A predictor in this process, and a peer in one of its own that can be stopped and killed. */
async function withPeer() {
  const application = await RunningApplication.start();
  onTestFinished(async () => application.stop());
  application.podUsageCores = 0.25;
  const [own, other] = [await freePort(), await freePort()];
  const peers = [own, other].map((port) => `http://127.0.0.1:${port}`);
  const peersSecretFile = secretFile();
  const flags = ["--config", application.config, "--workloads", application.workloads, "--window", "2s"];
  const listen = ["--listen", "127.0.0.1:0", "--otlp-listen", "127.0.0.1:0"];
  const meet = ["--peers", peers.join(), "--peers-listen", `127.0.0.1:${other}`];
  const secret = ["--peers-secret-file", peersSecretFile];
  const child: ChildProcess = spawn(
    process.execPath,
    [
      PROGRAM,
      "predictor",
      ...flags,
      "--grace",
      "400ms",
      "--log-level",
      "silent",
      ...listen,
      ...meet,
      ...secret,
    ],
    { stdio: ["ignore", "ignore", "ignore"] },
  );
  onTestFinished(() => {
    child.kill("SIGKILL");
  });
  const predictor = await startOne(application, peers, own, peersSecretFile);
  onTestFinished(async () => predictor.stop());
  return { application, child, other, predictor };
}

/** A predictor of the application, in windows of 2 s, that hears its peers at a port of its own. */
const startOne = async (
  application: RunningApplication,
  peers: string[],
  port: number,
  peersSecretFile: string,
): ReturnType<typeof startPredictor> =>
  startPredictor({
    config: application.config,
    workloads: application.workloads,
    agents: [application.agent.url],
    listen: "127.0.0.1:0",
    otlpListen: "127.0.0.1:0",
    peers,
    peersListen: `127.0.0.1:${port}`,
    peersSecretFile,
    windowSeconds: 2,
    graceSeconds: 0.4,
    policy: "queue",
    logLevel: "silent",
    agentPollMs: 200,
  });

/** An address at which connections are taken and nothing is ever answered: that of a pod that died, and whose object lingers. */
async function silentAddress(): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => void sockets.add(socket));
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe("two predictors whose name lists the addresses of two dead pods as well", () => {
  it("share all spans, grow on them, and name the addresses that do not answer instead of no traffic", async () => {
    const application = await RunningApplication.start();
    onTestFinished(async () => application.stop());
    application.podUsageCores = 0.25;
    const dead = [await silentAddress(), await silentAddress()];
    const ports = [await freePort(), await freePort()];
    const peers = [...ports.map((port) => `http://127.0.0.1:${port}`), ...dead];
    const peersSecretFile = secretFile();
    const predictors = await Promise.all(
      ports.map(async (port) => startOne(application, peers, port, peersSecretFile)),
    );
    onTestFinished(async () => {
      for (const predictor of predictors) await predictor.stop();
    });
    // The Service gives all of one client's batches to the first of them.
    const timer = setInterval(() => {
      void application.sendTraces(predictors[0]!.addresses["otlp"]!, 5, 250).catch(() => undefined);
    }, 100);
    onTestFinished(() => clearInterval(timer));
    for (const { addresses } of predictors) {
      let made: Plan | undefined;
      await waitUntil(
        async () => {
          const response = await fetch(`${addresses["http"]}/v1/plan`);
          made = response.ok ? Plan.parse(await response.json()) : undefined;
          return (
            made?.wishes.some(({ allocation, service }) => service === "geo" && allocation.replicas > 2) ===
            true
          );
        },
        60_000,
        "geo is given more",
      );
      expect(made).toMatchObject({ policy: "queue", complete: false });
      expect(made!.measuredLatencySeconds).toBeGreaterThan(0.2);
      for (const address of dead) expect(made!.missing?.join()).toContain(`${address} received since `);
      expect(codesOf(made!.policyReasons)).not.toContain("no-user-trace");
    }
  }, 120_000);
});

describe("a predictor whose peer hangs", () => {
  it("grows on what it sees, says what is missing and takes nothing away, until the peer is back or known to be dead", async () => {
    const { application, child, other, predictor } = await withPeer();
    let slowMs = 20;
    const timer = setInterval(() => {
      void application.sendTraces(predictor.addresses["otlp"]!, 5, slowMs).catch(() => undefined);
    }, 100);
    onTestFinished(() => clearInterval(timer));
    const plan = async (): Promise<Plan | undefined> => {
      const response = await fetch(`${predictor.addresses["http"]}/v1/plan`);
      return response.ok ? Plan.parse(await response.json()) : undefined;
    };
    const geo = (made: Plan) => made.wishes.find(({ service }) => service === "geo")!;
    let sequence = 0;
    const whole = async (what: string): Promise<void> =>
      waitUntil(async () => (await plan())?.complete === true, 60_000, what);
    const metrics = async (): Promise<string> =>
      (await fetch(`${predictor.addresses["http"]}/metrics`)).text();
    await waitUntil(
      async () => (await metrics()).includes('tradewind_predictor_peers{state="reached"} 1'),
      60_000,
      "the peer is reached",
    );
    await waitUntil(async () => ((await plan())?.sequence ?? 0) > 1, 20_000, "the first plans");
    await whole("the two have met");
    expect(geo((await plan())!).allocation.replicas).toBe(2);

    child.kill("SIGSTOP");
    sequence = (await plan())!.sequence;
    slowMs = 250;
    let grown: Plan | undefined;
    await waitUntil(
      async () => {
        const made = await plan();
        if (made?.complete === false && geo(made).allocation.replicas > 2) grown = made;
        return grown !== undefined;
      },
      30_000,
      "geo is given more although a part of the traffic is missing",
    );
    expect(grown!.policy).toBe("queue");
    expect(grown!.sequence - sequence).toBeLessThanOrEqual(5);
    expect(grown!.missing?.join()).toMatch(
      new RegExp(`spans that the predictor at http://127\\.0\\.0\\.1:${other} received since .* are missing`),
    );
    expect(codesOf(grown!.policyReasons)).toContain("traffic-missing");
    expect(geo(grown!).observed.complete).toBe(false);

    child.kill("SIGCONT");
    await whole("the peer goes on");
    child.kill("SIGKILL");
    await waitUntil(async () => (await plan())!.sequence > grown!.sequence + 3, 20_000, "more plans");
    await whole("nothing listens where the peer was, so it receives nothing");
  }, 150_000);
});
