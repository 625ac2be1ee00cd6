//! `guardian doctor`: is everything guardian needs in place on this machine?

use std::path::Path;

use guardian_host::policies::{
    check_managed_owner, check_policy_text, is_policy_file_there, passed_over,
    passed_over_sentence, read_policy_file,
};
use guardian_host::rules::Layer;
use guardian_host::store::{SandboxSetting, Store};
use guardian_host::{
    CommandSupport, CommandsConfig, HostError, Places, UserConfig, command_shells_here,
};
use serde_json::{Value, json};

use crate::arguments::StoreOptions;
use crate::exit::ExitCode;
use crate::output::{self, PLAIN, STRONG, WARNING};
use crate::places;

/// One thing that was looked at.
struct Finding {
    what: &'static str,
    ok: bool,
    text: String,
}

/// Looks, and says what is wrong and what to do.
pub(crate) fn run(options: &StoreOptions) -> Result<ExitCode, HostError> {
    let places = places::find(options.data.data_dir.as_deref())?;
    let workspace = std::env::current_dir().ok();
    let commands = CommandSupport::look(&commands_config(&places), stored_sandbox(&places));
    let findings = [
        data_directory(&places),
        record(&places),
        configuration(&places),
        policy(&places, workspace.as_deref()),
        shell(),
        supervisor(&commands),
        sandbox(&commands),
        terminal(),
    ];
    let all_ok = findings.iter().all(|finding| finding.ok);
    if options.json.json {
        let view = |finding: &Finding| json!({ "what": finding.what, "ok": finding.ok, "text": finding.text });
        output::json(&Value::Array(findings.iter().map(view).collect()));
    } else {
        for finding in &findings {
            let (style, mark) = if finding.ok {
                (STRONG, "ok")
            } else {
                (WARNING, "!!")
            };
            let rest = format!(" {:<15} {}", finding.what, finding.text);
            output::styled_line(&[(style, mark), (PLAIN, &rest)]);
        }
    }
    Ok(if all_ok {
        ExitCode::Done
    } else {
        ExitCode::Broken
    })
}

fn data_directory(places: &Places) -> Finding {
    let what = "data directory";
    let path = places.data_dir.display();
    match crate::commands::sessions::open(&places.data_dir) {
        Ok(store) if store.is_writable() => Finding {
            what,
            ok: true,
            text: path.to_string(),
        },
        Ok(_) => Finding {
            what,
            ok: false,
            text: format!("{path} cannot be written: high-risk calls will not run"),
        },
        Err(error) => Finding {
            what,
            ok: false,
            text: format!("{path}: {error}"),
        },
    }
}

fn record(places: &Places) -> Finding {
    let what = "record";
    let verified = crate::commands::sessions::open(&places.data_dir)
        .and_then(|store: Store| store.verify_audit(None).map_err(HostError::internal));
    match verified {
        Ok(found) => match found.first_bad {
            None => Finding {
                what,
                ok: true,
                text: format!("{} rows, unbroken", found.rows),
            },
            Some(bad) => {
                let text = format!("row {} does not fit: {}", bad.seq, bad.reason);
                Finding {
                    what,
                    ok: false,
                    text,
                }
            }
        },
        Err(error) => Finding {
            what,
            ok: false,
            text: error.to_string(),
        },
    }
}

/// The policy files that would count in the current directory, as a start would find them.
fn policy(places: &Places, workspace: Option<&Path>) -> Finding {
    let what = "policy";
    let user = places.config_dir.join("policy.toml");
    let mut texts = Vec::new();
    let mut ok = true;
    let of_workspace = workspace.map(|workspace| workspace.join(".guardian/policy.toml"));
    let files = [
        (Layer::User, Some(&user)),
        (Layer::Managed, Some(&places.managed_policy)),
        (Layer::Workspace, of_workspace.as_ref()),
    ];
    for (layer, file) in files {
        let Some(file) = file.filter(|file| is_policy_file_there(layer, file)) else {
            continue;
        };
        let owned = match layer {
            Layer::Managed => check_managed_owner(file),
            _ => Ok(()),
        };
        let problem = match owned.and_then(|()| read_policy_file(layer, file)) {
            Ok(text) => check_policy_text(layer, file, &text, workspace, &places.home)
                .err()
                .map(|errors| errors.to_string()),
            Err(error) => Some(error.to_string()),
        };
        ok &= problem.is_none();
        texts.push(problem.unwrap_or_else(|| file.display().to_string()));
    }
    if let Some((workspace, file)) = workspace.and_then(|at| Some((at, passed_over(at)?))) {
        texts.push(passed_over_sentence(&file, workspace));
    }
    if texts.is_empty() {
        texts.push(format!("no {}: the built-in rules hold", user.display()));
    }
    Finding {
        what,
        ok,
        text: texts.join("; "),
    }
}

