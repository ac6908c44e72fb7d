import type { SampleTime } from "../sampling/sample-time.ts";
import { NONE } from "../sampling/signal.ts";
import type { SignalId } from "../sampling/signal.ts";
import type { Reading } from "../read/schedule.ts";
import { COLUMN } from "./columns.ts";
import type { Container } from "./container.ts";
import type { Probe } from "./probes/probe.ts";

/** Told of the failures of a container's probes. */
export interface ProbeFailures {
  failed(reading: ProbeReading, error: unknown): void;
}

/** A container's probe as the schedule runs it. */
export class ProbeReading implements Reading {
  readonly container: Container;
  readonly probe: Probe;
  signalId: SignalId = NONE;
  /** Failures in a row. */
  failures = 0;
  readonly #owner: ProbeFailures;

  constructor(container: Container, probe: Probe, owner: ProbeFailures) {
    this.container = container;
    this.probe = probe;
    this.#owner = owner;
  }

  get tolerance(): number | undefined {
    return this.probe.tolerance;
  }

  read(time: SampleTime): number {
    const { container, probe } = this;
    const value = probe.read(time);
    this.failures = 0;
    container.changed = true;
    if (probe.name === "cpu" || probe.name === "process") {
      container.lastRead = time;
      container.values[COLUMN.lastSampleSeconds] = time.nowMs / 1e3;
    }
    return value;
  }

  /** Reads out of turn. */
  attempt(time: SampleTime): void {
    try {
      this.read(time);
    } catch (error) {
      this.failed(error);
    }
  }

  failed(error: unknown): void {
    this.failures += 1;
    this.#owner.failed(this, error);
  }
}
