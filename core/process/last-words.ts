/** A line of the log (level `fatal`) for a process that is about to end, made without the logger, which may be what hangs. */
export const lastWords = (processName: string, msg: string): string =>
  `${JSON.stringify({ level: 60, time: new Date().toISOString(), process: processName, msg })}\n`;
