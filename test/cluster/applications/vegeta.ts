import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { run } from "../build/run.ts";
import type { JudgedApplication, Request } from "./application.ts";
import { parseResults } from "./outcomes.ts";
import type { Outcome } from "./outcomes.ts";
import { place } from "./phases.ts";

/** The users of an application. Each request has a connection of its own, so it can come to any pod. */
export class Users {
  readonly #vegeta: string;
  readonly #application: JudgedApplication;
  readonly #request: Request;
  readonly #folder: string;

  private constructor(vegeta: string, application: JudgedApplication, request: Request, folder: string) {
    this.#vegeta = vegeta;
    this.#application = application;
    this.#request = request;
    this.#folder = folder;
  }

  /** @param vegeta the program @param address of the entry, as `10.241.0.7:8080` */
  static async of(vegeta: string, application: JudgedApplication, address: string): Promise<Users> {
    const origin = `http://${address}`;
    const given = application.request;
    const request = typeof given === "function" ? await given(origin) : given;
    const folder = await mkdtemp(join(tmpdir(), "tradewind-users-"));
    await writeFile(join(folder, "targets"), `${request.method} ${origin}${request.path}\n`);
    await writeFile(join(folder, "body"), request.body ?? "");
    return new Users(vegeta, application, request, folder);
  }

  async remove(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }

  #attack(perSecond: number, seconds: number, output: string): string[] {
    const { body, headers = {} } = this.#request;
    return [
      "attack",
      `-targets=${join(this.#folder, "targets")}`,
      ...Object.entries(headers).map(([name, value]) => `-header=${name}: ${value}`),
      ...(body === undefined ? [] : [`-body=${join(this.#folder, "body")}`]),
      `-rate=${perSecond}/s`,
      `-duration=${seconds}s`,
      `-timeout=${this.#application.timeoutSeconds}s`,
      "-keepalive=false",
      "-max-body=0",
      `-output=${output}`,
    ];
  }

  /** Sends the load of the first phase, of which nothing is kept, until it is stopped. */
  calm(): { stop(): Promise<void> } {
    const perSecond = this.#application.phases[0]?.perSecond ?? 0;
    const child = spawn(this.#vegeta, this.#attack(perSecond, 0, "/dev/null"), { stdio: "ignore" });
    const exited = once(child, "exit");
    const end = (): void => void child.kill("SIGKILL");
    process.once("exit", end);
    return {
      stop: async () => {
        process.removeListener("exit", end);
        // Requests under way are waited for.
        child.kill("SIGINT");
        await exited;
      },
    };
  }

  /** Sends all phases, each in its time, and waits for the last answer. */
  async measure(signal: AbortSignal): Promise<Outcome[]> {
    const phases = place(this.#application.phases).map(async (phase, index) => {
      await delay(1_000 * phase.startSeconds, undefined, { signal });
      const file = join(this.#folder, `results-${index}`);
      await run(this.#vegeta, this.#attack(phase.perSecond, phase.seconds, file), {});
      const text = await run(this.#vegeta, ["encode", "--to=json", file], {});
      return parseResults(text, this.#application.timeoutSeconds, phase.isPeak);
    });
    return (await Promise.all(phases)).flat();
  }
}
