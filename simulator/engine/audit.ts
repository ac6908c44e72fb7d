import { PHASE } from "./call-pool.ts";
import type { Machine } from "./machine.ts";
import type { Processor } from "./processor.ts";
import type { Server } from "./server.ts";
import type { Traffic } from "./traffic.ts";

const TOLERANCE = 1e-6;

/**
 * What must hold at any moment, whatever the application: no container with work and quota stands still, no node gives more
 * CPUs than it has nor leaves one idle that is wanted, no container uses more than its quota in a period, and every call is
 * counted where it is.
 * @returns the first thing that does not hold; undefined when all does
 */
export function findProblem(
  traffic: Traffic,
  processors: readonly (Processor | undefined)[],
): string | undefined {
  const machines = new Set<Machine>();
  for (const processor of processors) {
    const problem = processor?.problem();
    if (problem !== undefined) return problem;
    if (processor !== undefined) machines.add(processor.machine);
  }
  for (const machine of machines) {
    const problem = machineProblem(machine);
    if (problem !== undefined) return problem;
  }
  return callProblem(traffic);
}

function machineProblem(machine: Machine): string | undefined {
  let used = 0;
  let wanted = 0;
  for (const each of machine.active) {
    used += each.speed * each.countedCores;
    wanted += each.wantedCores;
  }
  if (used > machine.cores + TOLERANCE) return `a node of ${machine.cores} CPUs gives ${used}`;
  const due = Math.min(wanted, machine.cores);
  return used < due - TOLERANCE ? `a node gives ${used} CPUs where ${due} could be used` : undefined;
}

function callProblem({ calls, servers }: Traffic): string | undefined {
  const inFlight = new Float64Array(servers.length);
  const onProcessor = new Float64Array(servers.length);
  let used = 0;
  for (let call = 0; call < calls.reached; call += 1) {
    const phase = calls.phase[call] ?? PHASE.free;
    if (phase === PHASE.free) continue;
    used += 1;
    const server = calls.server[call] ?? -1;
    if (server < 0 || phase < PHASE.inbound || phase >= PHASE.answering) continue;
    inFlight[server] = (inFlight[server] ?? 0) + 1;
    if (phase === PHASE.running) onProcessor[server] = (onProcessor[server] ?? 0) + 1;
  }
  if (used !== calls.used) return `${used} calls are under way, ${calls.used} are counted`;
  for (const server of servers) {
    const problem = serverProblem(server, inFlight[server.index] ?? 0, onProcessor[server.index] ?? 0);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function serverProblem(server: Server, inFlight: number, onProcessor: number): string | undefined {
  const name = `pod ${server.index}`;
  if (server.inFlight !== inFlight) return `${name} has ${inFlight} requests and counts ${server.inFlight}`;
  if (server.main.jobs !== onProcessor) return `${name} runs ${server.main.jobs} of ${onProcessor} requests`;
  if (server.busyThreads > server.threadLimit) return `${name} has more busy threads than threads`;
  if (server.waiting.length > 0 && server.busyThreads < server.threadLimit) {
    return `${name} lets requests wait while threads are free`;
  }
  for (const { busy, size, waiting } of server.pools) {
    if (busy < 0 || busy > size) return `${name} has ${busy} of ${size} connections`;
    if (waiting.length > 0 && busy < size) return `${name} lets calls wait while connections are free`;
  }
  return undefined;
}