fn configuration(places: &Places) -> Finding {
    let what = "configuration";
    let file = places.config_dir.join("config.toml");
    match UserConfig::load(&file) {
        Ok(_) if file.exists() => Finding {
            what,
            ok: true,
            text: file.display().to_string(),
        },
        Ok(_) => {
            let text = format!("none at {}: defaults are in force", file.display());
            Finding {
                what,
                ok: true,
                text,
            }
        }
        Err(error) => Finding {
            what,
            ok: false,
            text: error.to_string(),
        },
    }
}

fn shell() -> Finding {
    let what = "shell";
    match command_shells_here() {
        Ok(executable) => Finding {
            what,
            ok: true,
            text: executable.display().to_string(),
        },
        Err(error) => Finding {
            what,
            ok: false,
            text: error.to_string(),
        },
    }
}

/// A configuration that does not load is a finding of its own.
fn commands_config(places: &Places) -> CommandsConfig {
    UserConfig::load(&places.config_dir.join("config.toml"))
        .map(|config| config.commands)
        .unwrap_or_default()
}

fn stored_sandbox(places: &Places) -> Option<SandboxSetting> {
    let store = crate::commands::sessions::open(&places.data_dir).ok()?;
    store.settings().ok()?.sandbox
}

fn supervisor(commands: &CommandSupport) -> Finding {
    let (ok, text) = match &commands.supervisor {
        Ok(hash) => (true, format!("found, BLAKE3 {hash}")),
        Err(reason) => (
            false,
            format!(
                "{reason}; commands are owned by their process group only and are not confined"
            ),
        ),
    };
    Finding {
        what: "supervisor",
        ok,
        text,
    }
}

/// What confines a command, and why not more. No mechanism is a fault only where the user's
/// setting makes commands fail for it.
fn sandbox(commands: &CommandSupport) -> Finding {
    let setting = commands.setting;
    let (ok, text) = match &commands.sandbox {
        _ if setting == "off" => (true, "setting `off`: no command is confined".to_owned()),
        Ok(mechanism) if commands.weaknesses.is_empty() => (
            true,
            format!("setting `{setting}`: {mechanism}, seen to work"),
        ),
        Ok(mechanism) => (
            setting != "required",
            format!(
                "setting `{setting}`: {mechanism}, which cannot hold everything: {}; install \
                 bubblewrap for all of it",
                commands.weaknesses.join("; ")
            ),
        ),
        Err(reason) => (
            setting != "required",
            format!("setting `{setting}`, but none: {reason}"),
        ),
    };
    Finding {
        what: "sandbox",
        ok,
        text,
    }
}

fn terminal() -> Finding {
    let asks = std::fs::File::open("/dev/tty").is_ok();
    let text = if asks {
        "`guardian exec` can ask here"
    } else {
        "none: `guardian exec` denies what must be asked about"
    };
    Finding {
        what: "terminal",
        ok: true,
        text: text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_managed_file_that_others_may_write_is_a_finding() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let places = Places {
            data_dir: at("data"),
            config_dir: at("config"),
            managed_policy: at("policy.toml"),
            home: at("home"),
            executables: Vec::new(),
        };
        assert!(policy(&places, None).ok, "no file at all");
        std::fs::write(&places.managed_policy, "version = 1\n").unwrap();
        let everybody = std::fs::Permissions::from_mode(0o666);
        std::fs::set_permissions(&places.managed_policy, everybody).unwrap();
        let found = policy(&places, None);
        assert!(
            !found.ok && found.text.contains("chmod go-w"),
            "{}",
            found.text
        );
    }
}
