import type { Window } from "@tradewind/core/contract/window.ts";
import { isFailing, profileObservation, revisionOf } from "../decide/cost/learn/learn-services.ts";
import { surroundingsOf } from "../models/residual/inputs.ts";
import type { ServiceWindow } from "../models/residual/served-rows.ts";
import { storedWindows } from "./stored-windows.ts";
import type { StoredQuery } from "./stored-windows.ts";

/** A window as a residual needs it: a few numbers, however many containers the service has. */
export interface ReducedWindow extends ServiceWindow {
  readonly revision: string | undefined;
}

/** Undefined for a window that no profile takes in. */
export function reducedWindow(window: Window, youngSeconds: number): ReducedWindow | undefined {
  const observation = profileObservation(window, false, { youngSeconds });
  if (window.missing !== undefined || observation === undefined || isFailing(window)) return undefined;
  return { observation, surroundings: surroundingsOf(window), revision: revisionOf(window) };
}

/** A training is given at most so many windows: twelve hours and a half of 15 s. */
const MOST_WINDOWS = 3_000;
/** Containers of all these windows together, which are read in turn: a window of a large service is thousands of them. */
const MOST_CONTAINERS = 200_000;

/** The newest windows of one service, oldest first; deploys are marked. */
export async function windowsToTrainOn(query: StoredQuery, youngSeconds: number): Promise<ServiceWindow[]> {
  const pieces: ReducedWindow[][] = [];
  let [rows, containers] = [0, 0];
  for await (const { windows } of storedWindows(query)) {
    pieces.push(windows.flatMap((window) => reducedWindow(window, youngSeconds) ?? []));
    rows += windows.length;
    containers += windows.reduce((sum, window) => sum + window.containers.length, 0);
    if (rows >= MOST_WINDOWS || containers >= MOST_CONTAINERS) break;
  }
  let known: string | undefined;
  return pieces
    .reverse()
    .flat()
    .map(({ observation, revision = known, surroundings }) => {
      const isAfterDeploy = known !== undefined && revision !== known;
      known = revision;
      return { observation: { ...observation, isAfterDeploy }, surroundings };
    });
}
