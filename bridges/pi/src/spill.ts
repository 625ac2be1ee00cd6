// pi keeps output that it cut in the system's temporary folder, where reading it would be asked
// about. It is moved to the session's scratch directory, which the model may read.
import fs from "node:fs";
import path from "node:path";

const NAMED = /Full output: (\/\S*\/pi-bash-[0-9a-z-]+\.log)/i;

/** `text` with the place where the output is now. What cannot be moved stays where it is. */
export function moveSpill(text: string, scratch: string): { text: string; from?: string; to?: string } {
  const from = NAMED.exec(text)?.[1];
  if (!from) return { text };
  try {
    const directory = path.join(scratch, "tool-output");
    fs.mkdirSync(directory, { recursive: true, mode: 0o700 });
    // A link in its place would lead the copy elsewhere.
    if (fs.realpathSync(directory) !== directory) return { text };
    const to = path.join(directory, path.basename(from));
    fs.copyFileSync(from, to, fs.constants.COPYFILE_EXCL);
    fs.chmodSync(to, 0o600);
    fs.rmSync(from);
    return { text: text.replaceAll(from, to), from, to };
  } catch {
    return { text };
  }
}
