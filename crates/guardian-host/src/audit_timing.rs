//! Where time went: the figures of recorded calls by tool and stage (approval, tool, host).

use std::collections::BTreeMap;

use guardian_store::{AuditEvent, AuditRow};
use serde::Serialize;

/// Times of one stage, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StageTimes {
    /// Sum.
    pub sum: u64,
    /// Half of the calls took at most this.
    pub p50: u64,
    /// 95 of 100 calls took at most this.
    pub p95: u64,
    /// The longest.
    pub max: u64,
}

/// Times of the calls of one tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolTimes {
    /// Which tool.
    pub tool: String,
    /// How many calls, denied ones included.
    pub calls: u64,
    /// How many of them a person was asked about.
    pub prompted: u64,
    /// Waiting for an answer, calls that waited only.
    pub approval: StageTimes,
    /// Running.
    pub tool_time: StageTimes,
    /// Everything guardian did itself: reading, deciding, waiting for a slot, recording.
    pub host: StageTimes,
    /// From arrival to answer.
    pub total: StageTimes,
}

/// Collects rows.
#[derive(Debug, Default)]
pub struct Timing {
    tools: BTreeMap<String, Collected>,
}

#[derive(Debug, Default)]
struct Collected {
    calls: u64,
    prompted: u64,
    approval: Vec<u64>,
    tool: Vec<u64>,
    host: Vec<u64>,
    total: Vec<u64>,
}

impl Timing {
    /// Takes a row; rows that are not of a call's end count for nothing.
    pub fn add(&mut self, row: &AuditRow) {
        let entry = &row.entry;
        let (AuditEvent::Call, Some(tool)) = (&entry.event, &entry.tool) else {
            return;
        };
        let collected = self.tools.entry(tool.clone()).or_default();
        collected.calls += 1;
        collected.prompted += u64::from(entry.prompted == Some(true));
        let waited = entry.permission_wait_ms.filter(|waited| *waited > 0);
        collected.approval.extend(waited);
        collected.tool.extend(entry.duration_ms);
        collected.host.extend(entry.overhead_ms);
        collected.total.extend(entry.total_ms);
    }

    /// The figures, by name of the tool.
    #[must_use]
    pub fn summary(self) -> Vec<ToolTimes> {
        self.tools
            .into_iter()
            .map(|(tool, collected)| ToolTimes {
                tool,
                calls: collected.calls,
                prompted: collected.prompted,
                approval: stage(collected.approval),
                tool_time: stage(collected.tool),
                host: stage(collected.host),
                total: stage(collected.total),
            })
            .collect()
    }
}

fn stage(mut times: Vec<u64>) -> StageTimes {
    times.sort_unstable();
    let at = |percent: usize| {
        let index = (times.len() * percent).div_ceil(100).saturating_sub(1);
        times.get(index).copied().unwrap_or_default()
    };
    StageTimes {
        sum: times.iter().sum(),
        p50: at(50),
        p95: at(95),
        max: times.last().copied().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use guardian_store::{AuditEntry, Timestamp};

    fn row(tool: &str, waited: u64, ran: u64) -> AuditRow {
        AuditRow {
            seq: 1,
            at: Timestamp(0),
            entry: AuditEntry {
                tool: Some(tool.to_owned()),
                prompted: Some(waited > 0),
                permission_wait_ms: Some(waited),
                duration_ms: Some(ran),
                overhead_ms: Some(1),
                total_ms: Some(waited + ran + 1),
                ..AuditEntry::new(AuditEvent::Call)
            },
            hash: String::new(),
        }
    }

    #[test]
    fn each_stage_is_counted_by_itself() {
        let mut timing = Timing::default();
        (1..=100).for_each(|ran| timing.add(&row("Bash", 0, ran)));
        timing.add(&row("Bash", 5_000, 7));
        timing.add(&row("Read", 0, 2));
        let mut other = row("Bash", 9, 9);
        other.entry.event = AuditEvent::AboutToRun;
        timing.add(&other);
        let summary = timing.summary();
        assert_eq!(summary.len(), 2);
        let bash = &summary[0];
        assert_eq!((bash.calls, bash.prompted), (101, 1));
        let approval = StageTimes {
            sum: 5_000,
            p50: 5_000,
            p95: 5_000,
            max: 5_000,
        };
        assert_eq!(bash.approval, approval);
        assert_eq!(
            (bash.tool_time.p50, bash.tool_time.p95, bash.tool_time.max),
            (50, 95, 100)
        );
        assert_eq!((bash.host.sum, bash.total.max), (101, 5_008));
    }

    #[test]
    fn nothing_is_nothing() {
        assert_eq!(stage(Vec::new()), StageTimes::default());
        assert_eq!(Timing::default().summary(), []);
    }
}
