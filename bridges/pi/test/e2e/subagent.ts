// The usual pattern of a subagent: a tool that starts another pi in json mode.
import { spawn } from "node:child_process";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export default function (pi: ExtensionAPI) {
	if (process.env.IS_CHILD) return;
	pi.registerTool({
		name: "subagent",
		label: "subagent",
		description: "Starts a subagent",
		parameters: { type: "object", properties: { task: { type: "string" } }, required: ["task"] } as any,
		async execute(_id, params: any, _signal, _update, ctx) {
			const [command, ...args] = JSON.parse(process.env.CHILD_ARGV!) as string[];
			const child = spawn(command!, [...args, params.task], { cwd: ctx.cwd, stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, IS_CHILD: "1" } });
			let text = "";
			child.stdout.setEncoding("utf8").on("data", (d) => (text += d));
			await new Promise((resolve) => child.on("close", resolve));
			const results = text.split("\n").filter((line) => line.includes('"tool_execution_end"'));
			return { content: [{ type: "text", text: results.join("\n") || "nothing" }], details: undefined };
		},
	});
}
