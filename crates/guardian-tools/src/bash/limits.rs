//! The bounds of one command (SPEC §10).

use std::time::Duration;

/// Bounds of one command. [`BashLimits::standard`] has the numbers of SPEC §10.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BashLimits {
    /// Longest command text, in bytes.
    pub command_bytes: usize,
    /// Longest returned text per stream, in bytes, without the marker.
    pub output_bytes: usize,
    /// Most returned lines per stream, without the marker.
    pub output_lines: usize,
    /// Largest full copy per stream in scratch.
    pub spill_bytes: u64,
    /// A streamed chunk is sent when it has this many bytes …
    pub batch_bytes: usize,
    /// … or its first byte has waited this long.
    pub batch_interval: Duration,
    /// From `TERM` to the end by force.
    pub grace: Duration,
    /// Processes the command may have at the same time, where the system can limit it.
    pub processes: Option<u64>,
    /// Memory the command may have in total, in bytes, where the system can limit it.
    pub memory_bytes: Option<u64>,
}

impl BashLimits {
    /// The numbers of SPEC §10.
    #[must_use]
    pub fn standard() -> Self {
        Self {
            command_bytes: 256 * 1024,
            output_bytes: 96 * 1024,
            output_lines: 4000,
            spill_bytes: 64 * 1024 * 1024,
            batch_bytes: 16 * 1024,
            batch_interval: Duration::from_millis(100),
            grace: Duration::from_millis(500),
            processes: Some(4096),
            memory_bytes: None,
        }
    }
}
