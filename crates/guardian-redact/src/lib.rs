//! Redaction of secrets on the way into store, log and card (SPEC §14).
//!
//! A [`Redactor`] replaces three sorts of secrets by a marker that names the kind, such as
//! `[REDACTED:github]`:
//!
//! 1. **token shapes** known from a data file (`config/secrets.toml`, embedded);
//! 2. **values of secret-looking keys**: `KEY=value`, headers, flags, quoted assignments, and
//!    members of JSON objects;
//! 3. **known values**, for example of the host's own secret environment variables.
//!
//! Hashes, UUIDs, `maxTokens` and the like stay. Nothing here ever touches the bytes of a file:
//! callers redact what they store, log or show.
//!
//! Main types: [`Redactor`] (whole texts and JSON values), [`StreamRedactor`] (chunks; the output
//! is the same for every way of cutting the input), [`Preview`] (what a card shows of arguments).
//!
//! ```
//! use guardian_redact::Redactor;
//!
//! let redactor = Redactor::builtin();
//! assert_eq!(redactor.redact_text("export DB_PASSWORD=hunter2!"), "export DB_PASSWORD=[REDACTED:key]");
//! assert_eq!(redactor.redact_text("maxTokens=4096"), "maxTokens=4096");
//! ```
//!
//! How it is fast and cheap to start: a table of three-byte beginnings finds short literal
//! *anchors* (`ghp_`, `://`, `password`, …); only where one is found a small check runs, and the
//! regular expression of a shape is compiled the first time its anchor is seen.

mod assign;
mod carried;
mod escape;
mod keys;
mod known;
mod preview;
mod redactor;
mod scan;
mod screen;
mod shapes;
mod stream;
mod swallow;
mod value;

pub use carried::CarriedSecrets;
pub use escape::{escape_invisible, one_line, one_line_of};
pub use keys::is_secret_key;
pub use preview::{Preview, PreviewLimits};
pub use redactor::Redactor;
pub use shapes::{ShapeError, ShapeInfo};
pub use stream::StreamRedactor;
