// Where the executable `guardian` is.
import fs from "node:fs";
import path from "node:path";

/** guardian cannot be started; the message says what to do. Nothing runs without it. */
export class GuardianMissing extends Error {
  override name = "GuardianMissing";
}

const WHAT_TO_DO =
  "Install it (`cargo install --path crates/guardian-cli`) or set GUARDIAN_BIN to its path, then run `/guardian restart`. " +
  "Until then every tool is blocked.";

const isExecutable = (file: string): boolean => {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
};

/**
 * The executable: `wanted` (flag or GUARDIAN_BIN), else beside this package, else on PATH. Entries of
 * PATH that are relative or lie in the project are passed over: a repository must not bring its own.
 */
export function findGuardian(wanted: string | undefined, cwd: string, env: NodeJS.ProcessEnv = process.env): string {
  if (wanted) {
    const file = path.resolve(wanted);
    if (isExecutable(file)) return file;
    throw new GuardianMissing(`guardian is not at ${wanted}. ${WHAT_TO_DO}`);
  }
  const project = fs.existsSync(cwd) ? fs.realpathSync(cwd) : cwd;
  const inProject = (file: string) => {
    const real = fs.realpathSync(file);
    return real === project || real.startsWith(project + path.sep);
  };
  const beside = path.join(import.meta.dirname, "..", "bin", "guardian");
  const onPath = (env.PATH ?? "")
    .split(path.delimiter)
    .filter((directory) => path.isAbsolute(directory))
    .map((directory) => path.join(directory, "guardian"));
  const found = [beside, ...onPath].find((file) => isExecutable(file) && !inProject(file));
  if (found) return found;
  throw new GuardianMissing(`guardian was not found beside the bridge or on PATH. ${WHAT_TO_DO}`);
}
