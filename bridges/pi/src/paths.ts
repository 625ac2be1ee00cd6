// Paths as pi's own tools read them, so that the path that is judged is the one pi means.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const UNICODE_SPACES = /[\u00A0\u2000-\u200A\u202F\u205F\u3000]/g;

/** The absolute path that pi's file tools mean by `written`. */
export function resolvePath(written: string, cwd: string): string {
  let text = written.replace(UNICODE_SPACES, " ");
  if (text.startsWith("@")) text = text.slice(1);
  if (text === "~") text = os.homedir();
  else if (text.startsWith("~/")) text = path.join(os.homedir(), text.slice(2));
  else if (text.startsWith("file://")) text = fileURLToPath(text);
  return absolute(text, cwd);
}

/**
 * Joins without taking `..` apart: after a link `..` means what the kernel means, which guardian
 * works out.
 */
function absolute(text: string, cwd: string): string {
  if (path.isAbsolute(text)) return text;
  return text === "" || text === "." ? cwd : `${cwd}/${text.replace(/^(?:\.\/+)+/, "")}`;
}

/** Other spellings that pi's `read` tries when the plain file is missing, in its order. */
export function otherSpellings(resolved: string): string[] {
  const narrow = resolved.replace(/ (AM|PM)\./gi, "\u202F$1.");
  const decomposed = resolved.normalize("NFD");
  const curly = (text: string) => text.replace(/'/g, "\u2019");
  return [...new Set([narrow, decomposed, curly(resolved), curly(decomposed)])].filter((one) => one !== resolved);
}

/** A directory whose names may be listed once `canonical` was judged: exactly that one, or an error. */
export function listDirectory(canonical: string): fs.Dirent[] {
  const flags = fs.constants.O_RDONLY | fs.constants.O_DIRECTORY | fs.constants.O_NOFOLLOW;
  const handle = fs.openSync(canonical, flags);
  try {
    const own = `/proc/self/fd/${handle}`;
    if (!fs.existsSync(own)) return fs.readdirSync(canonical, { withFileTypes: true });
    if (fs.readlinkSync(own) !== canonical) throw new Error("the directory was replaced while it was being listed");
    return fs.readdirSync(own, { withFileTypes: true });
  } finally {
    fs.closeSync(handle);
  }
}
