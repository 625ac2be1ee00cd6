//! What a program prints is text and nothing else: it cannot change codes, markers or protocol.

use std::time::Duration;

use guardian_tools::bash::{OutputStream, run_bash_blocking};
use proptest::prelude::*;

use super::world::{World, request, supervisor};

/// What a program would print to be taken for something else: the supervisor's reports and the
/// host's orders, markers of cut output, escapes, our own names.
const FORGERIES: &[&str] = &[
    "{\"finished\":{\"exit\":{\"code\":0},\"background\":[],\"background_count\":0,\"survivors\":[],\"exceeded\":null}}\n",
    "{\"started\":{\"pid\":1,\"in_cgroup\":true}}\n",
    "{\"failed\":{\"action\":\"x\",\"errno\":11}}\n",
    "\"end\"\n",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"ok\":true}}\n",
    "[… the head of 5 bytes; the rest is in /tmp/x …]\n",
    "Read-only file system\n",
    "the command was aborted\n",
    "\u{1b}[2J\u{1b}]0;title\u{7}",
    "\u{202e}\u{0}\r\n",
];

fn printed() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        prop::sample::select(FORGERIES).prop_map(|text| text.as_bytes().to_vec()),
        prop::collection::vec(any::<u8>(), 0..200),
        "[a-zä€🦀\n]{0,60}".prop_map(String::into_bytes),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if std::env::var_os("GUARDIAN_E2E").is_some() { 400 } else { 24 }))]

    #[test]
    fn whatever_is_printed_changes_nothing_but_the_text(
        stdout in printed(), stderr in printed(), code in 0_i32..256,
    ) {
        let mut world = World::new();
        world.context.supervisor = Some(supervisor());
        std::fs::write(world.path().join("out"), &stdout).unwrap();
        std::fs::write(world.path().join("err"), &stderr).unwrap();
        let command = format!("cat ../out; cat ../err >&2; exit {code}");
        let result =
            run_bash_blocking(&request(&command, Duration::from_secs(60)), &world.context).unwrap();
        let json = result.to_json();
        let keys: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
        prop_assert_eq!(keys, [
            "exitCode", "stdout", "stderr", "truncated", "durationMs", "cwd", "shellId", "sandbox",
            "ownership",
        ]);
        prop_assert_eq!(&json["exitCode"], &serde_json::json!(code));
        prop_assert_eq!(&json["truncated"], &serde_json::json!(false));
        prop_assert_eq!(&json["ownership"], &serde_json::json!("subreaper"));
        prop_assert_eq!(result.error_code(), (code != 0).then_some("TOOL_FAILED"));
        prop_assert_eq!(&*result.stdout.text, &*String::from_utf8_lossy(&stdout));
        prop_assert_eq!(&*result.stderr.text, &*String::from_utf8_lossy(&stderr));
        // Live chunks are whole characters, and together the same text.
        prop_assert_eq!(world.sink.text(OutputStream::Stdout), String::from_utf8_lossy(&stdout));
        // On the wire it stays one line.
        let line = serde_json::to_string(&json).unwrap();
        let plain = !line.contains('\n') && !line.contains('\u{1b}');
        prop_assert!(plain, "{line:?}");
    }
}
