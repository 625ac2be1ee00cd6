//! Programs of the system whose verbs or operands decide whether they report or change.

use super::Catalogue;
use super::scan::Scanned;
use super::schema::Entry;
use crate::command::{Invocation, Judgement, Nested, Stdin, Word};
use crate::{AccessDetail, AccessKind, Effect};

/// `ip OBJECT [VERB …]`: listing verbs report, `netns exec` runs a command, the rest changes.
pub(crate) fn ip(
    _entry: &Entry,
    scanned: &Scanned<'_>,
    _invocation: &Invocation<'_>,
    judgement: &mut Judgement,
) {
    let Some(object) = scanned.operands.first() else {
        return;
    };
    let Some(verb) = scanned.operands.get(1) else {
        if object.as_literal().is_none() {
            judgement.add(Effect::SystemChange);
        }
        return;
    };
    let text = verb.as_literal();
    let in_namespace = object
        .as_literal()
        .is_none_or(|object| object.starts_with(['n', 'v']));
    if in_namespace && text.is_none_or(|text| text.starts_with('e')) {
        judgement.add(Effect::Privilege);
        judgement.nested.push(Nested::Command {
            argv: scanned.operands.get(3..).unwrap_or_default().to_vec(),
            appended: false,
            elsewhere: false,
            assignments: Vec::new(),
            cwd: None,
        });
        return;
    }
    let reports = matches!(
        text,
        Some("show" | "sh" | "s" | "list" | "lst" | "ls" | "l" | "get" | "g" | "help")
    );
    if !reports {
        judgement.add(Effect::SystemChange);
    }
}

/// `timedatectl`, `hostnamectl` and the like: anything but a listing verb changes the system.
pub(crate) fn reports(
    _entry: &Entry,
    scanned: &Scanned<'_>,
    _invocation: &Invocation<'_>,
    judgement: &mut Judgement,
) {
    let reads = scanned.operands.first().is_none_or(|verb| {
        verb.as_literal().is_some_and(|text| {
            text == "status"
                || text.starts_with("show")
                || text.starts_with("list")
                || text.ends_with("-status")
        })
    });
    if !reads {
        judgement.add(Effect::SystemChange);
    }
}

/// What a listed program takes: a pattern of its flags and whether its operands are files.
const REPORTS: &[(&str, &[&str], Operands)] = &[
    ("sensors", &["-A", "-u", "-f", "-j"], Operands::None),
    ("upower", &["-d", "-e"], Operands::None),
    ("system_profiler", &["-json"], Operands::Names),
    ("cpuid", &["-1", "-r"], Operands::None),
    ("tload", &[], Operands::None),
    ("slabtop", &["-o"], Operands::None),
    ("dmidecode", &[], Operands::None),
    (
        "inxi",
        &["-S", "-C", "-M", "-m", "-D", "-G"],
        Operands::None,
    ),
    ("neofetch", &["--stdout"], Operands::None),
    ("pmap", &["-x", "-q", "-d", "-p"], Operands::Names),
    ("blkid", &[], Operands::Files),
    ("nvidia-smi", &["-L", "-q"], Operands::None),
    ("tput", &[], Operands::Names),
    ("toe", &["-a"], Operands::None),
    ("infocmp", &["-1", "-x"], Operands::Names),
    ("getconf", &["-a"], Operands::Names),
    ("locale", &["-a", "-m", "-k", "-c"], Operands::Names),
    ("namei", &["-l", "-m", "-o", "-x"], Operands::Files),
    ("getfacl", &["-p", "-c", "-n", "-t"], Operands::Files),
    ("lsattr", &["-d", "-a", "-l", "-v"], Operands::Files),
    ("getcap", &["-v"], Operands::Files),
    ("runlevel", &[], Operands::None),
    ("dpkg-architecture", &[], Operands::None),
];

/// What the operands of a reporting program are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operands {
    /// It takes none.
    None,
    /// Words without a slash: settings, terminals, process ids.
    Names,
    /// Files of which metadata is shown.
    Files,
}

/// Reporting programs of which only a few command lines are known to do no more than that.
pub(crate) fn report_list(
    _catalogue: &Catalogue,
    entry: &Entry,
    invocation: &Invocation<'_>,
    judgement: &mut Judgement,
) {
    judgement.add(Effect::SystemQuery);
    let name = invocation.name;
    let (flags, operands) = REPORTS
        .iter()
        .find(|(listed, ..)| *listed == name)
        .map_or((&[] as &[&str], Operands::None), |(_, flags, operands)| {
            (*flags, *operands)
        });
    for word in invocation.args {
        let prefix = word.literal_prefix();
        let is_listed = word.as_literal().is_some_and(|text| flags.contains(&text))
            || word.as_literal().is_some()
                && entry.flags.iter().flat_map(|flag| &flag.names).any(|flag| {
                    prefix
                        .strip_prefix(flag.as_str())
                        .is_some_and(|rest| rest.starts_with('='))
                })
                && name == "nvidia-smi";
        let is_operand = match operands {
            Operands::None => false,
            Operands::Names => word
                .as_literal()
                .is_some_and(|text| !text.starts_with(['-', '.']) && !text.contains('/')),
            Operands::Files => !prefix.is_empty() && !prefix.starts_with('-'),
        };
        match (is_listed, is_operand) {
            (true, _) => {}
            (false, true) if operands == Operands::Files => {
                judgement.touch(word, AccessKind::List, AccessDetail::Plain);
            }
            (false, true) => {}
            (false, false) => judgement.make_opaque(
                "unknown-flag",
                format!(
                    "the catalogue does not list `{}` of `{name}`",
                    word.display()
                ),
            ),
        }
    }
}

