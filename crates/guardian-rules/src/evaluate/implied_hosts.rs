//! Hosts that a call may reach although no fact says so: named in code, in the words of a program of
//! which nothing is known, in a file of settings, or not at all.
//!
//! Only deny and ask rules hear of it, and they answer "might" at most.

use std::collections::BTreeSet;

use guardian_facts::command::{Effect, Effects};
use guardian_facts::shell::hosts_in;
use guardian_facts::{CommandFact, Endpoint, Facts, RedirectKind, Word};

use super::tails::{GIT_PROSE, may_run_words};
use crate::policy::{Certainty, has_flag};

/// Flags by which `curl` and `wget` reach a host that their operands do not name.
const OTHER_HOST_FLAGS: &[&str] = &[
    "-K",
    "--config",
    "--connect-to",
    "--resolve",
    "-x",
    "--proxy",
    "--preproxy",
    "--socks4",
    "--socks4a",
    "--socks5",
    "--socks5-hostname",
    "--unix-socket",
    "--abstract-unix-socket",
    "--doh-url",
    "-i",
    "--input-file",
    "-e",
    "--execute",
    "--alt-svc",
    "--url",
    "--variable",
    "--expand-url",
];

/// Programs that go by the settings of ssh and take tunnels, jumps and other names in their flags.
const SSH: &[&str] = &[
    "ssh",
    "scp",
    "sftp",
    "rsync",
    "autossh",
    "mosh",
    "sshfs",
    "slogin",
    "ssh-copy-id",
];

/// Variables that name a file of settings in which a host may stand.
const SETTINGS: &[&str] = &[
    "CURL_HOME",
    "WGETRC",
    "SYSTEM_WGETRC",
    "XDG_CONFIG_HOME",
    "HOME",
    "KUBECONFIG",
    "DOCKER_CONFIG",
    "DOCKER_CONTEXT",
    "GIT_CONFIG",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
];

/// Package managers and version control without a flag table, which fetch when one of
/// [`FETCHING`] is among their words.
const FETCHERS: &[&str] = &[
    "gem", "bundle", "bundler", "composer", "cpan", "cpanm", "luarocks", "opam", "cabal", "hg",
    "svn", "bzr", "fossil", "cvs", "git-lfs", "nuget", "vcpkg", "conan", "pod", "carthage", "mix",
    "rebar3",
];
const FETCHING: &[&str] = &[
    "install", "update", "upgrade", "fetch", "pull", "push", "clone", "checkout", "co", "add",
    "require", "download", "commit", "ci", "incoming", "outgoing", "restore", "deps.get",
];

/// Hosts that are looked at; beyond, one unknown host stands for the rest.
const MAX_HOSTS: usize = 512;

/// Where commands may reach.
pub(crate) fn endpoints(facts: &Facts) -> Vec<Endpoint> {
    let proxied = facts.commands.iter().any(sets_proxy);
    let mut found = Vec::new();
    for (index, command) in facts.commands.iter().enumerate() {
        if reaches_unnamed(facts, index, command, proxied) {
            found.push(endpoint(index, None));
        }
        for host in named_loosely(facts, index, command) {
            if found.len() >= MAX_HOSTS {
                found.push(endpoint(index, None));
                return found;
            }
            found.push(endpoint(index, Some(host)));
        }
    }
    found
}

fn endpoint(index: usize, host: Option<String>) -> Endpoint {
    Endpoint {
        host,
        port: None,
        command: Some(index),
    }
}

/// A command reaches the network, and no fact says where.
fn reaches_unnamed(facts: &Facts, index: usize, command: &CommandFact, proxied: bool) -> bool {
    let name = command.program.name.as_deref().unwrap_or_default();
    let is_container = matches!(name, "docker" | "podman" | "nerdctl");
    let reaches = command.has(Effect::Network)
        || command.has(Effect::Publishes)
        || (command.has(Effect::RemoteHost) && !is_container)
        || fetches(command, name);
    let mut named = facts
        .endpoints
        .iter()
        .filter(|endpoint| endpoint.command == Some(index))
        .peekable();
    let is_named = named.peek().is_some();
    let flags = |flags: &[&str]| {
        let flags: Vec<String> = flags.iter().map(|&flag| flag.to_owned()).collect();
        has_flag(command, &flags) != Certainty::No
    };
    let elsewhere = match name {
        "curl" | "wget" => flags(OTHER_HOST_FLAGS),
        "git" => flags(&["-c", "--config-env"]),
        _ if SSH.contains(&name) => {
            // A name without a dot is one that the settings of ssh explain.
            let is_alias = |endpoint: &Endpoint| {
                endpoint
                    .host
                    .as_deref()
                    .is_some_and(|host| !host.contains(['.', ':']) && host != "localhost")
            };
            let is_open = |word: &Word| {
                let text = word.display().to_ascii_lowercase();
                word.as_literal().is_none()
                    && ["hostname", "proxy", "include"]
                        .iter()
                        .any(|key| text.contains(key))
            };
            named.any(is_alias) || flags(&["-F"]) || command.argv.iter().any(is_open)
        }
        _ => false,
    };
    (reaches && (!is_named || elsewhere || proxied))
        || (name == "curl" && flags(&["-K", "--config"]))
}

fn fetches(command: &CommandFact, name: &str) -> bool {
    let words: Vec<&str> = command.argv.iter().filter_map(Word::as_literal).collect();
    let fetching = || words.iter().skip(1).any(|word| FETCHING.contains(word));
    FETCHERS.contains(&name) && fetching()
        || name.starts_with("python")
            && words.windows(2).any(|pair| pair == ["-m", "pip"])
            && fetching()
        || name == "git" && words.get(1) == Some(&"lfs") && fetching()
}

/// It sets a proxy, or a file of settings, for itself or for what follows.
fn sets_proxy(command: &CommandFact) -> bool {
    let redirects = |name: &str| {
        let lower = name.to_ascii_lowercase();
        lower.ends_with("_proxy") && lower != "no_proxy" || SETTINGS.contains(&name)
    };
    command
        .assignments
        .iter()
        .any(|assignment| redirects(&assignment.name))
        || command.argv.iter().any(|word| {
            let prefix = word.literal_prefix();
            prefix
                .split_once('=')
                .is_some_and(|(name, _)| redirects(name))
        })
}

/// Hosts in words that no table has read, in code, and in values of variables.
fn named_loosely(facts: &Facts, index: usize, command: &CommandFact) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let name = command.program.name.as_deref().unwrap_or_default();
    for assignment in &command.assignments {
        found.extend(hosts_in(&assignment.value.display()));
    }
    if may_run_words(facts, index, command) || SSH.contains(&name) {
        let mut before = "";
        for word in command.argv.iter().skip(1) {
            if name != "git" || !GIT_PROSE.contains(&before) {
                found.extend(hosts_in(&word.display()));
            }
            before = word.as_literal().unwrap_or_default();
        }
    }
    if command.effects_known == Effects::Opaque && command.has(Effect::RunsCode) {
        let texts = [RedirectKind::Heredoc, RedirectKind::HereString];
        for redirect in command
            .redirects
            .iter()
            .filter(|redirect| texts.contains(&redirect.kind))
        {
            found.extend(hosts_in(&redirect.target.display()));
        }
    }
    found
}
