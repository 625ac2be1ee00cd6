//! One command from start to end, on one blocking thread: start, pump, end, drain.
//!
//! A thread and `poll` instead of async tasks: the order of what happens to a command is written
//! in one loop, file and pipe calls may block it, and nothing of the host's executor is held up by
//! a command that prints without end.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::{PipeFlags, pipe_with};

use super::capture::{Capture, CapturedText};
use super::group::Finished;
use super::process::Process;
use super::result::{BashResult, Ending, Exit};
use super::spill::SpillPlace;
use super::stream::{Batch, OutputStream};
use super::{BashContext, BashError, Program};

/// Bytes taken from one stream before the other things are looked at.
const TURN_BYTES: usize = 1024 * 1024;
/// What a pipe is asked to hold: larger than the default, for commands that print much.
const PIPE_BYTES: usize = 256 * 1024;

/// Runs the command; returns when nothing of it is left.
pub(super) fn run(
    program: &Program,
    timeout: Option<Duration>,
    tool_call_id: &str,
    context: &BashContext,
) -> Result<BashResult, BashError> {
    let started = Instant::now();
    let plan = super::sandbox::plan(context)?;
    let (mut streams, stdout, stderr) = Streams::new(tool_call_id, context)?;
    let mut process = Process::start(program, context, &plan, (stdout, stderr))?;
    let deadline = timeout.map(|timeout| started + timeout);
    let mut ending = Ending::Exited;
    let finished = loop {
        let now = Instant::now();
        if ending == Ending::Exited {
            if context.abort.is_aborted() {
                ending = Ending::Aborted;
            } else if deadline.is_some_and(|deadline| now >= deadline) {
                ending = Ending::TimedOut;
            }
            if ending != Ending::Exited {
                process.begin_end(now);
            }
        }
        if let Some(finished) = process.advance(now) {
            break finished?;
        }
        streams.tick(now, context);
        let wake_at = [
            process.next_tick(now),
            streams.due(),
            deadline.filter(|_| ending == Ending::Exited),
        ];
        let abort = (ending == Ending::Exited).then(|| context.abort.as_fd());
        wait(
            &process,
            &streams,
            abort,
            wake_at.into_iter().flatten().min(),
        );
        streams.pump(context);
    };
    let (stdout, stderr) = streams.finish(context);
    let Finished {
        exit,
        background_killed,
        background_count,
        survivors,
        exceeded,
    } = finished;
    let super::sandbox::Plan {
        mut report,
        placeholders,
        ..
    } = plan;
    drop(placeholders);
    if ending == Ending::Exited && exit != Exit::Code(0) {
        report.look_at_failure(&stderr.text);
    }
    Ok(BashResult {
        exit,
        ending,
        stdout,
        stderr,
        duration: started.elapsed(),
        cwd: context.workspace_path.clone(),
        shell_id: context.shell.id.as_str(),
        background_killed,
        background_count,
        survivors,
        exceeded,
        sandbox: report,
        ownership: process.ownership(),
    })
}

/// Sleeps until something is to be done.
fn wait(
    process: &Process,
    streams: &Streams,
    abort: Option<BorrowedFd<'_>>,
    wake_at: Option<Instant>,
) {
    let mut fds: Vec<PollFd<'_>> = streams.open_fds().map(readable).collect();
    fds.extend(abort.map(readable));
    fds.extend(process.as_fd().map(readable));
    let timeout = wake_at.map(|at| {
        let left = at.saturating_duration_since(Instant::now());
        // Rounded up, or the last millisecond is spent spinning.
        timespec(left + Duration::from_micros(100))
    });
    // An interrupted or failed poll is one more turn of the loop, which asks everybody.
    let _ = poll(&mut fds, timeout.as_ref());
}

fn readable(fd: BorrowedFd<'_>) -> PollFd<'_> {
    PollFd::from_borrowed_fd(fd, PollFlags::IN)
}

fn timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(duration.subsec_nanos()),
    }
}