/// `sysctl name=value` sets.
pub(crate) fn assigns(
    _entry: &Entry,
    scanned: &Scanned<'_>,
    _invocation: &Invocation<'_>,
    judgement: &mut Judgement,
) {
    if scanned
        .operands
        .iter()
        .any(|word| word.as_literal().is_none_or(|text| text.contains('=')))
    {
        judgement.add(Effect::SystemChange);
    }
}

/// `script` without `-c` runs the user's shell on its input. With one, its input is what is typed
/// at the command's terminal: a pager runs what stands behind a `!`.
pub(crate) fn script_session(
    _entry: &Entry,
    scanned: &Scanned<'_>,
    invocation: &Invocation<'_>,
    judgement: &mut Judgement,
) {
    if *invocation.stdin != Stdin::Empty {
        judgement.make_opaque(
            "terminal-input",
            "its input is typed at a terminal, where a pager can run commands",
        );
    }
    if !scanned.has("-c") {
        judgement.add(Effect::RunsCode);
        judgement.nested.push(Nested::StdinShell);
    }
}

/// A format or target with `#(…)` runs shell text.
pub(crate) fn tmux_format(
    _entry: &Entry,
    scanned: &Scanned<'_>,
    _invocation: &Invocation<'_>,
    judgement: &mut Judgement,
) {
    let values = scanned.flags.iter().flat_map(|used| &used.values);
    // A semicolon at the end of any word begins another command of tmux.
    if values.chain(&scanned.operands).any(|word| {
        word.as_literal()
            .is_none_or(|text| text.contains("#(") || text.contains(';'))
    }) {
        judgement.make_opaque("format-runs", "a format may run shell text");
    }
}

/// `rpm -i` without `-q` installs.
pub(crate) fn rpm(
    _entry: &Entry,
    scanned: &Scanned<'_>,
    _invocation: &Invocation<'_>,
    judgement: &mut Judgement,
) {
    if !scanned.has("-q") && !scanned.has("-V") {
        judgement.add(Effect::Installs);
    }
}

/// Databases of `getent` that are files of the system which everybody may read.
const PUBLIC_DATABASES: &[&str] = &["passwd", "group", "services", "protocols", "rpc"];

/// `getent DATABASE [KEY…]`: hosts are looked up over the network, `shadow` holds passwords.
pub(crate) fn databases(
    _entry: &Entry,
    scanned: &Scanned<'_>,
    _invocation: &Invocation<'_>,
    judgement: &mut Judgement,
) {
    let Some((database, keys)) = scanned.operands.split_first() else {
        return;
    };
    judgement.add(Effect::SystemQuery);
    match database.as_literal() {
        Some(name) if PUBLIC_DATABASES.contains(&name) => {}
        Some("hosts" | "ahosts" | "ahostsv4" | "ahostsv6" | "networks" | "netgroup") => {
            judgement.add(Effect::Network);
            judgement.hosts.extend(keys.iter().cloned());
        }
        Some("shadow" | "gshadow") => {
            judgement.read(&Word::literal("/etc/shadow", database.span));
        }
        _ => judgement.make_opaque(
            "unknown-operand",
            format!("`{}` is no database that is listed", database.display()),
        ),
    }
}

/// Variables that say where things lie and how they are shown, and hold no secret.
const PLAIN_VARIABLES: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "PWD",
    "OLDPWD",
    "SHLVL",
    "LANG",
    "LANGUAGE",
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "FORCE_COLOR",
    "COLUMNS",
    "LINES",
    "TZ",
    "HOSTNAME",
    "HOSTTYPE",
    "OSTYPE",
    "TMPDIR",
    "TEMP",
    "TMP",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "CI",
    "NODE_ENV",
    "NVM_DIR",
    "PNPM_HOME",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "CONDA_DEFAULT_ENV",
    "PYTHONPATH",
    "PYENV_ROOT",
    "JAVA_HOME",
    "GOPATH",
    "GOROOT",
    "GOBIN",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "PI_SCRATCH_DIR",
    "GUARDIAN_SCRATCH_DIR",
];

/// `printenv NAME…` prints these variables, without a name all of them.
pub(crate) fn printenv(
    _entry: &Entry,
    scanned: &Scanned<'_>,
    _invocation: &Invocation<'_>,
    judgement: &mut Judgement,
) {
    let is_plain = |word: &Word| {
        word.as_literal().is_some_and(|name| {
            PLAIN_VARIABLES.contains(&name) || name.starts_with("LC_") || name.starts_with("XDG_")
        })
    };
    let names = &scanned.operands;
    judgement.add(if !names.is_empty() && names.iter().all(is_plain) {
        Effect::SystemQuery
    } else {
        Effect::ReadsEnvironment
    });
}

/// `stty` without words, and with these alone, shows settings. All others change them.
pub(crate) fn terminal_settings(
    _entry: &Entry,
    scanned: &Scanned<'_>,
    _invocation: &Invocation<'_>,
    judgement: &mut Judgement,
) {
    let shows = scanned.operands.iter().all(|word| {
        matches!(
            word.as_literal(),
            Some("-a" | "--all" | "-g" | "--save" | "size" | "speed")
        )
    });
    judgement.add(if shows {
        Effect::SystemQuery
    } else {
        Effect::SystemChange
    });
}
