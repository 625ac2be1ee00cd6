// What the bridge adds to a call: the same Read, once sent straight to guardian and once through the
// bridge's own steps, in turn. Prints medians in milliseconds. node test/overhead.ts [ROUNDS]
import fs from "node:fs";
import os from "node:os";
import path from "node:path";

import { Calls } from "../src/calls.ts";
import { HostProcess } from "../src/host.ts";
import { ownTools } from "../src/tools.ts";
import { Seals } from "../src/seal.ts";
import { Session } from "../src/session.ts";

const rounds = Number(process.argv[2] ?? 300);
const dir = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "overhead-")));
const cwd = path.join(dir, "project");
fs.mkdirSync(cwd);
fs.writeFileSync(path.join(cwd, "a.txt"), "line\n".repeat(400));
const env = { PATH: process.env.PATH, HOME: dir, GUARDIAN_DATA_DIR: path.join(dir, "data") };
const link = new HostProcess({ wanted: process.env.GUARDIAN_BIN, cwd, attended: false, env, notify: () => {}, died: (why) => console.error(why) });
const session = new Session(link, "overhead", cwd, () => {});
const ready = () => session.ready();
const seals = new Seals();
const shop = { calls: new Calls(link, ready), seals, ready, refused: () => {} };
const read = ownTools(cwd, () => shop).find((tool) => tool.name === "read");
await session.begin("measure");
const { sessionId, turnId } = await ready();
const straight: number[] = [], bridged: number[] = [];
for (let round = 0; round < rounds + 20; round += 1) {
  const begun = performance.now();
  await link.request("tools.execute", { sessionId, turnId: turnId!, toolCallId: `s${round}`, toolName: "Read", args: { path: `${cwd}/a.txt` } });
  const between = performance.now();
  const params = { path: "a.txt" };
  seals.put(`b${round}`, params);
  await read.execute(`b${round}`, params, undefined, undefined, { cwd });
  const done = performance.now();
  if (round < 20) continue;
  straight.push(between - begun);
  bridged.push(done - between);
}
const median = (values: number[]) => values.sort((a, b) => a - b)[values.length >> 1]!;
const [host, both] = [median(straight), median(bridged)];
console.log(`straight ${host.toFixed(3)} ms, through the bridge ${both.toFixed(3)} ms, bridge ${(both - host).toFixed(3)} ms (p50 of ${rounds})`);
await link.stop();
fs.rmSync(dir, { recursive: true });
