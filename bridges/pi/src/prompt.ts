// What the model is told about guardian. Not the permission mode, and nothing that differs between
// "asked and allowed" and "allowed".

/** The section that is added to the system prompt. */
export const guidance = (scratch: string): string => `

# Tool permissions

guardian, the user's permission system, judges and runs your tool calls.
- Temporary files go to your scratch directory, by absolute path: ${scratch}
- Search with read, grep, find and ls before you search with the shell. Make small, plain commands: what cannot be read in a command has to be asked about.
- Change files with edit and write. After a failed edit or patch: one fresh read and one new change; do not mend old hunks by hand. If that fails too, stop and report.
- When a call is denied, the result says by whom and why. Do not try to reach the same by other means; do what is allowed, or say what you need.`;
