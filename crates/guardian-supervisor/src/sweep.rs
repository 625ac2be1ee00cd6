//! Ending a set of processes that may be growing while it is being ended.
//!
//! A kill of what was listed a moment ago loses against a fork storm: the children born in between
//! live. So each round first *freezes* (`SIGSTOP`, which cannot be caught) until a listing finds
//! nobody new, then kills the frozen set, and repeats until a listing is empty.
//!
//! Signals go through pidfds, and membership is asked again after the pidfd is open: a process id
//! that was reused in between is never signalled.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::procfs::{self, ProcessInfo};

/// Which processes belong to a call.
pub trait Census {
    /// Everybody who belongs to it now and is not dead yet.
    fn members(&self) -> Vec<Pid>;
    /// Does this process (still) belong to it? Asked after a pidfd to it is open; `listed` are the
    /// members of the listing that named it.
    fn contains(&self, pid: Pid, listed: &HashSet<i32>) -> bool;
    /// Are the members' process groups theirs alone? Then they are killed as groups first: the
    /// kernel does that at once for all members, those being forked too.
    fn owns_groups(&self) -> bool;
}

/// The descendants of one process, without itself: for a subreaper, to which orphans come back.
#[derive(Debug, Clone, Copy)]
pub struct Descendants {
    root: Pid,
}

impl Descendants {
    /// The descendants of `root`.
    #[must_use]
    pub fn of(root: Pid) -> Self {
        Self { root }
    }
}

impl Census for Descendants {
    fn members(&self) -> Vec<Pid> {
        procfs::descendants(self.root)
            .into_iter()
            .filter(|&pid| procfs::stat(pid).is_some_and(|stat| !stat.is_dead()))
            .collect()
    }

    /// By the parent alone: a chain of ten thousand ancestors costs no more than one of two.
    fn contains(&self, pid: Pid, listed: &HashSet<i32>) -> bool {
        procfs::stat(pid).is_some_and(|stat| {
            stat.parent == self.root.as_raw_nonzero().get() || listed.contains(&stat.parent)
        })
    }

    /// A descendant can only be in groups of the root's session or of one that a descendant made.
    fn owns_groups(&self) -> bool {
        true
    }
}

/// The processes that inherited a variable of the call, or are in its process group or session: for
/// a host that is no subreaper. A process that clears its environment and leaves both escapes it.
#[derive(Debug, Clone)]
pub struct ByMarker {
    /// `NAME=value`, whole.
    pub entry: Vec<u8>,
    /// The process group of the call's first process.
    pub group: Option<Pid>,
    /// The session of the call's processes.
    pub session: Option<Pid>,
}

impl Census for ByMarker {
    fn members(&self) -> Vec<Pid> {
        let nobody = HashSet::new();
        procfs::all()
            .into_iter()
            .filter(|&pid| self.contains(pid, &nobody))
            .collect()
    }

    /// Whoever left the call's group may have joined another of the user's.
    fn owns_groups(&self) -> bool {
        false
    }

    fn contains(&self, pid: Pid, _listed: &HashSet<i32>) -> bool {
        if pid == rustix::process::getpid() {
            return false;
        }
        let Some(stat) = procfs::stat(pid) else {
            return false;
        };
        if stat.is_dead() {
            return false;
        }
        self.group
            .is_some_and(|group| group.as_raw_nonzero().get() == stat.group)
            || procfs::has_environment_entry(pid, &self.entry)
    }
}

/// Ends what a [`Census`] finds, in steps that a poll loop drives.
#[derive(Debug)]
pub struct Sweep<C> {
    census: C,
    asked: HashSet<i32>,
}

/// Rounds of listing in which a growing set may be frozen before it is killed as it is.
const FREEZE_ROUNDS: usize = 64;

/// Rounds before somebody counts as one who cannot be ended.
const LEAST_ROUNDS: usize = 20;

impl<C: Census> Sweep<C> {
    /// Nothing is signalled yet.
    #[must_use]
    pub fn new(census: C) -> Self {
        Self {
            census,
            asked: HashSet::new(),
        }
    }

    /// Who is there now.
    #[must_use]
    pub fn members(&self) -> Vec<ProcessInfo> {
        self.census
            .members()
            .into_iter()
            .map(procfs::describe)
            .collect()
    }

