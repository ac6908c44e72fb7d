import { InvalidArgumentError } from "commander";
import type { Command } from "commander";
import { z } from "zod";
import { parseWith } from "../../values/config.ts";
import { TradewindError } from "../../values/errors.ts";
import { Problem } from "../problem.ts";
import { EndpointClient } from "./client.ts";
import type { Call } from "./client.ts";
import { EndpointError } from "./error.ts";
import { EndpointOptions } from "./options.ts";

/** What `tradewind status` reads of 5,000 services, several times over. */
const MAX_BYTES = 256 * 2 ** 20;

/** How a command asks one of our own processes. */
export interface ProcessAccess {
  /** How long one call may take. */
  readonly timeoutSeconds: number;
  /** File with a token that the process takes. */
  readonly tokenFile?: string | undefined;
  /** File with the authority of its certificate, PEM. */
  readonly caFile?: string | undefined;
  /** Name in its certificate, where the URL has another one, as through a forwarded port. */
  readonly serverName?: string | undefined;
}

/** One of our own processes. */
export interface OwnProcess {
  /** What people call it. */
  readonly name: "agent" | "predictor" | "scaler";
  readonly url: string;
  /** The flag that gave the address; absent where nobody gave one, and it was started by the one who asks. */
  readonly flag?: string;
}

/** What commander gives for the flags of {@link addAccessFlags}. */
export interface AccessFlags extends Omit<ProcessAccess, "serverName" | "timeoutSeconds"> {
  readonly timeout: number;
  readonly tlsServerName?: string;
}

/** Adds the flags that say how processes are asked. @param whose who asks for the token, and has the certificate */
export function addAccessFlags(command: Command, whose: string): Command {
  return command
    .option("--token-file <file>", `token of ${whose}`)
    .option("--ca-file <file>", `authority that signed the certificate of ${whose}, PEM`)
    .option("--tls-server-name <name>", "name in that certificate, where the URL has another one")
    .option("--timeout <seconds>", "how long one answer may take", seconds, 5);
}

function seconds(text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && !Number.isNaN(value)) return value;
  throw new InvalidArgumentError(`'${text}' is not a number of seconds`);
}

export const accessOf = ({ caFile, timeout, tlsServerName, tokenFile }: AccessFlags): ProcessAccess => ({
  timeoutSeconds: timeout,
  tokenFile,
  caFile,
  serverName: tlsServerName,
});

/** A client for one of our own processes, whose errors name the flags to change. @throws TradewindError `invalid-input` */
export function clientOf({ flag, name, url }: OwnProcess, access: ProcessAccess): EndpointClient {
  const { caFile, serverName, timeoutSeconds, tokenFile } = access;
  const tls = { ...(caFile !== undefined && { caFile }), ...(serverName !== undefined && { serverName }) };
  const options = parseWith(
    EndpointOptions,
    {
      url,
      timeoutSeconds,
      maxAttempts: 1,
      maxResponseBytes: MAX_BYTES,
      ...(tokenFile !== undefined && { bearerTokenFile: tokenFile }),
      ...(Object.keys(tls).length > 0 && { tls }),
    },
    `${flag ?? name} ${url}, or a flag beside it,`,
  );
  const remedies = {
    unreachable:
      flag === undefined
        ? "it has ended, or is being started again"
        : `start \`tradewind ${name}\`, or correct ${flag}`,
    refused: "give --token-file a token that it takes",
    tls: "give --ca-file the authority of its certificate, and a URL with a name that is in it, or that name as --tls-server-name; http:// without --http-tls-cert",
    timeout: "raise --timeout, or see whether it is short of CPU",
    credentials: "correct --token-file or --ca-file, or give this user the right to read it",
  };
  return new EndpointClient(name, "tradewind", options, { remedies });
}

/**
 * Asks one of our own processes for a person at a terminal.
 * @throws TradewindError what happened and what to do about it, on one line
 */
export async function asking<Result>(
  asked: OwnProcess,
  access: ProcessAccess,
  use: (client: EndpointClient) => Promise<Result>,
): Promise<Result> {
  const client = clientOf(asked, access);
  try {
    return await use(client);
  } catch (error) {
    if (!(error instanceof EndpointError)) throw error;
    const { cause, code, message, remedy } = error;
    throw new TradewindError(code, `${message}; ${remedy}`, { cause });
  } finally {
    await client.close();
  }
}

/** With these a process says why there is nothing to show. */
const NOTHING_TO_SHOW = [400, 404, 503];
/** The command line is to be changed. */
const WRONG_QUESTIONS = new Set(["bad-request", "several-applications"]);

/**
 * Asks for what may not be there yet.
 * @param absent code of the error that has the reason which the process gave
 * @throws TradewindError as {@link asking}, with that code, and `invalid-input` where the process asks for another question
 */
export async function askFor<Answer>(
  asked: OwnProcess,
  access: ProcessAccess,
  call: Call,
  { absent, schema }: { readonly absent: string; readonly schema: z.ZodType<Answer> },
): Promise<Answer> {
  const either = z.union([schema.transform((shown) => ({ shown })), Problem]);
  return asking(asked, access, async (client) => {
    const answer = await client.json({ ...call, acceptStatuses: NOTHING_TO_SHOW }, either);
    if ("shown" in answer) return answer.shown;
    const isWrong = WRONG_QUESTIONS.has(answer.error.code);
    throw new TradewindError(
      isWrong ? "invalid-input" : absent,
      `the ${asked.name} at ${asked.url}: ${answer.error.message}`,
    );
  });
}
