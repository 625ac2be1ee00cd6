//! The body of BrowserPreview: where a file lies, for whoever shows it.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use guardian_facts::input::PreviewInput;
use serde_json::json;

use crate::bind::{Bound, BoundTarget};
use crate::output::ToolOutput;
use crate::{FailureCode, ToolFailure};

/// Says under which URL the file is to be shown. Reads nothing of it.
pub(crate) fn browser_preview(bound: &Bound<PreviewInput>) -> Result<ToolOutput, ToolFailure> {
    let target = match &bound.target {
        BoundTarget::File(target) => target,
        BoundTarget::Unusable { failure, .. } => return Err(failure.clone()),
        BoundTarget::Directory(_) | BoundTarget::Place(_) => {
            let message = "BrowserPreview is not bound to a file";
            return Err(ToolFailure::new(FailureCode::Internal, message));
        }
    };
    Ok(ToolOutput::unchanged(json!({
        "path": target.shown(),
        "root": target.root().as_str(),
        "url": file_url(&target.canonical()),
        "truncated": false,
    })))
}

/// A `file:` URL; every byte that means something in a URL is escaped.
fn file_url(path: &Path) -> String {
    let mut url = String::from("file://");
    for &byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'.' | b'_' | b'~') {
            url.push(char::from(byte));
        } else {
            url.push_str(&format!("%{byte:02X}"));
        }
    }
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_mean_something_in_a_url_are_escaped() {
        assert_eq!(
            file_url(Path::new("/w/a b#1?é%.html")),
            "file:///w/a%20b%231%3F%C3%A9%25.html"
        );
    }
}
