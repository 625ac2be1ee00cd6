//! The body of Read.

use std::os::fd::{AsFd, BorrowedFd};

use guardian_facts::input::ReadInput;
use serde_json::json;

use crate::bind::{Bound, BoundTarget};
use crate::contained::Contained;
use crate::context::{Look, ToolContext, Vision};
use crate::encoding::{BINARY_LOOK, Encoding, LineEnding, broken_utf8};
use crate::file::{read_at, read_whole};
use crate::image;
use crate::output::ToolOutput;
use crate::tag::{tag_of_bytes, tag_of_metadata};
use crate::window::{Source, Window, read_window, text_window};
use crate::{FailureCode, ToolFailure};

/// Reads a window of lines. Memory is bounded by the hashed size and the result size, whatever
/// the file's size.
pub(crate) fn read(
    bound: &Bound<ReadInput>,
    cx: &ToolContext<'_>,
) -> Result<ToolOutput, ToolFailure> {
    let target = match &bound.target {
        BoundTarget::File(target) => target,
        BoundTarget::Unusable { failure, .. } => return Err(failure.clone()),
        _ => {
            return Err(ToolFailure::new(
                FailureCode::Internal,
                "Read is not bound to a file",
            ));
        }
    };
    cx.check()?;
    let file = target.open_for_reading()?;
    let failed = |errno| ToolFailure::system("read", &target.shown(), errno);
    let stat = rustix::fs::fstat(&file).map_err(failed)?;
    let size = u64::try_from(stat.st_size).unwrap_or(0);
    let (tag, read) =
        match read_whole(file.as_fd(), size, cx.limits.hashed_bytes).map_err(failed)? {
            Some(bytes) => {
                let tag = tag_of_bytes(&bytes);
                let read = in_memory(target, &bytes, bound.input(), &tag, cx);
                (tag, read)
            }
            None => {
                let tag = tag_of_metadata(&stat);
                let mut head = vec![0_u8; BINARY_LOOK];
                let got = read_at(file.as_fd(), &mut head, 0).map_err(failed)?;
                head.truncate(got);
                let read = in_pieces(target, file.as_fd(), (&head, size), bound.input(), &tag, cx);
                (tag, read)
            }
        };
    // What cannot be shown was met all the same: a Write over it is not stale for ever.
    if matches!(&read, Err(failure) if failure.code == FailureCode::ToolBinaryContent) {
        cx.tags.remember_version(&target.canonical(), &tag);
    }
    read
}

fn in_memory(
    target: &Contained,
    bytes: &[u8],
    input: &ReadInput,
    tag: &str,
    cx: &ToolContext<'_>,
) -> Result<ToolOutput, ToolFailure> {
    let size = bytes.len() as u64;
    let head = &bytes[..bytes.len().min(BINARY_LOOK)];
    if let Some(output) = refuse_binary(head, bytes, target, tag, size, cx)? {
        return Ok(output);
    }
    let (encoding, text) = encoding_of(bytes, head);
    let window = match text {
        Some(text) => text_window(text, input, cx),
        None => read_window(&Source::Whole(bytes), encoding, input, cx)?,
    };
    let doubt = doubt_about(bytes, encoding);
    finish(target, input, (window, encoding, doubt), size, tag, cx)
}

fn in_pieces(
    target: &Contained,
    file: BorrowedFd<'_>,
    (head, size): (&[u8], u64),
    input: &ReadInput,
    tag: &str,
    cx: &ToolContext<'_>,
) -> Result<ToolOutput, ToolFailure> {
    if let Some(output) = refuse_binary(head, &[], target, tag, size, cx)? {
        return Ok(output);
    }
    let (window, encoding) = large(file, head, size, &target.shown(), input, cx)?;
    let doubt = (encoding == Encoding::Windows1252).then(|| NOT_UTF_8.to_owned());
    finish(target, input, (window, encoding, doubt), size, tag, cx)
}

const NOT_UTF_8: &str = "the file is not UTF-8; shown as windows-1252";

/// What is to be said about the encoding, besides its name.
fn doubt_about(bytes: &[u8], encoding: Encoding) -> Option<String> {
    let body = &bytes[encoding.mark().len()..];
    match encoding {
        Encoding::Utf8 => None,
        Encoding::Windows1252 => Some(match broken_utf8(body) {
            None => NOT_UTF_8.to_owned(),
            Some(line) => format!(
                "the file is UTF-8 but for a wrong byte in line {line}; shown as windows-1252, \
                 so other characters than ASCII look wrong"
            ),
        }),
        marked => marked.decode_exact(body).is_none().then(|| {
            format!(
                "the file is marked as {} but holds what is no text in it; that is shown as \u{fffd}, \
                 or left out at its end",
                marked.as_str()
            )
        }),
    }
}

