/** Name of the embedded store in the state directory. */
export const HISTORY_FILE = "history.sqlite";
