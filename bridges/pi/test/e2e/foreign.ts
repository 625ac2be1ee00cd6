// Another extension with a tool of its own, which runs in pi.
import fs from "node:fs";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export default function (pi: ExtensionAPI) {
	pi.registerTool({
		name: "make_file",
		label: "make_file",
		description: "Makes a file",
		parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] } as any,
		async execute(_id, params: any, _signal, _update, ctx) {
			fs.writeFileSync(`${ctx.cwd}/${params.path}`, "made\n");
			return { content: [{ type: "text", text: `made ${params.path}` }], details: undefined };
		},
	});
}
