import { useEffect, useState } from "preact/hooks";

/** Why there is no answer, in words that say what to do. */
export class ApiProblem extends Error {
  /** @param {string} message @param {number} status @param {string} code */
  constructor(message, status, code) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** All pages ask at once when a plan comes, and the scaler lets few of them pass at a time. */
const MOST_ATTEMPTS = 6;

/**
 * @param {string} path below the page
 * @param {RequestInit} [init]
 * @returns {Promise<unknown>}
 * @throws {ApiProblem}
 */
export async function ask(path, init) {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await askOnce(path, init);
    } catch (error) {
      const isBusy = error instanceof ApiProblem && error.status === 429;
      if (!isBusy || attempt === MOST_ATTEMPTS) throw error;
      await new Promise((resolve) => setTimeout(resolve, 200 + 800 * Math.random()));
    }
  }
}

/** @param {string} path @param {RequestInit} [init] @returns {Promise<unknown>} */
async function askOnce(path, init) {
  let response;
  try {
    response = await fetch(path, init);
  } catch (error) {
    const aborted = error instanceof DOMException && error.name === "AbortError";
    throw aborted ? error : new ApiProblem("The scaler does not answer. Is its pod running?", 0, "no-answer");
  }
  if (response.ok) return response.json();
  /** @type {unknown} */
  const body = await response.json().catch(() => ({}));
  const { error } = /** @type {{ error?: { code: string, message: string } }} */ (body);
  const words = error?.message ?? `the scaler answered ${response.status}`;
  throw new ApiProblem(words, response.status, error?.code ?? "");
}

/** @param {string} path @param {unknown} body @param {AbortSignal} [signal] */
export const post = (path, body, signal) =>
  ask(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    ...(signal && { signal }),
  });

/**
 * An answer that is asked for again whenever `version` changes; the last one stays until the next is there.
 * @param {string | undefined} path undefined: nothing is asked
 * @param {unknown} [version]
 * @returns {{ answer: unknown, problem: ApiProblem | undefined }}
 */
export function useAsk(path, version) {
  const [state, setState] = useState(
    /** @type {{ path?: string, answer?: unknown, problem?: ApiProblem }} */ ({}),
  );
  useEffect(() => {
    if (path === undefined) return undefined;
    const leaving = new AbortController();
    const put = async () => {
      try {
        const answer = await ask(path, { signal: leaving.signal });
        if (!leaving.signal.aborted) setState({ path, answer });
      } catch (error) {
        if (leaving.signal.aborted) return;
        const problem = error instanceof ApiProblem ? error : new ApiProblem(String(error), 0, "");
        setState((last) => ({ ...(last.path === path && last), path, problem }));
      }
    };
    void put();
    return () => leaving.abort();
  }, [path, version]);
  const isOfPath = state.path === path;
  return { answer: isOfPath ? state.answer : undefined, problem: isOfPath ? state.problem : undefined };
}