fn large(
    file: BorrowedFd<'_>,
    head: &[u8],
    size: u64,
    shown: &str,
    input: &ReadInput,
    cx: &ToolContext<'_>,
) -> Result<(Window, Encoding), ToolFailure> {
    let source = Source::Streamed { file, size, shown };
    let marked = Encoding::from_mark(head);
    let window = read_window(&source, marked.unwrap_or(Encoding::Utf8), input, cx)?;
    // Only the window says whether an unmarked file is UTF-8: the rest is never decoded.
    let encoding = match marked {
        Some(encoding) => encoding,
        None if window.is_utf8 => Encoding::Utf8,
        None => Encoding::Windows1252,
    };
    let window = if encoding == Encoding::Windows1252 {
        read_window(&source, encoding, input, cx)?
    } else {
        window
    };
    Ok((window, encoding))
}

/// The encoding, and the text after its mark where that is valid UTF-8 as it stands.
fn encoding_of<'b>(bytes: &'b [u8], head: &[u8]) -> (Encoding, Option<&'b str>) {
    match Encoding::from_mark(head) {
        Some(Encoding::Utf8Bom) => {
            let body = &bytes[Encoding::Utf8Bom.mark().len()..];
            (Encoding::Utf8Bom, std::str::from_utf8(body).ok())
        }
        Some(marked) => (marked, None),
        None => match std::str::from_utf8(bytes) {
            Ok(text) => (Encoding::Utf8, Some(text)),
            Err(_) => (Encoding::Windows1252, None),
        },
    }
}

fn finish(
    target: &Contained,
    input: &ReadInput,
    (window, encoding, doubt): (Window, Encoding, Option<String>),
    size: u64,
    tag: &str,
    cx: &ToolContext<'_>,
) -> Result<ToolOutput, ToolFailure> {
    if window.holds_nul {
        return Err(binary(target, size, "application/octet-stream"));
    }
    cx.tags.remember(&target.canonical(), tag, Look::Content);
    let mut notices = input.notices.clone();
    if let Some(notice) = window.notice() {
        notices.push(notice);
    }
    notices.extend(doubt);
    let mut content = json!({
        "path": target.shown(),
        "root": target.root().as_str(),
        "content": window.text,
        "offset": window.offset,
        "lineCount": window.lines,
        "fileBytes": size,
        "encoding": encoding.as_str(),
        "lineEnding": LineEnding::from_counts(window.lf, window.crlf).as_str(),
        "tag": tag,
        "truncated": window.truncated(),
    });
    if let Some(total) = window.total_lines {
        content["totalLines"] = total.into();
    }
    if !notices.is_empty() {
        content["notice"] = notices.join("; ").into();
    }
    Ok(ToolOutput::unchanged(content))
}

/// `Ok(None)` for text, the result for an image, the refusal for anything else with a NUL.
fn refuse_binary(
    head: &[u8],
    whole: &[u8],
    target: &Contained,
    tag: &str,
    size: u64,
    cx: &ToolContext<'_>,
) -> Result<Option<ToolOutput>, ToolFailure> {
    if Encoding::from_mark(head).is_some() || memchr::memchr(0, head).is_none() {
        return Ok(None);
    }
    let mime = image::mime_of(head);
    let Some((width, height)) = image::dimensions(if whole.is_empty() { head } else { whole })
    else {
        return Err(binary(target, size, mime));
    };
    let mut content = json!({
        "path": target.shown(),
        "root": target.root().as_str(),
        "mimeType": mime,
        "width": width,
        "height": height,
        "fileBytes": size,
        "truncated": false,
    });
    match cx.vision {
        Vision::Declared if !whole.is_empty() && size <= cx.limits.image_bytes => {
            content["data"] = image::base64(whole).into();
            cx.tags.remember(&target.canonical(), tag, Look::Content);
        }
        Vision::Declared => {
            content["notice"] = format!(
                "the image has {size} bytes, more than the {} that are sent; make a smaller copy",
                cx.limits.image_bytes
            )
            .into();
        }
        Vision::Absent => {}
    }
    cx.tags.remember_version(&target.canonical(), tag);
    Ok(Some(ToolOutput::unchanged(content)))
}

pub(crate) fn binary(target: &Contained, size: u64, mime: &str) -> ToolFailure {
    ToolFailure::new(
        FailureCode::ToolBinaryContent,
        format!(
            "`{}` is binary ({mime}, {size} bytes); use a program that understands it, e.g. \
             `file`, `strings` or `xxd | head` through Bash",
            target.shown()
        ),
    )
    .with("fileBytes", size)
    .with("mimeType", mime)
}
