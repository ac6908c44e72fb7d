/** Sections of the configuration file beside the application's own fields. */
export const SECTION_NAMES = ["sources", "store"] as const;
