//! Extractors for tools without code here: a harness declares where in the arguments paths,
//! command and URL stand (SPEC §6).

use serde_json::Value;

use crate::{
    Access, AccessKind, AccessSource, ArgumentError, Endpoint, ExtractError, Extraction,
    FactContext, Facts, Opacity, ProbeLog, RawArgs, Reading, Target, ToolInput, ToolPathExtractor,
    ToolPattern, shell,
};

/// One path argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredPath {
    /// JSON pointer into the arguments; a string, or an array of strings.
    pub pointer: String,
    /// What the tool does to it.
    pub access: AccessKind,
}

/// What a harness declares about one of its tools. Its effects are always Opaque: a declaration
/// adds facts, it never proves that there are no others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredExtractor {
    /// The tool's name.
    pub tool: String,
    /// Where paths stand.
    pub paths: Vec<DeclaredPath>,
    /// JSON pointer to shell text.
    pub command: Option<String>,
    /// JSON pointer to a URL.
    pub url: Option<String>,
}

impl ToolPathExtractor for DeclaredExtractor {
    fn tool(&self) -> ToolPattern {
        ToolPattern::Exact(self.tool.clone())
    }

    fn extract(&self, args: &RawArgs, cx: &FactContext<'_>) -> Result<Extraction, ExtractError> {
        let value = args.to_value();
        let mut facts = match self.text(&value, self.command.as_deref())? {
            Some(command) => {
                let workspace = cx
                    .roots
                    .workspace
                    .as_deref()
                    .ok_or(ExtractError::WorkspaceRequired)?;
                let read = shell::read(command, workspace, cx);
                Facts {
                    tool: self.tool.clone(),
                    ..read
                }
            }
            None => Facts::empty(&*self.tool),
        };
        for path in &self.paths {
            for written in self.texts(&value, &path.pointer)? {
                facts.accesses.push(Access {
                    kind: path.access,
                    detail: crate::AccessDetail::Plain,
                    target: self.target(written, &path.pointer, cx)?,
                    // A harness's tool may do with a directory what it does with a file.
                    recursive: true,
                    source: AccessSource::Declared,
                });
            }
        }
        if let Some(url) = self.text(&value, self.url.as_deref())? {
            facts.endpoints.push(endpoint(url));
        }
        facts.opacity.push(Opacity {
            span: None,
            code: "declared-tool",
            reason: format!(
                "`{}` runs outside guardian; its declaration need not be all it does",
                self.tool
            ),
            command: None,
        });
        facts.reading = Reading::Partial;
        facts.summary = self.summary(&facts, cx);
        Ok(Extraction {
            input: ToolInput::Other(args.clone()),
            facts,
            probe_log: ProbeLog::default(),
        })
    }
}

impl DeclaredExtractor {
    fn target(
        &self,
        written: &str,
        pointer: &str,
        cx: &FactContext<'_>,
    ) -> Result<Target, ExtractError> {
        cx.argument(written).map_err(|error| match error {
            crate::PathError::NoWorkspace => ExtractError::WorkspaceRequired,
            error => self.wrong(pointer, &error.to_string(), "a path"),
        })
    }

    fn text<'v>(
        &self,
        value: &'v Value,
        pointer: Option<&str>,
    ) -> Result<Option<&'v str>, ExtractError> {
        let Some(pointer) = pointer else {
            return Ok(None);
        };
        match value.pointer(pointer) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.wrong(pointer, "the declared argument is no string", "a string")),
        }
    }

    fn texts<'v>(&self, value: &'v Value, pointer: &str) -> Result<Vec<&'v str>, ExtractError> {
        let not_text = || {
            self.wrong(
                pointer,
                "the declared path is no string",
                "a string or an array of strings",
            )
        };
        match value.pointer(pointer) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::String(text)) => Ok(vec![text]),
            Some(Value::Array(values)) => values
                .iter()
                .map(|value| value.as_str().ok_or_else(not_text))
                .collect(),
            Some(_) => Err(not_text()),
        }
    }

    fn wrong(&self, pointer: &str, message: &str, expected: &str) -> ExtractError {
        ExtractError::Argument(ArgumentError {
            message: message.to_owned(),
            pointer: pointer.to_owned(),
            expected: expected.to_owned(),
            example: Box::new(Value::Null),
            accepted: Vec::new(),
        })
    }

    fn summary(&self, facts: &Facts, cx: &FactContext<'_>) -> String {
        let mut summary = format!("calls `{}`", self.tool);
        let places: Vec<String> = facts
            .accesses
            .iter()
            .filter(|access| access.source == AccessSource::Declared)
            .take(3)
            .map(|access| super::sentence::place(&access.target, cx))
            .collect();
        if !places.is_empty() {
            summary.push_str(" on ");
            summary.push_str(&places.join(", "));
        }
        if let Some(endpoint) = facts.endpoints.last() {
            summary.push_str(" at ");
            summary.push_str(endpoint.host.as_deref().unwrap_or("an unknown host"));
        }
        summary
    }
}

/// Host and port of a URL; no host when the text is not clearly one.
fn endpoint(url: &str) -> Endpoint {
    let unknown = Endpoint {
        host: None,
        port: None,
        command: None,
    };
    let Some((_, rest)) = url.split_once("://") else {
        return unknown;
    };
    // A backslash is a slash to some clients and a host character to others.
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains(['\\', ' ', '\t', '\n', '\r']) {
        return unknown;
    }
    let host_and_port = authority.rsplit('@').next().unwrap_or_default();
    let (host, port) = match host_and_port.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port.parse().ok()),
        _ => (host_and_port, None),
    };
    if host.is_empty() {
        return unknown;
    }
    Endpoint {
        host: Some(host.trim_matches(['[', ']']).to_lowercase()),
        port,
        command: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, host: Option<&str>, port: Option<u16>) {
        let endpoint = endpoint(url);
        assert_eq!(
            (endpoint.host.as_deref(), endpoint.port),
            (host, port),
            "{url}"
        );
    }

    #[test]
    fn hosts_of_urls() {
        check("https://Example.com/a?b", Some("example.com"), None);
        check("http://user:pass@host:8080/", Some("host"), Some(8080));
        check("https://good.com@evil.com/", Some("evil.com"), None);
        check("http://[::1]:80/", Some("::1"), Some(80));
        check("http://[::1]/", Some("::1"), None);
    }

    #[test]
    fn what_is_not_clearly_a_url_has_no_host() {
        check("example.com", None, None);
        check("https://", None, None);
        check("https://a.com\\@b.com/", None, None);
    }
}
