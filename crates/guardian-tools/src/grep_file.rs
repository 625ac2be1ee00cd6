//! Searching one opened file.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::BorrowedFd;

use grep_regex::RegexMatcher;
use grep_searcher::Searcher;
use guardian_facts::input::{GrepInput, OutputMode};
use rustix::fs::FileType;
use rustix::io::Errno;

use crate::context::ToolContext;
use crate::encoding::{BINARY_LOOK, Encoding, broken_utf8};
use crate::file::read_at;
use crate::grep::Outcome;
use crate::grep_lines::{Collect, Count, Line};

/// What one file has.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Matching lines, at most as many as the whole result may have.
    pub(crate) lines: Vec<Line>,
    /// The file has more.
    pub(crate) cut: bool,
    pub(crate) count: u64,
}

/// Files up to this size are searched in memory at once.
const AT_ONCE: usize = 1024 * 1024;
/// The longest line, and in multi-line mode the largest file.
pub(crate) const MAX_HEAP: usize = 64 * 1024 * 1024;
const FIRST_READ: usize = 64 * 1024;

/// Searches files one after the other, with buffers that are used again.
pub(crate) struct FileSearch {
    matcher: RegexMatcher,
    searcher: Searcher,
    mode: OutputMode,
    limit: usize,
    line_chars: usize,
    buffer: Vec<u8>,
}

impl FileSearch {
    pub(crate) fn new(
        input: &GrepInput,
        matcher: RegexMatcher,
        searcher: Searcher,
        cx: &ToolContext<'_>,
        limit: usize,
    ) -> Self {
        Self {
            matcher,
            searcher,
            mode: input.output_mode,
            limit,
            line_chars: cx.limits.line_chars,
            buffer: vec![0; FIRST_READ],
        }
    }

    /// Searches the file from its start. `stop` is asked between pieces.
    pub(crate) fn search(
        &mut self,
        file: BorrowedFd<'_>,
        stop: &dyn Fn() -> bool,
    ) -> Result<Outcome, Errno> {
        let mut filled = read_at(file, &mut self.buffer, 0)?;
        let head = &self.buffer[..filled.min(BINARY_LOOK)];
        let marked = Encoding::from_mark(head);
        if marked.is_none() && memchr::memchr(0, head).is_some() {
            return Ok(Outcome::Binary);
        }
        while filled == self.buffer.len() && filled < AT_ONCE {
            self.buffer.resize((filled * 4).min(AT_ONCE), 0);
            filled += read_at(file, &mut self.buffer[filled..], filled as u64)?;
        }
        let whole = filled < self.buffer.len();
        let searched = match marked {
            Some(Encoding::Utf32Le | Encoding::Utf32Be) if !whole => return Ok(Outcome::TooLarge),
            Some(encoding @ (Encoding::Utf32Le | Encoding::Utf32Be)) => {
                let text = encoding.decode_lossy(&self.buffer[4..filled]).into_owned();
                self.run(Bytes::Slice(text.as_bytes()))
            }
            None if is_windows_1252(&self.buffer[..filled], whole) => {
                // As Read shows it, so that what was read can be searched for.
                if whole {
                    let text = Encoding::Windows1252.decode_lossy(&self.buffer[..filled]);
                    let text = text.into_owned();
                    self.run(Bytes::Slice(text.as_bytes()))
                } else {
                    let Some(stream) = stream(file, stop)? else {
                        return Ok(Outcome::Nothing);
                    };
                    self.run(Bytes::Windows1252(Windows1252::new(stream)))
                }
            }
            _ if whole => {
                let buffer = std::mem::take(&mut self.buffer);
                let searched = self.run(Bytes::Slice(&buffer[..filled]));
                self.buffer = buffer;
                searched
            }
            _ => {
                let Some(stream) = stream(file, stop)? else {
                    return Ok(Outcome::Nothing);
                };
                self.run(Bytes::Stream(stream))
            }
        };
        match searched {
            Ok(outcome) => Ok(outcome),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(Outcome::Nothing),
            Err(error) => match error.raw_os_error() {
                Some(code) => Err(Errno::from_raw_os_error(code)),
                // The searcher's own refusal: a line does not fit its heap.
                None => Ok(Outcome::TooLarge),
            },
        }
    }