    /// Is anybody there now?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.census.members().is_empty()
    }

    /// Asks everybody who was not asked yet to end: `TERM`, and `CONT` so that a stopped process
    /// receives it. Called again during the grace it reaches who was born meanwhile.
    /// Returns whether nobody is there any more.
    pub fn terminate(&mut self) -> bool {
        let listed = self.listing();
        for &(pid, raw) in &listed.order {
            if self.asked.insert(raw) {
                self.signal(pid, Signal::TERM, &listed.ids);
                self.signal(pid, Signal::CONT, &listed.ids);
            }
        }
        listed.order.is_empty()
    }

    /// One round: kill whole groups where they are ours alone, freeze the rest until nobody new
    /// appears, then kill it. Returns how many were frozen and killed.
    pub fn kill_round(&mut self) -> usize {
        self.kill_groups();
        // No descriptors are held: a storm is larger than what a process may have open. Who is
        // frozen cannot end, so its id stays its own.
        let mut frozen = HashSet::new();
        let mut listed = self.listing();
        for _ in 0..FREEZE_ROUNDS {
            let mut grew = false;
            for &(pid, raw) in &listed.order {
                if !frozen.contains(&raw) && self.signal(pid, Signal::STOP, &listed.ids) {
                    frozen.insert(raw);
                    grew = true;
                }
            }
            if !grew {
                break;
            }
            listed = self.listing();
        }
        for &(pid, _) in &listed.order {
            // Already gone is what we want.
            self.signal(pid, Signal::KILL, &listed.ids);
        }
        frozen.len()
    }

    /// Against a fork bomb nothing else is fast enough.
    fn kill_groups(&self) {
        if !self.census.owns_groups() {
            return;
        }
        let own = rustix::process::getpgrp().as_raw_nonzero().get();
        let groups: HashSet<i32> = self
            .listing()
            .order
            .iter()
            .filter_map(|&(pid, _)| Some(procfs::stat(pid)?.group))
            .filter(|&group| group != own)
            .collect();
        for group in groups {
            if let Some(group) = Pid::from_raw(group).filter(|_| group > 1) {
                let _ = rustix::process::kill_process_group(group, Signal::KILL);
            }
        }
    }

    fn listing(&self) -> Listing {
        let order: Vec<(Pid, i32)> = self
            .census
            .members()
            .into_iter()
            .map(|pid| (pid, pid.as_raw_nonzero().get()))
            .collect();
        let ids = order.iter().map(|&(_, raw)| raw).collect();
        Listing { order, ids }
    }

    /// Kills one member and nobody else.
    pub fn kill_one(&mut self, pid: Pid) {
        let listed = self.listing();
        self.signal(pid, Signal::KILL, &listed.ids);
    }

    /// Rounds until nobody is left or the deadline has passed; `reap` is called after each round
    /// (a subreaper collects its zombies there). Returns who could not be ended.
    pub fn kill_all(&mut self, deadline: Instant, mut reap: impl FnMut()) -> Vec<ProcessInfo> {
        let mut pause = Duration::from_micros(200);
        for round in 1.. {
            self.kill_round();
            reap();
            if self.is_empty() {
                return Vec::new();
            }
            // On a machine that is short of processors one round may take all the time there is.
            if round >= LEAST_ROUNDS && Instant::now() >= deadline {
                return self.members();
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(5));
        }
        Vec::new()
    }

    /// Signals a member through a pidfd; `false` when it is none any more.
    fn signal(&self, pid: Pid, signal: Signal, listed: &HashSet<i32>) -> bool {
        pidfd_open(pid, PidfdFlags::empty()).is_ok_and(|handle| {
            self.census.contains(pid, listed) && pidfd_send_signal(&handle, signal).is_ok()
        })
    }
}

/// Who was there at one moment.
struct Listing {
    order: Vec<(Pid, i32)>,
    ids: HashSet<i32>,
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    fn marked(value: &str) -> ByMarker {
        ByMarker {
            entry: format!("GUARDIAN_SWEEP_TEST={value}").into_bytes(),
            group: None,
            session: None,
        }
    }

    #[test]
    fn a_fork_storm_of_term_ignorers_is_ended() {
        let mut child = Command::new("bash")
            .args(["-c", "trap '' TERM; for i in {1..60}; do (trap '' TERM; while :; do (sleep 0.01); done) & done; echo up; wait"])
            .env("GUARDIAN_SWEEP_TEST", "storm")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        std::io::BufRead::read_line(
            &mut std::io::BufReader::new(child.stdout.take().unwrap()),
            &mut line,
        )
        .unwrap();
        let mut sweep = Sweep::new(marked("storm"));
        assert!(sweep.members().len() > 60);
        sweep.terminate();
        assert!(!sweep.is_empty());
        let left = sweep.kill_all(Instant::now() + Duration::from_secs(20), || {});
        assert_eq!(left, []);
        child.wait().unwrap();
        assert_eq!(marked("storm").members(), []);
    }

    #[test]
    fn a_process_that_is_no_member_is_not_signalled() {
        let mut other = Command::new("sleep").arg("60").spawn().unwrap();
        let mut sweep = Sweep::new(marked("nobody"));
        assert!(!sweep.signal(Pid::from_child(&other), Signal::KILL, &HashSet::new()));
        assert_eq!(sweep.kill_round(), 0);
        assert!(other.try_wait().unwrap().is_none());
        other.kill().unwrap();
        other.wait().unwrap();
    }
}
