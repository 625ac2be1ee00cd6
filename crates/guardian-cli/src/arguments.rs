//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use guardian_host::HostError;
use guardian_host::rules::{OperatingMode, PermissionMode, SessionPermissionMode};

use crate::exit::EXIT_CODES;

/// The permission system and tool host of coding agents.
#[derive(Debug, Parser)]
#[command(name = "guardian", version, after_help = EXIT_CODES, propagate_version = true)]
pub(crate) struct Arguments {
    /// Write log lines as JSON (they go to stderr; `GUARDIAN_LOG` sets the level).
    #[arg(long, global = true)]
    pub(crate) log_json: bool,
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve one client over stdin and stdout (NDJSON, JSON-RPC 2.0).
    Serve(ServeOptions),
    /// Judge one tool call and run it, asking on the terminal where policy asks.
    Exec(ExecOptions),
    /// Say what would be decided about a call, without running anything.
    Check(CheckOptions),
    /// Say why a call is decided as it is, or what a rule says.
    Explain(ExplainOptions),
    /// Check, test, format, show and suggest policy; accept what waits.
    Policy(PolicyOptions),
    /// Decide the calls of recorded sessions (pi, Claude Code, Codex) by a policy, or by two.
    Replay(ReplayOptions),
    /// Let a workspace's policy file loosen, bound to its very bytes.
    Trust(TrustOptions),
    /// List the tools.
    Tools(JsonOption),
    /// List the sessions.
    Sessions(StoreOptions),
    /// List proposed plans and goals that wait or are being carried out.
    Plans(PlansOptions),
    /// Show or verify the record of what happened.
    Audit(AuditOptions),
    /// Show what the agent changed in files, and take it back.
    Review(ReviewOptions),
    /// Look at this machine: data directory, configuration, shell, record.
    Doctor(StoreOptions),
}

impl Arguments {
    /// Parses the command line of this process.
    ///
    /// # Errors
    /// Help, version, or what is wrong with it.
    pub(crate) fn of_process() -> Result<Self, clap::Error> {
        Self::of(&std::env::args_os().collect::<Vec<_>>())
    }

    /// `check` is called by hooks, in front of every call of an agent: describing all the other
    /// commands to the parser would cost half of what judging costs.
    fn of(line: &[OsString]) -> Result<Self, clap::Error> {
        if line.get(1).is_some_and(|word| word == "check")
            && let Ok(alone) = CheckAlone::try_parse_from(line)
        {
            let OnlyCheck::Check(options) = alone.command;
            return Ok(Self {
                log_json: alone.log_json,
                command: Command::Check(options),
            });
        }
        // Also whatever is wrong with a `check`, so that its message is that of the whole.
        Self::try_parse_from(line)
    }
}

/// [`Arguments`] with one command.
#[derive(Debug, Parser)]
struct CheckAlone {
    #[arg(long, global = true)]
    log_json: bool,
    #[command(subcommand)]
    command: OnlyCheck,
}

#[derive(Debug, Subcommand)]
#[command(disable_help_subcommand = true)]
enum OnlyCheck {
    Check(CheckOptions),
}

/// Where guardian keeps its data.
#[derive(Debug, Clone, Args)]
pub(crate) struct DataOption {
    /// Data directory (default: `GUARDIAN_DATA_DIR`, else `$XDG_DATA_HOME/guardian`).
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) data_dir: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct JsonOption {
    /// Print JSON.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ServeOptions {
    #[command(flatten)]
    pub(crate) data: DataOption,
}

#[derive(Debug, Args)]
pub(crate) struct StoreOptions {
    #[command(flatten)]
    pub(crate) data: DataOption,
    #[command(flatten)]
    pub(crate) json: JsonOption,
}

#[derive(Debug, Args)]
pub(crate) struct PlansOptions {
    /// Only of this session.
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Those that are over too.
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) store: StoreOptions,
}

#[derive(Debug, Args)]
pub(crate) struct ExecOptions {
    /// Tool, for example `Bash` or `Read`.
    pub(crate) tool: String,
    /// Its arguments as a JSON object, for example '{"command": "ls"}'.
    pub(crate) args: String,
    /// Project directory (default: the current one).
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// Operating mode.
    #[arg(long, value_enum, default_value_t = ModeOption::Agent)]
    pub(crate) mode: ModeOption,
    /// Permission mode.
    #[arg(long, value_enum, default_value_t = PermissionModeOption::Inherit)]
    pub(crate) permission_mode: PermissionModeOption,
    /// Answer the card with allow-once. Denials stay denials.
    #[arg(long)]
    pub(crate) yes_once: bool,
    #[command(flatten)]
    pub(crate) store: StoreOptions,
}

