// Ends guardian itself, as a crash would: KILL_WHEN is "before" a call or "during" it.
import fs from "node:fs";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export default function (pi: ExtensionAPI) {
	let done = false;
	const kill = () => {
		if (done) return;
		done = true;
		// the child of this very process that is `guardian serve`
		const children = fs.readFileSync(`/proc/self/task/${process.pid}/children`, "utf8").trim().split(" ");
		const host = children.find((pid) => fs.readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("guardian\0serve"));
		if (!host) throw new Error("there is no guardian to end");
		process.kill(Number(host), "SIGKILL");
	};
	if (process.env.KILL_WHEN === "before") pi.on("tool_call", async () => {
		kill();
		await new Promise((resolve) => setTimeout(resolve, 300));
	});
	if (process.env.KILL_WHEN === "during") pi.on("tool_execution_update", (event) => {
		if (JSON.stringify(event.partialResult).includes("started")) kill();
	});
}
