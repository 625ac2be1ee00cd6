// What other extensions' tools touch, as far as their schemas say it: guardian then judges the paths,
// commands and addresses in their calls. It adds facts and never proves that there are no others.
import type { DeclaredToolView } from "./wire.d.ts";

/** A tool as pi lists it. */
export interface ListedTool {
  name: string;
  parameters?: unknown;
}

const PATHS = /^(?:path|paths|file|files|file_?path|file_?name|dir|directory|folder|cwd|source|destination|target)$/i;
const COMMANDS = /^(?:command|cmd)$/i;
const URLS = /^(?:url|uri|endpoint)$/i;
/** Names that guardian takes. */
const NAME = /^[A-Za-z0-9_.:/-]{1,128}$/;

/** Declarations for the tools whose schema names something, by the name that guardian judges them by. */
export function declarations(tools: { tool: ListedTool; judgedAs: string }[]): DeclaredToolView[] {
  const found = new Map<string, DeclaredToolView>();
  for (const { tool, judgedAs } of tools) {
    // `plugin_` and `mcp_` names are guardian's to describe; case is no difference to it.
    if (!NAME.test(judgedAs) || /^(?:plugin|mcp)_/i.test(judgedAs) || found.has(judgedAs.toLowerCase())) continue;
    const facts = factsOf(tool);
    if (facts) found.set(judgedAs.toLowerCase(), { name: judgedAs, facts });
  }
  return [...found.values()];
}

function factsOf(tool: ListedTool): DeclaredToolView["facts"] | undefined {
  const schema = tool.parameters as { properties?: Record<string, any> } | undefined;
  const properties = Object.entries(schema?.properties ?? {});
  const texts = properties.filter(([, property]) => property?.type === "string").map(([name]) => name);
  const lists = properties.filter(([, property]) => property?.type === "array" && property.items?.type === "string").map(([name]) => name);
  const pointer = (name: string) => `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
  const one = (pattern: RegExp) => texts.filter((name) => pattern.test(name)).map(pointer)[0];
  // What a tool does to a path is not in its schema: the worst that it may be.
  const paths = [...texts, ...lists].filter((name) => PATHS.test(name)).map((name) => ({ pointer: pointer(name), access: "write" as const }));
  const command = /powershell|pwsh|python|sql/i.test(tool.name) ? undefined : one(COMMANDS);
  const url = one(URLS);
  if (!paths.length && !command && !url) return undefined;
  return { paths, ...(command ? { command } : {}), ...(url ? { url } : {}) };
}
