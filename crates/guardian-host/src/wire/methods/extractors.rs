use guardian_facts::{AccessKind, DeclaredExtractor, DeclaredPath};
use guardian_rules::ToolRisk;

use crate::error::HostError;
use crate::judge::DeclaredTool;
use crate::wire::connection::Connection;
use crate::wire::types::{
    DeclaredAccess, DeclaredRisk, ExtractorsRegisterParams, ExtractorsRegisterResult,
};

/// Longest JSON pointer of a declaration, in bytes.
const LONGEST_POINTER: usize = 256;

pub(crate) async fn register(
    connection: &Connection,
    params: ExtractorsRegisterParams,
) -> Result<ExtractorsRegisterResult, HostError> {
    let mut tools = Vec::with_capacity(params.tools.len());
    for (index, tool) in params.tools.into_iter().enumerate() {
        let facts = tool.facts;
        let pointers = facts
            .paths
            .iter()
            .map(|path| &path.pointer)
            .chain(&facts.command)
            .chain(&facts.url);
        for pointer in pointers {
            check_pointer(index, pointer)?;
        }
        tools.push(DeclaredTool {
            extractor: DeclaredExtractor {
                tool: tool.name,
                paths: facts
                    .paths
                    .into_iter()
                    .map(|path| DeclaredPath {
                        pointer: path.pointer,
                        access: access(path.access),
                    })
                    .collect(),
                command: facts.command,
                url: facts.url,
            },
            risk: match tool.risk {
                Some(DeclaredRisk::High) => ToolRisk::High,
                // Nothing that runs elsewhere is a low risk.
                Some(DeclaredRisk::Low | DeclaredRisk::Medium) | None => ToolRisk::Medium,
            },
        });
    }
    let registered = connection.host.register_extractors(tools).await?;
    Ok(ExtractorsRegisterResult { registered })
}

fn check_pointer(index: usize, pointer: &str) -> Result<(), HostError> {
    if pointer.starts_with('/') && pointer.len() <= LONGEST_POINTER {
        return Ok(());
    }
    let message = format!(
        "a pointer is a JSON pointer such as `/path`, at most {LONGEST_POINTER} bytes long"
    );
    Err(HostError::invalid_params(message).with("pointer", format!("/tools/{index}/facts")))
}

fn access(declared: DeclaredAccess) -> AccessKind {
    match declared {
        DeclaredAccess::Read => AccessKind::Read,
        DeclaredAccess::List => AccessKind::List,
        DeclaredAccess::Write => AccessKind::Write,
        DeclaredAccess::Delete => AccessKind::Delete,
        DeclaredAccess::Execute => AccessKind::Execute,
    }
}
