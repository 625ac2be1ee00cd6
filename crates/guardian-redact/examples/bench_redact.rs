//! How fast, and how precise: redacts every file named and says what it cost and touched.
//!
//! `cargo xtask bench redact -- $(git ls-files "*.rs")`

use std::io::{self, Write};
use std::time::Instant;

use guardian_redact::Redactor;

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    let began = Instant::now();
    let redactor = Redactor::builtin();
    assert_eq!(redactor.redact_text("nothing"), "nothing");
    writeln!(out, "first use: {:?}", began.elapsed())?;

    let texts: Vec<Vec<u8>> = std::env::args_os()
        .skip(1)
        .map(std::fs::read)
        .collect::<Result<_, _>>()?;
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
    let mut touched = 0;
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
    writeln!(
        out,
        "{bytes} bytes in {elapsed:?}: {rate:.0} MB/s; {touched} of {lines} lines touched"
    )
}
