//! Definitions of delegates (SPEC §13.6): Markdown with frontmatter, from four places. The first
//! that has a name keeps it: the user's directory, the client, the built-in ones, the repository.

mod definition;

use guardian_store::SessionId;
use guardian_tools::SmallFile;

pub use self::definition::{AgentDefinition, AgentSource};
use crate::blocking::blocking;
use crate::error::{ErrorCode, HostError};
use crate::host::Host;
use crate::sessions::SessionInfo;

/// Where a repository keeps its definitions.
const REPOSITORY_DIRECTORY: &str = ".pi/agents";
/// Definitions that a client may add to one session.
const CLIENT_DEFINITIONS: usize = 64;

const BUILT_IN: &[&str] = &[
    include_str!("agents/explore.md"),
    include_str!("agents/general.md"),
];

/// The definitions of a session, and what is wrong with those that do not count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentList {
    /// By name.
    pub agents: Vec<ListedAgent>,
    /// For people: file and what is wrong with it.
    pub problems: Vec<String>,
}

/// A definition with what is known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedAgent {
    /// The definition.
    pub definition: AgentDefinition,
    /// It may start without being shown first.
    pub approved: bool,
}

impl Host {
    /// The definitions that count in a session.
    ///
    /// # Errors
    /// `SESSION_NOT_FOUND`, `INTERNAL`.
    pub async fn agents(&self, session_id: &str) -> Result<AgentList, HostError> {
        let session = self.session(session_id).await?;
        self.agents_of(&session).await
    }

    /// Adds a definition to a session for as long as this host has it, in the client's name. One
    /// of the same name that the client gave before is replaced.
    ///
    /// # Errors
    /// `INVALID_PARAMS` when it is no definition, or the user has one of this name.
    pub async fn define_agent(
        &self,
        session_id: &str,
        markdown: &str,
    ) -> Result<AgentDefinition, HostError> {
        let session = self.session(session_id).await?;
        let wrong =
            |message: String| HostError::invalid_params(message).with("pointer", "/definition");
        let new = AgentDefinition::parse(markdown, AgentSource::Client).map_err(wrong)?;
        let users = self.user_files().await?;
        let taken = users
            .iter()
            .filter_map(|file| parse_file(file, AgentSource::User).ok())
            .any(|one| one.has_name(&new.name));
        if taken {
            return Err(wrong(format!("the user has a delegate `{}`", new.name)));
        }
        let runtime = self.runtime(&session.session_id);
        let mut defined = runtime.control.lock_agents();
        defined.retain(|one| !one.has_name(&new.name));
        if defined.len() >= CLIENT_DEFINITIONS {
            let message = format!("a session may have {CLIENT_DEFINITIONS} definitions");
            return Err(HostError::new(ErrorCode::Conflict, message));
        }
        defined.push(new.clone());
        Ok(new)
    }

    pub(crate) async fn agents_of(&self, session: &SessionInfo) -> Result<AgentList, HostError> {
        let mut list = AgentList::default();
        for file in self.user_files().await? {
            list.add(&file.name, parse_file(&file, AgentSource::User));
        }
        let defined = self
            .runtime(&session.session_id)
            .control
            .lock_agents()
            .clone();
        for one in defined {
            let name = one.name.clone();
            list.add(&name, Ok(one));
        }
        for text in BUILT_IN {
            list.add_silently(AgentDefinition::parse(text, AgentSource::BuiltIn));
        }
        match self.repository_files(session).await {
            Ok(files) => {
                for file in files {
                    let name = format!("{REPOSITORY_DIRECTORY}/{}", file.name);
                    list.add(&name, parse_file(&file, AgentSource::Repository));
                }
            }
            Err(problem) => list.problems.push(problem),
        }
        list.agents
            .sort_by(|one, other| one.definition.name.cmp(&other.definition.name));
        self.look_up_approvals(session, &mut list).await;
        Ok(list)
    }

    async fn user_files(&self) -> Result<Vec<SmallFile>, HostError> {
        let directory = self.config.places.config_dir.join("agents");
        blocking(move || guardian_tools::own_files(&directory, ".md"))
            .await
            .map_err(|_| HostError::internal("the user's delegates could not be looked at"))?
            .map_err(|error| HostError::internal(format!("the user's delegates: {error}")))
    }

