// guardian's results as pi's tools show them. Pure: no pi, no process.
import path from "node:path";

type Content = Record<string, any>;
export interface Text {
  type: "text";
  text: string;
}
export interface Image {
  type: "image";
  data: string;
  mimeType: string;
}

const notice = (content: Content): string => (typeof content.notice === "string" && content.notice ? `\n\n[${content.notice}]` : "");

/** `read`: the text with what to do for more, or an image. */
export function readResult(content: Content): (Text | Image)[] {
  if (typeof content.data === "string" && typeof content.mimeType === "string") {
    return [
      { type: "text", text: `Read image file [${content.mimeType}]` },
      { type: "image", data: content.data, mimeType: content.mimeType },
    ];
  }
  if (typeof content.mimeType === "string") {
    const size = content.width ? ` ${content.width}x${content.height}` : "";
    return [{ type: "text", text: `Image file [${content.mimeType}${size}]${notice(content)}` }];
  }
  return [{ type: "text", text: `${content.content ?? ""}${notice(content)}` }];
}

export interface EditDetails {
  diff: string;
  patch: string;
  firstChangedLine?: number;
}

/** `edit`: what pi's renderer draws, from the hunks of guardian's review. */
export function editDetails(shown: string, content: Content): EditDetails | undefined {
  const hunks: { header: string; lines: { type: string; text: string }[] }[] = content.review?.hunks ?? [];
  if (!hunks.length) return undefined;
  const spans = hunks.map((hunk) => /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(hunk.header));
  const last = Math.max(1, ...spans.flatMap((s) => (s ? [Number(s[1]) + Number(s[2] ?? 1), Number(s[3]) + Number(s[4] ?? 1)] : [])));
  const width = String(last).length;
  const display: string[] = [];
  const patch = [`--- ${shown}`, `+++ ${shown}`];
  let first: number | undefined;
  hunks.forEach((hunk, index) => {
    let old = Number(spans[index]?.[1] ?? 1);
    let now = Number(spans[index]?.[3] ?? 1);
    if (index > 0) display.push(` ${"".padStart(width)} ...`);
    patch.push(hunk.header);
    for (const line of hunk.lines) {
      const number = String(line.type === "del" ? old : line.type === "add" ? now : old).padStart(width);
      const sign = line.type === "del" ? "-" : line.type === "add" ? "+" : " ";
      display.push(`${sign}${number} ${line.text}`);
      patch.push(`${sign}${line.text}`);
      if (line.type !== "context") first ??= now;
      if (line.type !== "add") old += 1;
      if (line.type !== "del") now += 1;
    }
  });
  return { diff: display.join("\n"), patch: `${patch.join("\n")}\n`, ...(first === undefined ? {} : { firstChangedLine: first }) };
}

/** A result's path relative to where the search started, as pi shows it. */
function shownFrom(start: string, workspace: string, found: string, isFile: boolean): string {
  if (isFile) return path.basename(found);
  const relative = path.relative(start, path.isAbsolute(found) ? found : path.join(workspace, found));
  return relative && !relative.startsWith("..") ? relative : found;
}

/** `grep`: `path:line: text`, context as `path-line- text`. */
export function grepText(content: Content, start: string, workspace: string): string {
  const matches: any[] = content.matches ?? [];
  if (!matches.length) return `No matches found${notice(content)}`;
  const isFile = matches.every((match) => (path.isAbsolute(match.path) ? match.path : path.join(workspace, match.path)) === start);
  const lines: string[] = [];
  const written = new Set<string>();
  const matched = new Set(matches.map((match) => `${match.path}\0${match.line}`));
  const push = (match: any, line: number, text: string, mark: ":" | "-") => {
    const key = `${match.path}\0${line}`;
    if (written.has(key) || (mark === "-" && matched.has(key))) return;
    written.add(key);
    lines.push(`${shownFrom(start, workspace, match.path, isFile)}${mark}${line}${mark} ${text}`);
  };
  for (const match of matches) {
    const before: string[] = match.before ?? [];
    before.forEach((text, index) => push(match, match.line - before.length + index, text, "-"));
    push(match, match.line, match.text, ":");
    (match.after ?? []).forEach((text: string, index: number) => push(match, match.line + 1 + index, text, "-"));
  }
  return `${lines.join("\n")}${notice(content)}`;
}

/** `find`: one path a line. */
export function findText(content: Content, start: string, workspace: string): string {
  const matches: string[] = content.matches ?? [];
  if (!matches.length) return `No files found matching pattern${notice(content)}`;
  return `${matches.map((match) => shownFrom(start, workspace, match, false)).join("\n")}${notice(content)}`;
}

/** Seconds for guardian's Bash, from pi's `timeout`, which may be missing, fractional or larger. */
export function bashTimeout(seconds: number | undefined): { timeout: number; timeoutMs?: number } {
  if (seconds === undefined) return { timeout: LONGEST_TIMEOUT };
  if (!Number.isFinite(seconds) || seconds <= 0) throw new Error("Invalid timeout: must be a positive number of seconds");
  const timeout = Math.min(LONGEST_TIMEOUT, Math.ceil(seconds));
  return seconds < timeout ? { timeout, timeoutMs: Math.max(100, Math.round(seconds * 1000)) } : { timeout };
}
/** Longest time of a command, in seconds (guardian's limit). pi itself has none. */
export const LONGEST_TIMEOUT = 300;
