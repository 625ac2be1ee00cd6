//! What a command prints and how it ends.

use std::time::{Duration, Instant};

use guardian_tools::bash::{BashError, Ending, Exit, OutputStream, run_bash, run_bash_blocking};

use super::world::{World, request};

#[test]
fn a_command_returns_its_streams_apart_and_its_exit_code() {
    let world = World::new();
    let result = world.run("echo out; echo err >&2; exit 3");
    assert_eq!(result.exit, Exit::Code(3));
    assert_eq!(
        (&*result.stdout.text, &*result.stderr.text),
        ("out\n", "err\n")
    );
    assert_eq!(result.error_code(), Some("TOOL_FAILED"));
    let json = result.to_json();
    assert_eq!(json["exitCode"], 3);
    assert_eq!(json["truncated"], false);
    assert_eq!(json["shellId"], "bash");
    assert_eq!(json.get("timedOut"), None);
}

#[test]
fn it_runs_in_the_workspace_without_input_and_without_a_terminal() {
    let world = World::new();
    let result = world.run("pwd; pwd -P; cat; [ -t 0 ] || [ -t 1 ] || [ -t 2 ] || echo none");
    let path = world.context.workspace_path.display();
    assert_eq!(result.stdout.text, format!("{path}\n{path}\nnone\n"));
}

#[test]
fn it_starts_in_the_judged_directory_also_when_its_name_leads_elsewhere_now() {
    let world = World::new();
    std::fs::write(world.context.workspace_path.join("here"), "").unwrap();
    let moved = world.path().join("moved");
    std::fs::rename(&world.context.workspace_path, &moved).unwrap();
    std::fs::create_dir(&world.context.workspace_path).unwrap();
    assert_eq!(world.run("ls").stdout.text, "here\n");
}

#[test]
fn a_command_that_looks_like_an_option_is_a_command() {
    let world = World::new();
    let result = world.run("-l");
    assert_eq!(result.exit, Exit::Code(127));
    assert!(
        result.stderr.text.contains("-l: command not found"),
        "{}",
        result.stderr.text
    );
}

#[test]
fn no_profile_and_no_rc_file_runs() {
    let world = World::new();
    for name in [".bashrc", ".bash_profile", ".profile"] {
        std::fs::write(world.path().join(name), "echo profile\n").unwrap();
    }
    assert_eq!(world.run("true").stdout.text, "");
}

#[test]
fn a_command_of_256_kib_runs_and_keeps_its_lines() {
    let world = World::new();
    let padding = "x".repeat(200 * 1024);
    let command = format!(": '{padding}ä'\ncat <<'END'\nline $LINENO\nEND\necho $LINENO $# $0");
    assert_eq!(world.run(&command).stdout.text, "line $LINENO\n5 0 bash\n");
    let too_long = "#".repeat(256 * 1024 + 1);
    let error = run_bash_blocking(&request(&too_long, Duration::from_secs(1)), &world.context);
    assert!(matches!(error, Err(BashError::InvalidArgument(_))));
}

#[test]
fn a_signal_is_named() {
    let result = World::new().run("kill -9 $$");
    assert_eq!(result.exit, Exit::Signal(9));
    assert_eq!(result.to_json()["signal"], "SIGKILL");
    assert_eq!(result.to_json()["exitCode"], 137);
}

#[test]
fn a_timeout_keeps_the_output_and_ends_who_ignores_term() {
    let world = World::new();
    let start = Instant::now();
    let result = world.run_for(
        "trap '' TERM; echo before; sh -c 'trap \"\" TERM; sleep 300'; echo after",
        Duration::from_millis(300),
    );
    assert_eq!(result.ending, Ending::TimedOut);
    assert_eq!(result.stdout.text, "before\n");
    assert_eq!(result.to_json()["timedOut"], true);
    assert_eq!(result.error_code(), Some("TOOL_TIMEOUT"));
    let elapsed = start.elapsed();
    assert!(elapsed >= Duration::from_millis(800), "{elapsed:?}");
    assert!(elapsed < Duration::from_secs(5), "{elapsed:?}");
}