    async fn repository_files(&self, session: &SessionInfo) -> Result<Vec<SmallFile>, String> {
        if session.roots.workspace.is_none() {
            return Ok(Vec::new());
        }
        let (runtime, paths) = (self.runtime(&session.session_id), session.roots.clone());
        let read = blocking(move || {
            let roots = runtime.roots(&paths)?;
            guardian_tools::workspace_files(&roots, REPOSITORY_DIRECTORY.as_ref(), ".md")
        })
        .await;
        match read {
            Ok(Ok(files)) => Ok(files),
            Ok(Err(failure)) => Err(failure.message),
            Err(_) => Err(format!("`{REPOSITORY_DIRECTORY}` could not be looked at")),
        }
    }

    /// What cannot be read counts as not approved.
    async fn look_up_approvals(&self, session: &SessionInfo, list: &mut AgentList) {
        let Some(project) = session.roots.workspace.clone() else {
            return;
        };
        for agent in &mut list.agents {
            if agent.approved {
                continue;
            }
            let (project, name) = (project.clone(), agent.definition.name.clone());
            let hash = agent.definition.hash.clone();
            agent.approved = self
                .with_store(move |store| store.is_agent_approved(&project, &name, &hash))
                .await
                .unwrap_or(false);
        }
    }

    /// Keeps that the user saw a definition of the repository and let it start.
    pub(crate) async fn remember_agent(
        &self,
        session: &SessionInfo,
        definition: &AgentDefinition,
    ) -> Result<(), HostError> {
        let Some(project) = session.roots.workspace.clone() else {
            return Ok(());
        };
        let (name, hash) = (definition.name.clone(), definition.hash.clone());
        let session_id = SessionId::new(session.session_id.clone()).map_err(HostError::internal)?;
        let entry = guardian_store::AuditEntry {
            session: Some(session_id),
            delegate: Some(name.clone()),
            decided_by: Some("human".to_owned()),
            detail: Some(serde_json::json!({
                "step": "approved",
                "hash": hash,
                "tools": definition.tools,
            })),
            ..guardian_store::AuditEntry::new(guardian_store::AuditEvent::Delegate)
        };
        self.with_store(move |store| {
            store.approve_agent(&project, &name, &hash)?;
            store.append_audit(entry, guardian_store::Durability::Machine)
        })
        .await
        .map(drop)
    }
}

impl AgentList {
    /// The definition of this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&ListedAgent> {
        self.agents.iter().find(|one| one.definition.name == name)
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let name = |one: &ListedAgent| one.definition.name.clone();
        self.agents.iter().map(name).collect()
    }

    fn add(&mut self, place: &str, parsed: Result<AgentDefinition, String>) {
        let refused = match parsed {
            Ok(definition) => {
                let name = definition.name.clone();
                self.add_silently(Ok(definition))
                    .then_some(())
                    .ok_or(format!("`{place}`: there is a delegate `{name}` already"))
            }
            Err(message) => Err(format!("`{place}`: {message}")),
        };
        if let Err(problem) = refused {
            self.problems.push(problem);
        }
    }

    /// False when the name is taken or there is no definition.
    fn add_silently(&mut self, parsed: Result<AgentDefinition, String>) -> bool {
        let Ok(definition) = parsed else {
            return false;
        };
        if self
            .agents
            .iter()
            .any(|one| one.definition.has_name(&definition.name))
        {
            return false;
        }
        self.agents.push(ListedAgent {
            approved: definition.source != AgentSource::Repository,
            definition,
        });
        true
    }
}

fn parse_file(file: &SmallFile, source: AgentSource) -> Result<AgentDefinition, String> {
    let text = std::str::from_utf8(&file.bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    AgentDefinition::parse(text, source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_definitions_are_definitions() {
        let parsed: Vec<_> = BUILT_IN
            .iter()
            .map(|text| AgentDefinition::parse(text, AgentSource::BuiltIn).unwrap())
            .collect();
        assert_eq!(parsed[0].tools, ["Read", "Glob", "Grep"]);
        assert_eq!(parsed[1].tools.len(), 7);
        assert!(parsed.iter().all(|one| one.warnings.is_empty()));
    }

    #[test]
    fn the_first_keeps_the_name_whatever_its_case() {
        let definition = |name: &str, source| {
            let text = format!("---\nname: {name}\ndescription: d\n---\n");
            AgentDefinition::parse(&text, source)
        };
        let mut list = AgentList::default();
        list.add("a", definition("explore", AgentSource::User));
        list.add("b", definition("Explore", AgentSource::Repository));
        assert_eq!(list.agents.len(), 1);
        assert_eq!(
            list.problems,
            ["`b`: there is a delegate `Explore` already"]
        );
    }
}
