//! The body of Write.

use guardian_facts::input::WriteInput;
use serde_json::json;

use crate::bind::{Bound, BoundTarget};
use crate::change::{Before, Change, apply, current_tag, load, tag_of};
use crate::contained::Place;
use crate::context::{Look, ToolContext};
use crate::encoding::{Encoding, LineEnding, broken_utf8, decode_whole, detect, reads_back, to_lf};
use crate::output::{ChangeOperation, ToolOutput};
use crate::preview::Prepared;
use crate::splice::splice_text;
use crate::{FailureCode, ToolFailure};

/// Creates or replaces a file.
pub(crate) fn write(
    mut bound: Bound<WriteInput>,
    cx: &ToolContext<'_>,
) -> Result<ToolOutput, ToolFailure> {
    let plan = match Prepared::take(&mut bound) {
        Some(Prepared::Write(plan)) => plan,
        _ => plan(&bound, cx)?,
    };
    let place = place_of(&bound)?;
    let mut content = json!({
        "path": place.shown(),
        "root": place.root().as_str(),
        "bytes": plan.new.len(),
        "created": matches!(plan.before, Before::Absent),
        "truncated": false,
    });
    if let Some(ending) = plan.line_ending {
        content["lineEnding"] = ending.as_str().into();
    }
    let mut notices = plan.notices;
    if let Before::Bytes { bytes: old, .. } = &plan.before
        && *old == plan.new
    {
        let tag = tag_of(&plan.new, place, cx)?;
        cx.tags.remember(&place.canonical(), &tag, Look::Content);
        content["tag"] = tag.into();
        content["unchanged"] = true.into();
        notices.push("the file has exactly this content already; nothing was changed".to_owned());
        content["notice"] = notices.join("; ").into();
        return Ok(ToolOutput::unchanged(content));
    }
    let change = Change {
        place,
        before: plan.before,
        new: plan.new,
        operation: ChangeOperation::Write,
        must_be_reversible: plan.unread && bound.approved_hash.is_none(),
    };
    let done = apply(change, cx)?;
    if plan.unread {
        content["overwroteUnread"] = true.into();
    }
    notices.extend(done.notice);
    content["tag"] = done.tag.into();
    if !notices.is_empty() {
        content["notice"] = notices.join("; ").into();
    }
    Ok(ToolOutput {
        content,
        changed: Some(done.record),
    })
}

/// What a Write will do: everything that can be known before it runs.
#[derive(Debug)]
pub(crate) struct WritePlan {
    pub(crate) before: Before,
    pub(crate) new: Vec<u8>,
    pub(crate) line_ending: Option<LineEnding>,
    /// It replaces a file that the session never saw.
    pub(crate) unread: bool,
    pub(crate) notices: Vec<String>,
}

pub(crate) fn plan(
    bound: &Bound<WriteInput>,
    cx: &ToolContext<'_>,
) -> Result<WritePlan, ToolFailure> {
    let place = place_of(bound)?;
    cx.check()?;
    let content = bound.input().content.as_str();
    let Some(existing) = place.existing() else {
        return Ok(WritePlan {
            before: Before::Absent,
            new: content.as_bytes().to_vec(),
            line_ending: Some(LineEnding::of(content)),
            unread: false,
            notices: Vec::new(),
        });
    };
    let before = load(existing, bound.approved_hash.as_deref(), cx)?;
    let mut notices = Vec::new();
    let new = match &before {
        Before::Bytes { bytes: old, .. } => styled(old, content, &mut notices),
        Before::Absent | Before::TooLarge(_) => content.as_bytes().to_vec(),
    };
    let line_ending = detect(&new)
        .map(|encoding| crate::window::line_ending_of(&new[encoding.mark().len()..], encoding));
    let same = matches!(&before, Before::Bytes { bytes: old, .. } if *old == new);
    let last = cx.tags.last(&place.canonical());
    if let Some(last) = &last
        && !same
    {
        let now = current_tag(&before);
        if last.tag != now {
            return Err(ToolFailure::new(
                FailureCode::StaleFile,
                format!(
                    "`{}` has other content than when this session last saw it; read it again \
                     and write what should be there now",
                    place.shown()
                ),
            )
            .with("tag", now));
        }
    }
    Ok(WritePlan {
        before,
        new,
        line_ending,
        unread: last.is_none_or(|seen| seen.look == Look::Version),
        notices,
    })
}

fn place_of(bound: &Bound<WriteInput>) -> Result<&Place, ToolFailure> {
    match &bound.target {
        BoundTarget::Place(place) => Ok(place),
        BoundTarget::Unusable { failure, .. } => Err(failure.clone()),
        _ => Err(ToolFailure::new(
            FailureCode::Internal,
            "Write is not bound to a place",
        )),
    }
}

/// The content in the encoding and line ends of the text file that it replaces. Never one file in
/// two encodings: what the old one cannot hold, or would not be read back from it, makes the whole
/// file UTF-8, and a notice says so.
fn styled(old: &[u8], content: &str, notices: &mut Vec<String>) -> Vec<u8> {
    // All of it goes, so what is not valid in it matters for its line ends only.
    let Some((encoding, text)) = decode_whole(old) else {
        return content.as_bytes().to_vec();
    };
    let mark = encoding.mark();
    let content = if mark.is_empty() {
        content
    } else {
        content.trim_start_matches('\u{feff}')
    };
    let ending = LineEnding::of(&text);
    let new_text = if memchr::memchr(b'\n', text.as_bytes()).is_none() {
        // Nothing to keep: what was given, as it was given.
        content.to_owned()
    } else if ending == LineEnding::Lf {
        to_lf(content).into_owned()
    } else {
        splice_text(&text, 0..text.len(), &to_lf(content))
    };
    if ending == LineEnding::Lf && new_text.len() < content.len() {
        notices.push(
            "the lines of the file end in LF; the CRLF of `content` were written as LF".to_owned(),
        );
    }
    if encoding == Encoding::Windows1252
        && let Some(line) = broken_utf8(old)
    {
        notices.push(format!(
            "the file was UTF-8 with a wrong byte in line {line}; it is UTF-8 now"
        ));
        return new_text.into_bytes();
    }
    if encoding == Encoding::Utf8 {
        return new_text.into_bytes();
    }
    let unfit = match encoding.encode(&new_text) {
        Ok(bytes) => {
            let bytes = [mark, &bytes].concat();
            if reads_back(&bytes, encoding) {
                return bytes;
            }
            "this text would be read as another encoding".to_owned()
        }
        Err(c) => format!("`{c}` cannot be expressed in it"),
    };
    notices.push(format!(
        "the file was {} and {unfit}; it is UTF-8 now",
        encoding.as_str()
    ));
    new_text.into_bytes()
}
