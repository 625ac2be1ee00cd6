//! Conditions that can never hold, so that a deny rule with them would deny nothing.

use super::file::RuleFile;

/// Tools that run no command.
const WITHOUT_COMMANDS: &[&str] = &["Read", "Grep", "Glob", "Write", "Edit", "BrowserPreview"];

/// The key, what is wrong, and what to do.
pub(super) type Never = (&'static str, String, String);

/// The first condition of the rule that nothing can meet.
pub(super) fn never_holds(file: &RuleFile, tools: Option<&[String]>) -> Option<Never> {
    let unless = file.unless.as_ref();
    let paths = file
        .paths
        .iter()
        .chain(unless.and_then(|unless| unless.paths.as_ref()));
    let hosts = file
        .host
        .iter()
        .chain(unless.and_then(|unless| unless.host.as_ref()));
    let programs = file.program.iter().flat_map(|programs| &programs.0);
    paths
        .flat_map(|paths| &paths.0)
        .find_map(|path| path_fault(path))
        .or_else(|| {
            hosts
                .flat_map(|hosts| &hosts.0)
                .find_map(|host| host_fault(host))
        })
        .or_else(|| {
            programs
                .into_iter()
                .find_map(|program| program_fault(program))
        })
        .or_else(|| {
            let names_command = file.command.is_some() || file.program.is_some();
            let runs_none = tools.is_some_and(|tools| {
                tools
                    .iter()
                    .all(|tool| WITHOUT_COMMANDS.contains(&tool.as_str()))
            });
            (names_command && runs_none).then(|| {
                (
                    "tool",
                    "no tool that the rule names runs a command".to_owned(),
                    "leave `tool` out, or write `paths` for a file tool".to_owned(),
                )
            })
        })
}

fn path_fault(path: &str) -> Option<Never> {
    let (fault, hint) = if path.starts_with('$') {
        let rest = path.split_once('/').map_or("", |(_, rest)| rest);
        (
            "variables are not read".to_owned(),
            format!("the home directory is `~`: `~/{rest}`"),
        )
    } else if path.starts_with('~') && path != "~" && !path.starts_with("~/") {
        (
            "homes of other users are not known".to_owned(),
            "write the absolute path".to_owned(),
        )
    } else if let Some(rest) = path.strip_prefix("file://") {
        (
            "it is an address".to_owned(),
            format!("write the path: `{rest}`"),
        )
    } else if let Some(rest) = path.strip_prefix('!') {
        (
            "a glob is not turned round".to_owned(),
            format!("put it into `unless = {{ paths = [\"{rest}\"] }}`"),
        )
    } else if path.ends_with('/') && path.len() > 1 {
        (
            "no path ends with `/`".to_owned(),
            format!("the directory and all in it is `{path}**`"),
        )
    } else {
        return None;
    };
    Some(("paths", format!("`{path}` matches nothing: {fault}"), hint))
}

fn host_fault(host: &str) -> Option<Never> {
    let bare = host
        .split_once("://")
        .map_or(host, |(_, rest)| rest)
        .split('/')
        .next()
        .unwrap_or_default();
    let port = bare
        .split_once(':')
        .filter(|(_, port)| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()));
    let bare = port.map_or(bare, |(name, _)| name);
    let name = bare.trim_matches('.');
    let hint = if bare.starts_with('.') {
        format!("every name beneath it is `*.{name}`")
    } else if host.contains('/')
        && !host.contains("://")
        && name.parse::<std::net::Ipv4Addr>().is_ok()
    {
        "a range is not known; `*` is any text: `10.0.*`".to_owned()
    } else {
        format!("write the name alone: `{name}`")
    };
    let is_wrong = host.contains('/')
        || port.is_some()
        || host.starts_with('.')
        || host.ends_with('.')
        || host.contains(char::is_whitespace);
    is_wrong.then(|| ("host", format!("`{host}` is no host name"), hint))
}

fn program_fault(program: &str) -> Option<Never> {
    let words: Vec<&str> = program.split_whitespace().collect();
    (words.len() > 1 && !program.contains('/')).then(|| {
        (
            "program",
            format!("`{program}` is more than a program"),
            format!("write `command = {words:?}`"),
        )
    })
}