    fn run(&mut self, bytes: Bytes<'_>) -> io::Result<Outcome> {
        let found = match self.mode {
            OutputMode::Content => {
                let mut sink = Collect::new(&self.matcher, self.limit, self.line_chars);
                bytes.search(&mut self.searcher, &self.matcher, &mut sink)?;
                let (lines, cut) = sink.into_lines();
                Found {
                    count: lines.len() as u64,
                    lines,
                    cut,
                }
            }
            OutputMode::FilesWithMatches => {
                let mut sink = Count::first_only();
                bytes.search(&mut self.searcher, &self.matcher, &mut sink)?;
                Found {
                    count: sink.count,
                    ..Found::default()
                }
            }
            OutputMode::Count => {
                let mut sink = Count::all();
                bytes.search(&mut self.searcher, &self.matcher, &mut sink)?;
                Found {
                    count: sink.count,
                    ..Found::default()
                }
            }
        };
        Ok(if found.count == 0 {
            Outcome::Nothing
        } else {
            Outcome::Matches(found)
        })
    }
}

/// The file as a stream; `None` when it is not a regular one.
fn stream<'s>(
    file: BorrowedFd<'_>,
    stop: &'s dyn Fn() -> bool,
) -> Result<Option<Interruptible<'s>>, Errno> {
    let owned = rustix::io::fcntl_dupfd_cloexec(file, 0)?;
    let kind = FileType::from_raw_mode(rustix::fs::fstat(&owned)?.st_mode);
    Ok((kind == FileType::RegularFile).then(|| Interruptible {
        file: File::from(owned),
        position: 0,
        stop,
    }))
}

/// Is unmarked text neither UTF-8 nor meant to be? (UTF-8 with a few wrong bytes is searched as it
/// is: its lines are UTF-8.) Of a large file the beginning decides.
fn is_windows_1252(bytes: &[u8], whole: bool) -> bool {
    match std::str::from_utf8(bytes) {
        Ok(_) => false,
        Err(error) if error.error_len().is_none() && !whole => false,
        Err(_) => broken_utf8(bytes).is_none(),
    }
}

enum Bytes<'a> {
    Slice(&'a [u8]),
    Stream(Interruptible<'a>),
    Windows1252(Windows1252<'a>),
}

impl Bytes<'_> {
    fn search<S: grep_searcher::Sink<Error = io::Error>>(
        self,
        searcher: &mut Searcher,
        matcher: &RegexMatcher,
        sink: &mut S,
    ) -> io::Result<()> {
        match self {
            Self::Slice(bytes) => searcher.search_slice(matcher, bytes, sink),
            Self::Stream(stream) => searcher.search_reader(matcher, stream, sink),
            Self::Windows1252(stream) => searcher.search_reader(matcher, stream, sink),
        }
    }
}

/// A file that is read from its start and can be stopped.
struct Interruptible<'a> {
    file: File,
    position: u64,
    stop: &'a dyn Fn() -> bool,
}

impl Read for Interruptible<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        use std::os::unix::fs::FileExt;
        if (self.stop)() {
            // Ends the search like the end of the file: what was found so far counts.
            return Ok(0);
        }
        let got = self.file.read_at(buffer, self.position)?;
        self.position += got as u64;
        Ok(got)
    }
}

/// A stream of windows-1252 text, read as UTF-8.
struct Windows1252<'a> {
    stream: Interruptible<'a>,
    decoded: Vec<u8>,
    given: usize,
}

impl<'a> Windows1252<'a> {
    fn new(stream: Interruptible<'a>) -> Self {
        Self {
            stream,
            decoded: Vec::new(),
            given: 0,
        }
    }
}

impl Read for Windows1252<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given == self.decoded.len() {
            let mut piece = vec![0; FIRST_READ];
            let got = self.stream.read(&mut piece)?;
            let text = Encoding::Windows1252.decode_lossy(&piece[..got]);
            self.decoded = text.into_owned().into_bytes();
            self.given = 0;
        }
        let left = &self.decoded[self.given..];
        let count = left.len().min(buffer.len());
        buffer[..count].copy_from_slice(&left[..count]);
        self.given += count;
        Ok(count)
    }
}
