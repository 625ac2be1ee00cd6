//! How fast, and how precise: redacts ordinary source and says what it cost and touched (issue F:
//! at least 300 MB/s, and at least 99.9 % of the lines untouched).
//!
//! `cargo xtask bench redact [-- FILE…]`; without files, the sources of the crates that cargo has
//! unpacked on this machine, up to 64 MiB of them.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use guardian_redact::Redactor;

/// Bytes of source that are redacted where no files are named.
const CORPUS: u64 = 64 * 1024 * 1024;

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    let began = Instant::now();
    let redactor = Redactor::builtin();
    assert_eq!(redactor.redact_text("nothing"), "nothing");
    writeln!(out, "first use: {:?}", began.elapsed())?;

    let named: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let files = if named.is_empty() {
        unpacked_crates()
    } else {
        named
    };
    let texts: Vec<Vec<u8>> = files.iter().map(std::fs::read).collect::<Result<_, _>>()?;
    let bytes: usize = texts.iter().map(Vec::len).sum();
    let lines: usize = texts
        .iter()
        .map(|text| text.split(|&byte| byte == b'\n').count())
        .sum();
    for text in &texts {
        // Warms the caches; shapes are compiled where they are needed.
        drop(redactor.redact_bytes(text));
    }
    let began = Instant::now();
    let redacted: Vec<_> = texts
        .iter()
        .map(|text| redactor.redact_bytes(text))
        .collect();
    let elapsed = began.elapsed();
    let mut touched = 0_u32;
    for (text, redacted) in texts.iter().zip(&redacted) {
        let left: std::collections::HashSet<&[u8]> =
            redacted.split(|&byte| byte == b'\n').collect();
        for line in text
            .split(|&byte| byte == b'\n')
            .filter(|line| !left.contains(line))
        {
            touched += 1;
            if touched <= 60 {
                let shown = line.trim_ascii();
                let shown = redactor.redact_bytes(&shown[..shown.len().min(200)]);
                writeln!(out, "  {}", String::from_utf8_lossy(&shown))?;
            }
        }
    }
    let rate = bytes as f64 / 1e6 / elapsed.as_secs_f64().max(1e-9);
    let untouched = 100.0 * (1.0 - f64::from(touched) / (lines as f64).max(1.0));
    let met = |is_met| if is_met { "met" } else { "MISSED" };
    writeln!(
        out,
        "{bytes} bytes of {} files in {elapsed:?}: {rate:.0} MB/s (goal 300: {})",
        files.len(),
        met(rate >= 300.0),
    )?;
    writeln!(
        out,
        "{touched} of {lines} lines touched: {untouched:.4} % untouched (goal 99.9: {})",
        met(untouched >= 99.9),
    )
}

/// Sources of crates that cargo has unpacked, in the order of their paths.
fn unpacked_crates() -> Vec<PathBuf> {
    let home = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| {
            let home = std::env::var_os("HOME")?;
            Some(Path::new(&home).join(".cargo"))
        });
    let mut directories = vec![home.unwrap_or_default().join("registry/src")];
    let (mut files, mut bytes) = (Vec::new(), 0);
    while let Some(directory) = directories.pop() {
        let mut entries: Vec<_> = std::fs::read_dir(directory)
            .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
            .unwrap_or_default();
        entries.sort();
        for path in entries.into_iter().rev() {
            let is_source = path.extension().is_some_and(|one| {
                ["rs", "toml", "md", "c", "h", "py", "json", "sh", "txt"]
                    .iter()
                    .any(|known| one == *known)
            });
            match path.symlink_metadata() {
                Ok(metadata) if metadata.is_dir() => directories.push(path),
                Ok(metadata) if metadata.is_file() && is_source && bytes < CORPUS => {
                    bytes += metadata.len();
                    files.push(path);
                }
                _ => {}
            }
        }
    }
    files
}
