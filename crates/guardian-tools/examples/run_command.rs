//! Runs one command the way an embedder without a policy does it:
//! `cargo run -p guardian-tools --example run_command -- 'ls; sleep 100 & echo done'`.

use std::sync::Arc;
use std::time::Duration;

use guardian_tools::bash::{
    Abort, BashContext, BashLimits, BashRequest, NoSink, SandboxRequest, Shell, ShellId,
    SupervisorProgram, run_bash_blocking,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let command = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "echo hello; exit 3".to_owned());
    let here = std::env::current_dir()?;
    let scratch = std::env::temp_dir().join(format!("guardian-example-{}", std::process::id()));
    let context = BashContext {
        workspace: Arc::new(std::fs::File::open(&here)?.into()),
        workspace_path: here,
        scratch,
        environment: Arc::new(std::env::vars_os().collect()),
        shell: Shell {
            id: ShellId::Bash,
            executable: "/bin/bash".into(),
        },
        abort: Abort::new()?,
        sink: Arc::new(NoSink),
        limits: BashLimits::standard(),
        supervisor: SupervisorProgram::find(None).ok().map(Arc::new),
        sandbox: SandboxRequest::off(),
    };
    let request = BashRequest {
        command,
        timeout: Some(Duration::from_secs(60)),
        tool_call_id: "example".to_owned(),
    };
    let result = run_bash_blocking(&request, &context)?;
    #[expect(
        clippy::print_stdout,
        reason = "showing the result is what the example is for"
    )]
    {
        println!("{:#}", result.to_json());
    }
    Ok(())
}
