//! The facts of a call that an allow has to cover, one by one.

use guardian_facts::command::RedirectKind;
use guardian_facts::{AccessSource, Facts, Reading};

/// One thing that must be covered before a call is allowed (SPEC §5, 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Item {
    /// The call as a whole: where nothing finer is known, or not everything is.
    Call,
    /// A command's argv.
    Command(usize),
    /// A redirect whose target is not among the accesses.
    Redirect {
        /// Index of the command.
        command: usize,
        /// Index of the redirect.
        redirect: usize,
    },
    /// An access.
    Access(usize),
    /// A network endpoint.
    Endpoint(usize),
    /// An assignment that changes what is executed.
    Assignment {
        /// Index of the command.
        command: usize,
        /// Index of the assignment.
        assignment: usize,
    },
}

/// All items of a call. Never empty: a call without facts is an item itself, so that an empty set
/// of facts proves nothing.
pub(crate) fn items_of(facts: &Facts) -> Vec<Item> {
    let mut items: Vec<Item> = (0..facts.accesses.len()).map(Item::Access).collect();
    for (command, fact) in facts.commands.iter().enumerate() {
        items.push(Item::Command(command));
        for (assignment, value) in fact.assignments.iter().enumerate() {
            if value.changes_execution {
                items.push(Item::Assignment {
                    command,
                    assignment,
                });
            }
        }
        let known = facts
            .accesses
            .iter()
            .filter(|access| access.source == AccessSource::Redirect(command))
            .count();
        let to_files: Vec<usize> = fact
            .redirects
            .iter()
            .enumerate()
            .filter(|(_, redirect)| !redirect.inert && names_a_file(redirect.kind))
            .map(|(index, _)| index)
            .collect();
        items.extend(
            to_files
                .into_iter()
                .skip(known)
                .map(|redirect| Item::Redirect { command, redirect }),
        );
    }
    items.extend((0..facts.endpoints.len()).map(Item::Endpoint));
    if items.is_empty() || facts.reading == Reading::Partial {
        items.push(Item::Call);
    }
    items
}

fn names_a_file(kind: RedirectKind) -> bool {
    match kind {
        RedirectKind::Read
        | RedirectKind::Truncate
        | RedirectKind::Append
        | RedirectKind::ReadWrite => true,
        RedirectKind::Duplicate | RedirectKind::Heredoc | RedirectKind::HereString => false,
    }
}
