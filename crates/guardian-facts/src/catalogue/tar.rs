//! `tar`: old-style bundles (`tar xzf a.tgz`) and what the mode makes of archive and members.

use super::Catalogue;
use super::apply::apply;
use super::scan::scan;
use super::schema::Entry;
use crate::command::{Invocation, Judgement, PathUse, Word};
use crate::{AccessDetail, AccessKind, Effect};

/// Judges a `tar` command line.
pub(crate) fn judge(
    _catalogue: &Catalogue,
    entry: &Entry,
    invocation: &Invocation<'_>,
    judgement: &mut Judgement,
) {
    let args = new_style(entry, invocation.args);
    let inner = Invocation {
        name: invocation.name,
        args: &args,
        stdin: invocation.stdin,
    };
    let scanned = scan(entry, &args, false);
    apply(entry, &scanned, &inner, judgement);

    let creates = scanned.has("-c") || scanned.has("-r") || scanned.has("-u") || scanned.has("-A");
    let extracts = scanned.has("-x");
    let deletes = scanned.has("--delete");
    let span = args
        .first()
        .map_or(crate::Span { start: 0, end: 0 }, |word| word.span);
    for archive in scanned.values("-f") {
        if archive.as_literal() == Some("-") {
            continue;
        }
        let prefix = archive.literal_prefix();
        let remote = prefix
            .find(':')
            .is_some_and(|colon| prefix.find('/').is_none_or(|slash| colon < slash));
        if remote && !scanned.has("--force-local") {
            judgement.hosts.push(archive.clone());
            judgement.add(Effect::Network);
            judgement.make_opaque("remote-archive", "a remote archive runs a remote shell");
        } else if creates || deletes {
            judgement.write(archive);
        } else {
            judgement.read(archive);
        }
    }
    if creates {
        for member in &scanned.operands {
            judgement.paths.push(PathUse {
                word: member.clone(),
                kind: AccessKind::Read,
                detail: AccessDetail::Plain,
                recursive: true,
            });
            judgement.walks = true;
            if scanned.has("--remove-files") {
                judgement.add(Effect::Destructive);
                judgement.paths.push(PathUse {
                    word: member.clone(),
                    kind: AccessKind::Delete,
                    detail: AccessDetail::Plain,
                    recursive: true,
                });
            }
        }
        if scanned.has("-T") {
            judgement.make_opaque(
                "names-from-file",
                "the names of what it reads come from a file",
            );
        }
    }
    if extracts && !scanned.has("-O") {
        judgement.add(Effect::BulkWrite);
        // A directory that is changed to is where the members go; without one it is the working
        // directory. Either way the path is `.` after the change.
        judgement.paths.push(PathUse {
            word: Word::literal(".", span),
            kind: AccessKind::Write,
            detail: AccessDetail::Plain,
            recursive: true,
        });
        if scanned.has("-P") {
            judgement.make_opaque("absolute-names", "members may be written anywhere");
        }
    }
    if scanned.has("-d") {
        judgement.walks = true;
    }
}

/// An old-style bundle as options: `xzf a.tgz` becomes `-x -z -f a.tgz`.
fn new_style(entry: &Entry, args: &[Word]) -> Vec<Word> {
    let Some(first) = args.first() else {
        return Vec::new();
    };
    let bundle = match first.as_literal() {
        Some(text) if !text.starts_with('-') && !text.is_empty() => text,
        _ => return args.to_vec(),
    };
    let mut words = Vec::new();
    let mut rest = args.iter().skip(1);
    for letter in bundle.chars() {
        let name = format!("-{letter}");
        let takes_value = entry
            .flag(&name)
            .is_some_and(|flag| !flag.values.is_empty() && !flag.optional);
        words.push(Word::literal(name, first.span));
        if takes_value {
            words.extend(rest.next().cloned());
        }
    }
    words.extend(rest.cloned());
    words
}
