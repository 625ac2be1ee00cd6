//! Redacts standard input in pieces, as a host does with the output of a command.
//!
//! `echo 'export DB_PASSWORD=hunter2' | cargo run -p guardian-redact --example redact`

use std::io::{self, Read, Write};

use guardian_redact::{Redactor, StreamRedactor};

fn main() -> io::Result<()> {
    // A host adds the values of its own secret environment variables.
    let redactor = Redactor::builtin().with_known_values(std::env::var("EXAMPLE_SECRET"));
    let mut stream = StreamRedactor::new(redactor);
    let mut piece = [0; 4096];
    let mut out = io::stdout().lock();
    loop {
        let length = io::stdin().read(&mut piece)?;
        if length == 0 {
            break;
        }
        out.write_all(&stream.push(&piece[..length]))?;
    }
    out.write_all(&stream.finish())
}