#[test]
fn an_abort_keeps_the_output() {
    let world = World::new();
    let abort = world.context.abort.clone();
    let sink = world.sink.clone();
    let waiter = std::thread::spawn(move || {
        while sink.text(OutputStream::Stdout).is_empty() {
            std::thread::yield_now();
        }
        abort.abort();
    });
    let result = world.run("echo before; sleep 300");
    waiter.join().unwrap();
    assert_eq!(result.ending, Ending::Aborted);
    assert_eq!(result.stdout.text, "before\n");
    assert_eq!(result.error_code(), Some("TOOL_ABORTED"));
}

#[test]
fn an_abort_before_the_start_runs_nothing_to_its_end() {
    let world = World::new();
    world.context.abort.abort();
    let result = world.run("sleep 5; touch ran");
    assert_eq!(result.ending, Ending::Aborted);
    assert!(!world.context.workspace_path.join("ran").exists());
}

#[test]
fn a_background_child_that_holds_the_pipe_does_not_delay_the_result() {
    let world = World::new();
    let start = Instant::now();
    let result = world.run("sleep 90 & setsid sleep 91 & echo ready");
    assert!(
        start.elapsed() < Duration::from_secs(2),
        "{:?}",
        start.elapsed()
    );
    assert_eq!(result.stdout.text, "ready\n");
    // Whoever is still between fork and exec has another name.
    assert_eq!(result.background_killed.len(), 2);
    assert_eq!(result.survivors, []);
    assert!(
        result.to_json()["notice"]
            .as_str()
            .unwrap()
            .contains("background: true")
    );
}

#[test]
fn a_chatty_background_child_does_not_delay_the_result() {
    let start = Instant::now();
    let result = World::new().run("(while :; do echo tick; done) & sleep 0.2; echo fg");
    assert!(
        start.elapsed() < Duration::from_secs(3),
        "{:?}",
        start.elapsed()
    );
    assert_eq!(result.exit, Exit::Code(0));
}

#[test]
fn a_long_output_keeps_head_and_last_lines_and_the_exit_code() {
    let world = World::new();
    let result = world.run("seq 1 200000; echo SUMMARY; exit 3");
    assert_eq!(result.exit, Exit::Code(3));
    assert!(result.stdout.truncated);
    assert!(result.stdout.text.starts_with("1\n2\n3\n"));
    assert!(result.stdout.text.ends_with("200000\nSUMMARY\n"));
    assert!(result.stdout.text.len() <= 97 * 1024);
    assert!(result.stdout.text.lines().count() <= 4001);
    let spill = result.stdout.spill.clone().unwrap();
    assert_eq!(
        std::fs::read_to_string(&spill).unwrap().lines().count(),
        200_001
    );
    assert_eq!(
        result.to_json()["spill"]["stdout"],
        spill.display().to_string()
    );
}

#[test]
fn the_stream_is_the_output_in_whole_characters() {
    let world = World::new();
    let result = world.run("for i in $(seq 1 3000); do printf 'ä€🦀\\n'; done; printf 'e' >&2");
    assert_eq!(world.sink.text(OutputStream::Stdout), "ä€🦀\n".repeat(3000));
    assert_eq!(result.stdout.text, "ä€🦀\n".repeat(3000));
    assert_eq!(world.sink.text(OutputStream::Stderr), "e");
    let chunks = world.sink.0.lock().unwrap();
    assert!(
        chunks
            .iter()
            .enumerate()
            .all(|(at, (_, seq, _))| at as u64 == *seq)
    );
    assert!(chunks.iter().all(|(.., text)| text.len() <= 16 * 1024));
}

#[test]
fn a_missing_shell_is_its_own_error() {
    let mut world = World::new();
    world.context.shell.executable = world.path().join("no-bash");
    let error = run_bash_blocking(&request("true", Duration::from_secs(1)), &world.context);
    assert_eq!(error.unwrap_err().code(), "SHELL_NOT_FOUND");
}

#[test]
fn dropping_the_future_ends_the_command() {
    let world = World::new();
    let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
    let (request, context) = (
        request("echo up; sleep 300", Duration::from_secs(60)),
        world.context.clone(),
    );
    let task = runtime.spawn(run_bash(request, context));
    while world.sink.text(OutputStream::Stdout).is_empty() {
        std::thread::yield_now();
    }
    task.abort();
    // Waits for the blocking thread, which ends when nothing of the command is left.
    drop(runtime);
    assert!(world.context.abort.is_aborted());
}