#[derive(Debug, Args)]
pub(crate) struct CheckOptions {
    /// Tool; leave it out with `--bash` or `--batch`.
    #[arg(requires = "args")]
    pub(crate) tool: Option<String>,
    /// Its arguments as a JSON object.
    pub(crate) args: Option<String>,
    /// Check a Bash command.
    #[arg(long, value_name = "COMMAND", conflicts_with = "tool")]
    pub(crate) bash: Option<String>,
    /// Check many calls: NDJSON `{id?, tool, args}` from a file, or `-` for stdin.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["tool", "bash"])]
    pub(crate) batch: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) place: PlaceOptions,
    /// Nobody is there to ask: an ask is a denial.
    #[arg(long)]
    pub(crate) headless: bool,
    /// Write no audit row.
    #[arg(long)]
    pub(crate) no_audit: bool,
    #[command(flatten)]
    pub(crate) json: JsonOption,
}

/// Where and by which policy a call is decided that is not run.
#[derive(Debug, Clone, Args)]
pub(crate) struct PlaceOptions {
    /// Project directory (default: the current one).
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// Home directory (default: `$HOME`).
    #[arg(long, value_name = "DIR")]
    pub(crate) home: Option<PathBuf>,
    /// Scratch directory (default: one in the data directory).
    #[arg(long, value_name = "DIR")]
    pub(crate) scratch: Option<PathBuf>,
    /// Policy file instead of the user's.
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Preset instead of the policy's.
    #[arg(long, value_enum)]
    pub(crate) preset: Option<PresetOption>,
    /// Operating mode.
    #[arg(long, value_enum, default_value_t = ModeOption::Agent)]
    pub(crate) mode: ModeOption,
    /// Permission mode.
    #[arg(long, value_enum, default_value_t = PermissionModeOption::Ask)]
    pub(crate) permission_mode: PermissionModeOption,
    #[command(flatten)]
    pub(crate) data: DataOption,
}

impl PolicyFileOptions {
    /// The file that the command line names.
    pub(crate) fn named(&self) -> Option<&PathBuf> {
        self.file.as_ref().or(self.place.policy.as_ref())
    }
}

