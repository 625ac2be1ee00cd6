//! `curl`: URLs, `@file` values, and outputs that are named by the server.

use super::scan::{Scanned, behind};
use super::schema::Entry;
use crate::command::{Invocation, Judgement, Word};
use crate::{AccessDetail, AccessKind, Effect};

/// Flags whose value reads a file when it begins with `@`.
const AT_FILE: &[&str] = &[
    "-d",
    "--data-binary",
    "--data-ascii",
    "--json",
    "-H",
    "--proxy-header",
    "-w",
];

/// Adds what the values and URLs of a `curl` command line do.
pub(crate) fn judge(
    _entry: &Entry,
    scanned: &Scanned<'_>,
    invocation: &Invocation<'_>,
    judgement: &mut Judgement,
) {
    for name in AT_FILE {
        for value in scanned.values(name) {
            at_file(value, judgement);
        }
    }
    for value in scanned
        .values("--data-urlencode")
        .chain(scanned.values("--url-query"))
    {
        let text = value.literal_prefix();
        if let Some(at) = text
            .find('@')
            .filter(|at| text.find('=').is_none_or(|eq| *at < eq))
        {
            judgement.read(&behind(value, at + 1));
        } else if value.as_literal().is_none() {
            judgement.read(value);
        }
    }
    for value in scanned.values("--variable") {
        match value.literal_prefix().find('@') {
            Some(at) => judgement.read(&behind(value, at + 1)),
            None if value.as_literal().is_none() => judgement.read(value),
            None => {}
        }
    }
    for value in scanned.values("-F") {
        form(value, judgement);
    }
    for value in scanned.values("-b") {
        // Without `=` the value is the name of a cookie file.
        if !value.literal_prefix().contains('=') {
            judgement.read(value);
        }
    }
    for value in scanned.values("-w") {
        if value
            .as_literal()
            .is_none_or(|text| text.contains("%output{"))
        {
            judgement.make_opaque("write-out", "the output format may name a file");
        }
    }
    for url in scanned.operands.iter().chain(scanned.values("--url")) {
        address(url, scanned.has("-T"), scanned.has("-g"), judgement);
    }
    if scanned.has("--proto-default") {
        judgement.make_opaque(
            "default-protocol",
            "addresses without a protocol may be files",
        );
    }
    if scanned.has("-O") || scanned.has("--remote-name-all") || scanned.has("-J") {
        let span = invocation
            .args
            .first()
            .map_or(crate::Span { start: 0, end: 0 }, |word| word.span);
        let in_directory = scanned.values("--output-dir").last().cloned();
        judgement.write(&in_directory.unwrap_or_else(|| Word::literal(".", span)));
        judgement.add(Effect::BulkWrite);
    }
}

/// A URL; `file:` ones are paths of this machine.
fn address(url: &Word, uploads: bool, globs_off: bool, judgement: &mut Judgement) {
    let prefix = url.literal_prefix();
    let is_file = prefix
        .get(..5)
        .is_some_and(|start| start.eq_ignore_ascii_case("file:"));
    if !is_file {
        judgement.hosts.push(url.clone());
        judgement.add(Effect::Network);
        return;
    }
    // `file://host/path`: the host is ignored.
    let rest = prefix.get(5..).unwrap_or_default();
    let start = match rest.strip_prefix("//") {
        Some(behind_slashes) => behind_slashes.find('/').map(|slash| 7 + slash),
        None => rest.starts_with('/').then_some(5),
    };
    let globs = !globs_off && prefix.contains(['{', '[']);
    let (Some(start), false) = (start, prefix.contains('%') || globs) else {
        judgement.read(url);
        judgement.make_opaque(
            "file-url",
            format!("which file `{}` is, is not known", url.display()),
        );
        return;
    };
    let kind = if uploads {
        AccessKind::Write
    } else {
        AccessKind::Read
    };
    judgement.touch(&behind(url, start), kind, AccessDetail::Plain);
}

fn at_file(value: &Word, judgement: &mut Judgement) {
    match value.literal_prefix().strip_prefix('@') {
        Some("-") if value.as_literal().is_some() => {}
        Some(_) => judgement.read(&behind(value, 1)),
        None if value.literal_prefix().is_empty() && value.as_literal().is_none() => {
            judgement.read(value);
        }
        None => {}
    }
}

/// `name=@file`, `name=<file`; several files may follow, separated by commas.
fn form(value: &Word, judgement: &mut Judgement) {
    let text = value.literal_prefix();
    let from = text.find("=@").or_else(|| text.find("=<"));
    match from {
        Some(at) => {
            let file = behind(value, at + 2);
            let Some(list) = file.as_literal() else {
                judgement.read(&file);
                return;
            };
            let list = list.split(';').next().unwrap_or_default();
            for name in list.split(',') {
                judgement.read(&Word::literal(name.trim_matches('"'), value.span));
            }
        }
        None if value.as_literal().is_none() => judgement.read(value),
        None => {}
    }
}
