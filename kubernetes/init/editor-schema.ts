import { schemaText } from "../crd/application-schema.ts";
import type { InitFile } from "./read-back.ts";

export const APPLICATION_FILE = "application.yaml";
/** The schema beside it. Not *.json: kubectl apply -f FOLDER would take that for an object. */
export const SCHEMA_FILE = "application.schema";

/** Says to editors with the YAML language server (VS Code, Neovim, JetBrains) what a file is checked against. */
const SCHEMA_LINE = `# yaml-language-server: $schema=${SCHEMA_FILE}\n`;

/** Files for a folder, in which editors find the schema of the Application. */
export const withEditorSchema = (
  files: readonly InitFile[],
): { readonly name: string; readonly text: string }[] => [
  ...files.map(({ name, yaml }) => ({
    name,
    text: name === APPLICATION_FILE ? SCHEMA_LINE + yaml : yaml,
  })),
  { name: SCHEMA_FILE, text: schemaText() },
];