impl PlaceOptions {
    /// The project directory.
    pub(crate) fn workspace_directory(&self) -> Result<PathBuf, HostError> {
        match &self.workspace {
            Some(path) => std::path::absolute(path).map_err(|error| {
                HostError::invalid_params(format!("`{}`: {error}", path.display()))
            }),
            None => std::env::current_dir().map_err(HostError::internal),
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct ExplainOptions {
    /// A rule's id, or a tool with its arguments; without anything, the built-in rules are listed.
    pub(crate) subject: Option<String>,
    /// The tool's arguments as a JSON object.
    pub(crate) args: Option<String>,
    /// Explain a Bash command.
    #[arg(long, value_name = "COMMAND", conflicts_with = "subject")]
    pub(crate) bash: Option<String>,
    #[command(flatten)]
    pub(crate) place: PlaceOptions,
    #[command(flatten)]
    pub(crate) json: JsonOption,
}

#[derive(Debug, Args)]
pub(crate) struct PolicyOptions {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: PolicyCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Say whether a policy file is right, its examples included.
    Check(PolicyFileOptions),
    /// Check a policy file, then decide cases by it and compare.
    Test(PolicyTestOptions),
    /// Bring a policy file into the usual layout; values and comments stay.
    Fmt(PolicyFmtOptions),
    /// Show which files are in force here, and what is wrong with them.
    Show(PolicyShowOptions),
    /// Print the rules that would have removed the most prompts on record.
    Suggest(PolicySuggestOptions),
    /// Show the loosening changes that wait in sessions, and let them count.
    Accept(PolicyAcceptOptions),
}

#[derive(Debug, Args)]
pub(crate) struct PolicyFileOptions {
    /// The file (default: the one of the layer); `--policy FILE` says the same.
    #[arg(conflicts_with = "policy")]
    pub(crate) file: Option<PathBuf>,
    /// Which layer it is read as; each allows other keys.
    #[arg(long, value_enum)]
    pub(crate) layer: Option<LayerOption>,
    #[command(flatten)]
    pub(crate) place: PlaceOptions,
    #[command(flatten)]
    pub(crate) json: JsonOption,
}

#[derive(Debug, Args)]
pub(crate) struct PolicyTestOptions {
    #[command(flatten)]
    pub(crate) file: PolicyFileOptions,
    /// Cases: NDJSON `{command | tool, args; expect}`, or `-` for stdin.
    #[arg(long, value_name = "FILE")]
    pub(crate) cases: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct PolicyFmtOptions {
    #[command(flatten)]
    pub(crate) file: PolicyFileOptions,
    /// Change nothing; say whether it would be changed (exit code 13).
    #[arg(long)]
    pub(crate) check: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PolicyShowOptions {
    /// Show the text of each file too.
    #[arg(long)]
    pub(crate) text: bool,
    #[command(flatten)]
    pub(crate) place: PlaceOptions,
    #[command(flatten)]
    pub(crate) json: JsonOption,
}

#[derive(Debug, Args)]
pub(crate) struct PolicySuggestOptions {
    /// Number of rules.
    #[arg(long, default_value_t = 10)]
    pub(crate) limit: usize,
    /// Only prompts of so many days.
    #[arg(long, value_name = "DAYS")]
    pub(crate) days: Option<u32>,
    #[command(flatten)]
    pub(crate) place: PlaceOptions,
    #[command(flatten)]
    pub(crate) json: JsonOption,
}

#[derive(Debug, Args)]
pub(crate) struct ReplayOptions {
    /// Transcripts, or directories of them (`*.jsonl`).
    #[arg(required = true, value_name = "TRANSCRIPT")]
    pub(crate) transcripts: Vec<PathBuf>,
    /// Compare with another policy file.
    #[arg(long, value_name = "FILE")]
    pub(crate) against: Option<PathBuf>,
    /// Compare with another preset.
    #[arg(long, value_enum, value_name = "PRESET")]
    pub(crate) against_preset: Option<PresetOption>,
    /// List every call that is asked about, denied or decided differently, and every place that
    /// could not be read.
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) place: PlaceOptions,
    #[command(flatten)]
    pub(crate) json: JsonOption,
}

#[derive(Debug, Args)]
pub(crate) struct PolicyAcceptOptions {
    /// Only of this session.
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Do not ask on the terminal.
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) store: StoreOptions,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum LayerOption {
    Managed,
    User,
    Workspace,
}

#[derive(Debug, Args)]
pub(crate) struct TrustOptions {
    /// Project directory (default: the current one).
    pub(crate) workspace: Option<PathBuf>,
    /// List what is trusted.
    #[arg(long)]
    pub(crate) list: bool,
    /// End the trust in this workspace's file.
    #[arg(long, conflicts_with = "list")]
    pub(crate) remove: bool,
    /// Do not ask on the terminal.
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) store: StoreOptions,
}

#[derive(Debug, Args)]
pub(crate) struct AuditOptions {
    /// What to do; without it, rows are shown.
    #[command(subcommand)]
    pub(crate) command: Option<AuditCommand>,
    /// Only of this session.
    #[arg(long, value_name = "ID", global = true)]
    pub(crate) session: Option<String>,
    /// Only of this tool.
    #[arg(long, value_name = "NAME", global = true)]
    pub(crate) tool: Option<String>,
    /// Only of this turn.
    #[arg(long, value_name = "ID", global = true)]
    pub(crate) turn: Option<String>,
    /// Only of this call.
    #[arg(long, value_name = "ID", global = true)]
    pub(crate) call: Option<String>,
    /// Only about this: `call`, `about-to-run`, `grant`, `revoke`, `policy`, `rollback`, …
    #[arg(long, value_name = "NAME", global = true)]
    pub(crate) event: Option<String>,
    /// Only with this decision.
    #[arg(long, value_name = "allow|ask|deny", global = true)]
    pub(crate) decision: Option<String>,
    /// Only from this time on: 2026-01-31T12:00:00Z, 2026-01-31, or 90m, 12h, 7d before now.
    #[arg(long, value_name = "TIME", global = true)]
    pub(crate) since: Option<String>,
    /// Only before this time.
    #[arg(long, value_name = "TIME", global = true)]
    pub(crate) until: Option<String>,
    /// Number of rows.
    #[arg(long, default_value_t = 50)]
    pub(crate) limit: u32,
    /// Go on and print rows as they are written.
    #[arg(long, short)]
    pub(crate) follow: bool,
    #[command(flatten)]
    pub(crate) store: StoreOptions,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Check that no row was changed, removed or put elsewhere.
    Verify(AuditVerifyOptions),
    /// Print the head of the chain, to be kept where nobody can take it back.
    Head,
    /// Show where time went: waiting for approval, running, guardian itself.
    Timing,
}

#[derive(Debug, Args)]
pub(crate) struct AuditVerifyOptions {
    /// File of published heads (`audit.publishHead`, or a system log): a cut end shows too.
    #[arg(long, value_name = "FILE")]
    pub(crate) published: Option<PathBuf>,
    /// A published head, `<number> <hash>`.
    #[arg(long, value_name = "HEAD", conflicts_with = "published")]
    pub(crate) head: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ReviewOptions {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: ReviewCommand,
    /// Session (default: the one of the current directory that was used last).
    #[arg(long, value_name = "ID", global = true)]
    pub(crate) session: Option<String>,
    #[command(flatten)]
    pub(crate) store: StoreOptions,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ReviewCommand {
    /// List the changes of a session, newest first.
    List,
    /// Show the diff of one change, or of all.
    Show {
        /// The change (see `list`); without it, all of them, oldest first.
        change: Option<String>,
    },
    /// Take one change back, if nobody changed the file since.
    Rollback {
        /// The change (see `list`).
        change: String,
    },
    /// Take every change of a turn back, newest first. What commands changed is not covered.
    RollbackTurn {
        /// The turn (see `list`).
        turn: String,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ModeOption {
    Agent,
    Plan,
    Goal,
}

impl From<ModeOption> for OperatingMode {
    fn from(option: ModeOption) -> Self {
        match option {
            ModeOption::Agent => Self::Agent,
            ModeOption::Plan => Self::Plan,
            ModeOption::Goal => Self::Goal,
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum PermissionModeOption {
    Inherit,
    Ask,
    AcceptEdits,
    Auto,
}

impl From<PermissionModeOption> for SessionPermissionMode {
    fn from(option: PermissionModeOption) -> Self {
        match option {
            PermissionModeOption::Inherit => Self::Inherit,
            PermissionModeOption::Ask => Self::Ask,
            PermissionModeOption::AcceptEdits => Self::AcceptEdits,
            PermissionModeOption::Auto => Self::Auto,
        }
    }
}

impl From<PermissionModeOption> for PermissionMode {
    fn from(option: PermissionModeOption) -> Self {
        SessionPermissionMode::from(option).effective(None)
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum PresetOption {
    Standard,
    Balanced,
    Strict,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What both ways of parsing make of a command line.
    fn both(line: &str) -> (String, String) {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let shown = |result: Result<Arguments, clap::Error>| match result {
            Ok(arguments) => format!("{arguments:?}"),
            Err(error) => error.to_string(),
        };
        (
            shown(Arguments::of(&words)),
            shown(Arguments::try_parse_from(&words)),
        )
    }

    #[test]
    fn a_check_is_read_alone_as_among_all_commands() {
        for line in [
            "guardian check --bash ls",
            "guardian check --no-audit --json Read {}",
            "guardian check --log-json --preset strict --mode plan --permission-mode auto --bash ls",
            "guardian check --batch - --headless --data-dir /d --workspace /w --home /h",
            "guardian --log-json check --bash ls",
            "guardian check",
            "guardian check --help",
            "guardian check -h",
            "guardian check --version",
            "guardian check --nonsense",
            "guardian check Read",
            "guardian check --preset nonsense --bash ls",
            "guardian check help",
            "guardian help check",
            "guardian chec --bash ls",
            "guardian",
        ] {
            let (quick, whole) = both(line);
            assert_eq!(quick, whole, "{line}");
        }
    }

    #[test]
    fn the_arguments_are_well_described() {
        use clap::CommandFactory;
        Arguments::command().debug_assert();
        CheckAlone::command().debug_assert();
    }
}
