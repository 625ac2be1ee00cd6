//! Functions that multiply themselves.

use super::syntax::{ArgumentNode, Command, CommandKind, List, Pipeline};

/// True when the body starts the function again in a pipe or in the background, more than once
/// per call or without end.
pub(super) fn is_fork_bomb(name: &str, body: &Command) -> bool {
    command_bombs(name, body)
}

fn command_bombs(name: &str, command: &Command) -> bool {
    match &command.kind {
        CommandKind::Group(list) | CommandKind::Subshell(list) => list_bombs(name, list),
        CommandKind::If { clauses, otherwise } => {
            clauses.iter().any(|(_, body)| list_bombs(name, body))
                || otherwise
                    .as_ref()
                    .is_some_and(|body| list_bombs(name, body))
        }
        CommandKind::Loop { body, .. }
        | CommandKind::For { body, .. }
        | CommandKind::ArithmeticFor { body, .. } => {
            list_bombs(name, body)
                || body
                    .statements
                    .iter()
                    .any(|statement| statement.background && calls(name, &statement.first))
        }
        _ => false,
    }
}

fn list_bombs(name: &str, list: &List) -> bool {
    let in_background = list
        .statements
        .iter()
        .filter(|statement| statement.background && calls(name, &statement.first))
        .count();
    let calling = list
        .statements
        .iter()
        .flat_map(|statement| {
            std::iter::once(&statement.first).chain(statement.rest.iter().map(|(_, next)| next))
        })
        .filter(|pipeline| calls(name, pipeline))
        .count();
    (in_background > 0 && calling > 1)
        || list.statements.iter().any(|statement| {
            std::iter::once(&statement.first)
                .chain(statement.rest.iter().map(|(_, next)| next))
                .any(|pipeline| pipeline_bombs(name, pipeline))
        })
}

fn pipeline_bombs(name: &str, pipeline: &Pipeline) -> bool {
    let own = pipeline
        .stages
        .iter()
        .filter(|stage| is_call(name, stage))
        .count();
    own > 1
        || pipeline
            .stages
            .iter()
            .any(|stage| command_bombs(name, stage))
}

fn calls(name: &str, pipeline: &Pipeline) -> bool {
    pipeline.stages.iter().any(|stage| is_call(name, stage))
}

fn is_call(name: &str, command: &Command) -> bool {
    matches!(&command.kind, CommandKind::Simple { words, .. }
        if matches!(words.first(), Some(ArgumentNode::Word(word)) if word.plain() == Some(name)))
}
