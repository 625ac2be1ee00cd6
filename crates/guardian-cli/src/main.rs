//! `guardian`: the permission system and tool host of coding agents, from the shell.
//!
//! Each command is one file in `commands/`; it returns an [`exit::ExitCode`] whose values are
//! documented in `exit.rs` and in `guardian --help`.

mod arguments;
mod commands;
mod exit;
mod inside_call;
mod output;
mod places;
mod policy_errors;
mod policy_notes;
mod progress;
mod terminal;
mod transcripts;

use guardian_host::ErrorCode;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::arguments::{Arguments, Command};
use crate::exit::ExitCode;

fn main() -> std::process::ExitCode {
    let arguments = match Arguments::of_process() {
        Ok(arguments) => arguments,
        // Help and version are guardian's own text.
        Err(error) if !error.use_stderr() => error.exit(),
        Err(error) => {
            output::text_to_stderr(&error.to_string());
            return ExitCode::Usage.into();
        }
    };
    if let Some(refusal) = inside_call::refusal(&arguments.command) {
        output::complain(&refusal);
        return ExitCode::Denied.into();
    }
    start_log(&arguments);
    let code = match arguments.command {
        Command::Serve(options) => commands::serve::run(&options),
        Command::Exec(options) => commands::exec::run(&options),
        Command::Check(options) => commands::check::run(&options),
        Command::Explain(options) => commands::explain::run(&options),
        Command::Policy(options) => commands::policy::run(&options),
        Command::Replay(options) => commands::replay::run(&options),
        Command::Trust(options) => commands::trust::run(&options),
        Command::Tools(options) => commands::tools::run(&options),
        Command::Sessions(options) => commands::sessions::run(&options),
        Command::Plans(options) => commands::plans::run(&options),
        Command::Audit(options) => commands::audit::run(&options),
        Command::Review(options) => commands::review::run(&options),
        Command::Doctor(options) => commands::doctor::run(&options),
    };
    code.unwrap_or_else(|error| {
        output::complain(&error);
        match error.code {
            // What the command line names is not there, or is no name.
            ErrorCode::NotFound | ErrorCode::SessionNotFound | ErrorCode::InvalidParams => {
                ExitCode::Usage
            }
            _ => ExitCode::Broken,
        }
    })
    .into()
}

/// Logs to stderr, never to stdout; quiet unless `GUARDIAN_LOG` says otherwise. What the libraries
/// say is never logged, at no level: they do not know what of a call's arguments is nobody's business
/// (the walker tells every pattern that it compiles).
fn start_log(arguments: &Arguments) {
    let json = arguments.log_json;
    // The other commands say themselves what is wrong with a file.
    let level = match arguments.command {
        Command::Serve(_) | Command::Exec(_) => tracing::Level::WARN,
        _ => tracing::Level::ERROR,
    };
    // The filter's own language costs more at start than a whole check; most never use it.
    let filter = std::env::var_os("GUARDIAN_LOG")
        .and_then(|_| tracing_subscriber::EnvFilter::try_from_env("GUARDIAN_LOG").ok());
    let log = tracing_subscriber::fmt()
        .with_ansi(false)
        .with_writer(move || output::Log { json });
    let ours = filter_fn(|metadata| is_our_target(metadata.target()));
    match (filter, json) {
        (Some(filter), true) => log
            .with_env_filter(filter)
            .json()
            .finish()
            .with(ours)
            .init(),
        (Some(filter), false) => log.with_env_filter(filter).finish().with(ours).init(),
        (None, true) => log.with_max_level(level).json().finish().with(ours).init(),
        (None, false) => log.with_max_level(level).finish().with(ours).init(),
    }
}

/// Is this the name of one of guardian's own modules?
fn is_our_target(target: &str) -> bool {
    let name = target.split("::").next().unwrap_or_default();
    name == "guardian" || name.starts_with("guardian_")
}
