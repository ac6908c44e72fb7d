/** Ends a process group, or the process alone where it leads none; one that is gone already is no error. */
export function killGroup(pid: number): void {
  for (const target of [-pid, pid]) {
    try {
      process.kill(target, "SIGKILL");
    } catch {
      // Gone, or no group.
    }
  }
}
