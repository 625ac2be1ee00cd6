//! The person at the terminal: shows cards and takes answers on `/dev/tty`, whatever stdin and
//! stdout are connected to.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader};
use std::sync::mpsc;
use std::sync::{Arc, OnceLock};

use guardian_host::review::{Card, Choice, HumanAnswer, Posted};
use guardian_host::{Event, EventSink, Host};

use crate::output::{self, PLAIN, STRONG, WARNING};

/// How often a word that is no answer is asked about again before it counts as a denial.
const ATTEMPTS: usize = 3;

/// How cards are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answering {
    /// Ask the person.
    Ask,
    /// `--yes-once`: allow once whatever may be allowed, and say so.
    AllowOnce,
}

/// Takes the host's events; cards go to a thread that owns the terminal.
pub(crate) struct Terminal {
    cards: mpsc::Sender<Arc<Posted>>,
}

impl EventSink for Terminal {
    fn emit(&self, event: Event) {
        match event {
            Event::PermissionRequest { posted } => {
                // A thread that is gone leaves the card to its deadline, which denies.
                let _ = self.cards.send(posted);
            }
            Event::ReviewerDenied { .. }
            | Event::ToolOutput { .. }
            | Event::PermissionResolved { .. }
            | Event::PolicyChanged { .. }
            | Event::PlansChanged { .. }
            | Event::AskRequest { .. }
            | Event::BrowserPreview { .. }
            | Event::SessionChanged { .. } => {}
        }
    }
}

/// Where answers go, once the host is there.
pub(crate) type HostSlot = Arc<OnceLock<Arc<Host>>>;

/// Starts the terminal's thread. `None` when there is no terminal to ask on.
pub(crate) fn start(answering: Answering) -> Option<(Arc<Terminal>, HostSlot)> {
    let terminal = match answering {
        Answering::Ask => Some(
            OpenOptions::new()
                .read(true)
                .write(true)
                .open("/dev/tty")
                .ok()?,
        ),
        Answering::AllowOnce => None,
    };
    let (cards, received) = mpsc::channel::<Arc<Posted>>();
    let host: HostSlot = Arc::default();
    let slot = Arc::clone(&host);
    std::thread::spawn(move || {
        for posted in received {
            let host = slot.get();
            // Cards that were settled while another one was on the screen are not shown.
            let waiting = host.map(|host| {
                let session = &posted.request.session_id;
                host.pending_permissions(Some(session))
            });
            let others = match &waiting {
                Some(waiting) => {
                    let id = &posted.request.request_id;
                    if !waiting.iter().any(|one| one.request.request_id == *id) {
                        continue;
                    }
                    waiting.len() - 1
                }
                None => posted.ahead,
            };
            let answer = match &terminal {
                Some(terminal) => ask(terminal, &posted, others),
                None => say_yes(&posted, others),
            };
            if let Some(host) = host {
                host.resolve_permission(
                    &posted.request.session_id,
                    &posted.request.request_id,
                    &answer,
                );
            }
        }
    });
    Some((Arc::new(Terminal { cards }), host))
}

fn say_yes(posted: &Posted, others: usize) -> HumanAnswer {
    for line in card_of(posted, others).lines() {
        output::notice(&line);
    }
    output::notice("--yes-once: allow-once");
    HumanAnswer::word("allow-once")
}

/// Shows a card and reads the answer. A terminal that fails is a denial.
fn ask(terminal: &File, posted: &Posted, others: usize) -> HumanAnswer {
    let card = card_of(posted, others);
    // What was typed before the card was there is no answer to it. A terminal that cannot forget
    // it is none to ask on.
    if show(terminal, &card).is_err() || forget_typed_ahead(terminal).is_err() {
        return HumanAnswer::word("deny");
    }
    let keys: Vec<_> = keys(&card).into_iter().zip(&card.choices).collect();
    let mut input = BufReader::new(terminal);
    for _ in 0..ATTEMPTS {
        let offered: Vec<_> = keys
            .iter()
            .map(|(key, choice)| format!("{key} = {}", label(choice)))
            .collect();
        let offered = format!(" ({}): ", offered.join(", "));
        let _ = output::ask_terminal(
            &mut { terminal },
            &[(STRONG, "Your answer"), (PLAIN, &offered)],
        );
        let mut line = String::new();
        match input.read_line(&mut line) {
            Ok(0) | Err(_) => return HumanAnswer::word("deny"),
            Ok(_) => {}
        }
        let typed = line.trim();
        let chosen = keys
            .iter()
            .find(|(key, choice)| typed == key || typed == label(choice));
        if let Some((_, choice)) = chosen {
            return HumanAnswer {
                decision: choice.word.to_owned(),
                feedback: None,
                rule: choice.rule,
            };
        }
        if typed.is_empty() {
            return HumanAnswer::word("deny");
        }
    }
    HumanAnswer::word("deny")
}

/// Discards what waits to be read from a terminal.
fn forget_typed_ahead(terminal: &File) -> std::io::Result<()> {
    rustix::termios::tcflush(terminal, rustix::termios::QueueSelector::IFlush)?;
    Ok(())
}

/// Asks for the word `yes`. No terminal, or anything else, is a no.
pub(crate) fn confirm(question: &str) -> bool {
    let Ok(terminal) = OpenOptions::new().read(true).write(true).open("/dev/tty") else {
        return false;
    };
    let parts = [(STRONG, question), (PLAIN, " (yes/no) ")];
    if output::ask_terminal(&mut &terminal, &parts).is_err() {
        return false;
    }
    if forget_typed_ahead(&terminal).is_err() {
        return false;
    }
    let mut line = String::new();
    BufReader::new(&terminal).read_line(&mut line).is_ok() && line.trim() == "yes"
}

/// The card with the answers that mean something here: a session of one call ends with it.
fn card_of(posted: &Posted, others: usize) -> Card {
    let mut card = Card::of(&posted.request, others);
    card.choices.retain(|choice| choice.word != "allow-session");
    card
}

/// The answer as it stands on the card; a suggestion with its number.
fn label(choice: &Choice) -> String {
    match choice.rule {
        Some(index) => format!("{} {index}", choice.word),
        None => choice.word.to_owned(),
    }
}

/// A key for each answer; several of one kind are told apart by a number.
fn keys(card: &Card) -> Vec<String> {
    let count = |wanted: &str, choices: &[Choice]| {
        choices
            .iter()
            .filter(|choice| choice.word == wanted)
            .count()
    };
    card.choices
        .iter()
        .enumerate()
        .map(|(at, choice)| {
            let letter = key(choice.word);
            if count(choice.word, &card.choices) < 2 {
                return letter.to_owned();
            }
            format!("{letter}{}", count(choice.word, &card.choices[..=at]))
        })
        .collect()
}

/// The key that stands for a kind of answer.
fn key(word: &str) -> &'static str {
    match word {
        "allow-once" => "y",
        "allow-session" => "s",
        "allow-always-for-tool" => "t",
        "allow-always-for-command-pattern" => "p",
        _ => "n",
    }
}

fn show(terminal: &File, card: &Card) -> std::io::Result<()> {
    let colour = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    for (index, line) in card.lines().iter().enumerate() {
        let style = match (colour, index) {
            (true, 0) => STRONG,
            (true, _) if line.starts_with('!') => WARNING,
            _ => PLAIN,
        };
        output::to_terminal(&mut { terminal }, &[(style, line.as_str())])?;
    }
    Ok(())
}