/// Both streams of a command.
struct Streams {
    streams: [StreamReader; 2],
    buffer: Vec<u8>,
    next_seq: u64,
}

struct StreamReader {
    name: OutputStream,
    /// `None` after its end.
    pipe: Option<OwnedFd>,
    capture: Capture,
    batch: Batch,
}

impl Streams {
    /// The streams, and the ends that the command gets.
    fn new(
        tool_call_id: &str,
        context: &BashContext,
    ) -> Result<(Self, OwnedFd, OwnedFd), BashError> {
        let open = |name: OutputStream| -> Result<(StreamReader, OwnedFd), BashError> {
            let (read, write) = pipe_with(PipeFlags::CLOEXEC)
                .map_err(|error| BashError::Exhausted(error.into()))?;
            rustix::io::ioctl_fionbio(&read, true)
                .map_err(|error| BashError::Internal(error.to_string()))?;
            // Refused when the user's pipes hold too much already; then it is smaller.
            let _ = rustix::pipe::fcntl_setpipe_size(&read, PIPE_BYTES);
            let place = SpillPlace::new(&context.scratch, tool_call_id);
            let reader = StreamReader {
                name,
                pipe: Some(read),
                capture: Capture::new(name, &context.limits, place),
                batch: Batch::new(&context.limits),
            };
            Ok((reader, write))
        };
        let (stdout, stdout_write) = open(OutputStream::Stdout)?;
        let (stderr, stderr_write) = open(OutputStream::Stderr)?;
        let streams = Self {
            streams: [stdout, stderr],
            buffer: vec![0; 64 * 1024],
            next_seq: 0,
        };
        Ok((streams, stdout_write, stderr_write))
    }

    fn open_fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.streams
            .iter()
            .filter_map(|stream| stream.pipe.as_ref().map(AsFd::as_fd))
    }

    fn due(&self) -> Option<Instant> {
        self.streams
            .iter()
            .filter_map(|stream| stream.batch.due())
            .min()
    }

    /// Reads what is there, a bounded turn of each stream.
    fn pump(&mut self, context: &BashContext) {
        let Self {
            streams,
            buffer,
            next_seq,
        } = self;
        for stream in streams {
            let mut taken = 0;
            while taken < TURN_BYTES {
                let Some(pipe) = &stream.pipe else { break };
                match rustix::io::read(pipe, buffer.as_mut_slice()) {
                    Ok(0) => stream.pipe = None,
                    Ok(length) => {
                        taken += length;
                        let bytes = buffer.get(..length).unwrap_or_default();
                        stream.capture.push(bytes);
                        let name = stream.name;
                        stream.batch.push(bytes, Instant::now(), |chunk| {
                            send(context, name, next_seq, chunk);
                        });
                    }
                    Err(rustix::io::Errno::INTR) => {}
                    Err(rustix::io::Errno::AGAIN) => break,
                    Err(_) => stream.pipe = None,
                }
            }
        }
    }

    fn tick(&mut self, now: Instant, context: &BashContext) {
        let Self {
            streams, next_seq, ..
        } = self;
        for stream in streams {
            let name = stream.name;
            stream
                .batch
                .tick(now, |chunk| send(context, name, next_seq, chunk));
        }
    }

    /// What is still in the pipes, and the end of both streams. Does not wait for the pipes to
    /// close: one turn is more than a pipe holds, and nobody of the command is left to fill it.
    fn finish(mut self, context: &BashContext) -> (CapturedText, CapturedText) {
        self.pump(context);
        let Self {
            streams,
            mut next_seq,
            ..
        } = self;
        let [stdout, stderr] = streams.map(|mut stream| {
            let name = stream.name;
            stream
                .batch
                .finish(|chunk| send(context, name, &mut next_seq, chunk));
            stream.capture.render()
        });
        context.sink.finished(next_seq);
        (stdout, stderr)
    }
}

fn send(context: &BashContext, stream: OutputStream, next_seq: &mut u64, chunk: String) {
    let seq = *next_seq;
    *next_seq += 1;
    context.sink.chunk(stream, seq, chunk);
}
