//! From files to the texts of all layers: the good version of each, with what is wrong.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use guardian_rules::{
    CompileContext, Layer, Policy, PolicyErrors, PolicyText, Preset, Trust, check_examples,
};
use guardian_store::Store;
use guardian_tools::RealProbe;

use super::examples::Examples;
use super::file::{FileState, Owner, WatchedFile};
use crate::judge::Judge;

/// Name of the workspace's file, beneath the workspace.
pub(super) const WORKSPACE_FILE: &str = ".guardian/policy.toml";

/// Where the files of the layers are.
#[derive(Debug, Clone)]
pub(crate) struct PolicyPlaces {
    /// The administrator's file.
    pub(crate) managed: PathBuf,
    /// The user's file.
    pub(crate) user: PathBuf,
    /// The user's home directory.
    pub(crate) home: PathBuf,
}

/// What is wrong with a policy file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyProblem {
    /// `managed`, `user` or `workspace`.
    pub layer: &'static str,
    /// The file.
    pub file: String,
    /// Line, from 1; `None` when the file as a whole cannot be used.
    pub line: Option<usize>,
    /// Column in characters, from 1.
    pub column: Option<usize>,
    /// What is wrong, in one sentence.
    pub message: String,
    /// What to do.
    pub hint: String,
}

impl PolicyProblem {
    /// The same as people read it: one line.
    #[must_use]
    pub fn sentence(&self) -> String {
        match (self.line, self.column) {
            (Some(line), Some(column)) => {
                format!("{}:{line}:{column}: {}", self.file, self.message)
            }
            _ => format!("{}: {}", self.file, self.message),
        }
    }
}

/// Which version of a file is in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayerState {
    /// There is no file.
    Absent,
    /// The file as it is.
    InForce,
    /// The file does not load; the last version that did.
    LastGood,
    /// The file does not load and never did: what it would decide is asked about.
    Unreadable,
}

impl LayerState {
    /// As it stands on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::InForce => "inForce",
            Self::LastGood => "lastGood",
            Self::Unreadable => "unreadable",
        }
    }
}

/// One layer of a session's policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyLayer {
    /// Which.
    pub layer: Layer,
    /// Its file.
    pub file: PathBuf,
    /// Which version is in force.
    pub state: LayerState,
    /// That version.
    pub text: Option<Arc<str>>,
    /// BLAKE3 of that version.
    pub hash: Option<String>,
    /// May it loosen?
    pub trust: Trust,
    /// What is wrong with the file.
    pub problems: Vec<PolicyProblem>,
}

/// Everything that a policy is compiled from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Inputs {
    pub(super) layers: Vec<PolicyLayer>,
    /// The preset where no file names one.
    pub(super) default_preset: Preset,
    /// The preset in place of the files'.
    pub(super) forced_preset: Option<Preset>,
}

impl Inputs {
    #[cfg(test)]
    pub(super) fn builtin(preset: Preset) -> Self {
        Self {
            layers: Vec::new(),
            default_preset: preset,
            forced_preset: None,
        }
    }

    pub(super) fn problems(&self) -> impl Iterator<Item = &PolicyProblem> {
        self.layers.iter().flat_map(|layer| &layer.problems)
    }

    /// The policy of these texts. Total: what does not compile is asked about.
    pub(super) fn compile(&self, workspace: Option<&Path>, home: &Path) -> Policy {
        let texts: Vec<PolicyText> = self.layers.iter().filter_map(policy_text).collect();
        let probe = RealProbe::new();
        let cx = CompileContext {
            workspace,
            home,
            probe: Some(&probe),
        };
        let unreadable = |layer: &&PolicyLayer| layer.state == LayerState::Unreadable;
        let policy = match Policy::compile(&texts, self.default_preset, &cx) {
            Ok(policy) => policy,
            Err(errors) => {
                // Each text compiled by itself; that they do not together is a fault of ours.
                tracing::error!(%errors, "policy files that load do not go together");
                self.layers
                    .iter()
                    .fold(Policy::builtin(Preset::Strict), |policy, layer| {
                        policy.with_unreadable_layer(layer.layer)
                    })
            }
        };
        let policy = self
            .layers
            .iter()
            .filter(unreadable)
            .fold(policy, |policy, layer| {
                policy.with_unreadable_layer(layer.layer)
            });
        match self.forced_preset {
            Some(preset) => policy.with_preset(preset),
            None => policy,
        }
    }
}

pub(super) fn policy_text(layer: &PolicyLayer) -> Option<PolicyText> {
    layer.text.as_ref().map(|text| PolicyText {
        layer: layer.layer,
        name: layer.file.display().to_string(),
        text: text.to_string(),
        trust: layer.trust,
    })
}

/// Reads the files of all layers and keeps what is known of their versions.
pub(super) struct LayerReader {
    pub(super) places: PolicyPlaces,
    /// Without one there is no last good version and no trust.
    store: Option<Store>,
    /// Write good versions to the store.
    keeps: bool,
    watched: Mutex<HashMap<PathBuf, Arc<WatchedFile>>>,
    /// By layer and file: the last state seen and what became of it.
    loaded: Mutex<HashMap<PathBuf, (FileState, PolicyLayer)>>,
    /// Texts of files that were checked, by file and hash: a file that changes back and forth is
    /// not read again each time.
    checked: Mutex<HashMap<(PathBuf, String), Result<(), PolicyErrors>>>,
}

/// Files beyond which the caches are emptied: sessions come and go in a long-lived host.
const CACHED_FILES: usize = 256;

impl LayerReader {
    pub(super) fn new(places: PolicyPlaces, store: Option<Store>, keeps: bool) -> Self {
        Self {
            places,
            store,
            keeps,
            watched: Mutex::default(),
            loaded: Mutex::default(),
            checked: Mutex::default(),
        }
    }

    /// The layers as they are now, strongest first. Blocking.
    pub(super) fn read(&self, judge: &Judge, workspace: Option<&Path>) -> Vec<PolicyLayer> {
        let managed = self.places.managed.clone();
        let user = self.places.user.clone();
        let mut layers = vec![
            self.layer(judge, Layer::Managed, managed, Owner::Root, workspace),
            self.layer(judge, Layer::User, user, Owner::User, workspace),
        ];
        if let Some(root) = workspace {
            let file = root.join(WORKSPACE_FILE);
            let mut layer = self.layer(judge, Layer::Workspace, file, Owner::Repository, workspace);
            layer.trust = self.trust(&layer);
            layers.push(layer);
        }
        layers
    }

    fn layer(
        &self,
        judge: &Judge,
        layer: Layer,
        file: PathBuf,
        owner: Owner,
        workspace: Option<&Path>,
    ) -> PolicyLayer {
        let state = self.watch(&file, owner).look();
        {
            let loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((known, result)) = loaded.get(&file)
                && *known == state
            {
                return result.clone();
            }
        }
        let result = self.load(judge, layer, &file, &state, workspace);
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if loaded.len() >= CACHED_FILES {
            loaded.clear();
        }
        loaded.insert(file, (state, result.clone()));
        result
    }

    fn watch(&self, file: &Path, owner: Owner) -> Arc<WatchedFile> {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        if watched.len() >= CACHED_FILES {
            watched.clear();
        }
        let entry = watched.entry(file.to_owned());
        Arc::clone(entry.or_insert_with(|| Arc::new(WatchedFile::new(file.to_owned(), owner))))
    }

    /// What a new state of a file means.
    fn load(
        &self,
        judge: &Judge,
        layer: Layer,
        file: &Path,
        state: &FileState,
        workspace: Option<&Path>,
    ) -> PolicyLayer {
        let mut found = PolicyLayer {
            layer,
            file: file.to_owned(),
            state: LayerState::Absent,
            text: None,
            hash: None,
            trust: match layer {
                Layer::Workspace => Trust::Untrusted,
                _ => Trust::Trusted,
            },
            problems: Vec::new(),
        };
        match state {
            FileState::Missing => return found,
            FileState::Unreadable(reason) => found.problems.push(PolicyProblem {
                layer: layer.name(),
                file: file.display().to_string(),
                line: None,
                column: None,
                message: reason.clone(),
                hint: String::new(),
            }),
            FileState::Text(text) => {
                let good = GoodText {
                    layer,
                    file,
                    text,
                    home: &self.places.home,
                    workspace,
                };
                let hash = hash_of(text);
                match self.check_once(&good, &hash, judge) {
                    Ok(()) => {
                        self.keep(file, &hash, text);
                        found.state = LayerState::InForce;
                        found.text = Some(Arc::clone(text));
                        found.hash = Some(hash);
                        return found;
                    }
                    Err(errors) => found.problems = problems(layer, &errors),
                }
            }
        }
        found.state = LayerState::Unreadable;
        if let Some(text) = self.last_good(file) {
            let good = GoodText {
                layer,
                file,
                text: &text,
                home: &self.places.home,
                workspace,
            };
            // Another version of guardian may have kept it.
            if good.compile().is_ok() {
                found.state = LayerState::LastGood;
                found.hash = Some(hash_of(&text));
                found.text = Some(text);
            }
        }
        for problem in &mut found.problems {
            if problem.hint.is_empty() {
                problem.hint = match found.state {
                    LayerState::LastGood => {
                        "until it can be read, the last version that loaded stays in force"
                    }
                    _ => "until it can be read, or is gone, everything is asked about",
                }
                .to_owned();
            }
            tracing::warn!(problem = problem.sentence(), "a policy file does not load");
        }
        found
    }

    fn check_once(
        &self,
        good: &GoodText<'_>,
        hash: &str,
        judge: &Judge,
    ) -> Result<(), PolicyErrors> {
        let key = (good.file.to_owned(), hash.to_owned());
        let lock = || self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(&key) {
            return known.clone();
        }
        let result = good.check(judge);
        let mut checked = lock();
        if checked.len() >= CACHED_FILES {
            checked.clear();
        }
        checked.insert(key, result.clone());
        result
    }

    fn keep(&self, file: &Path, hash: &str, text: &str) {
        let Some(store) = self.store.as_ref().filter(|_| self.keeps) else {
            return;
        };
        let known = store.last_good_policy(file).ok().flatten();
        if known.is_some_and(|known| known.hash == hash && known.text == text) {
            return;
        }
        if let Err(error) = store.keep_policy(file, hash, text) {
            tracing::warn!(%error, "a good version of a policy file could not be kept");
        }
    }

    fn last_good(&self, file: &Path) -> Option<Arc<str>> {
        match self.store.as_ref()?.last_good_policy(file) {
            Ok(version) => version.map(|version| version.text.into()),
            Err(error) => {
                tracing::warn!(%error, "the last good version of a policy file could not be read");
                None
            }
        }
    }

    /// Looked up every time: trust that was taken back must not last.
    fn trust(&self, layer: &PolicyLayer) -> Trust {
        let (Some(store), Some(hash)) = (&self.store, &layer.hash) else {
            return Trust::Untrusted;
        };
        match store.is_policy_trusted(&layer.file, hash) {
            Ok(true) => Trust::Trusted,
            Ok(false) => Trust::Untrusted,
            Err(error) => {
                tracing::warn!(%error, "trust could not be read: a workspace's file counts as not trusted");
                Trust::Untrusted
            }
        }
    }
}

/// BLAKE3 of a policy file's bytes: what trust is bound to.
#[must_use]
pub fn hash_of(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

/// A text that may become a layer.
struct GoodText<'t> {
    layer: Layer,
    file: &'t Path,
    text: &'t str,
    home: &'t Path,
    workspace: Option<&'t Path>,
}

impl GoodText<'_> {
    fn text(&self) -> PolicyText {
        PolicyText {
            layer: self.layer,
            name: self.file.display().to_string(),
            text: self.text.to_owned(),
            trust: Trust::Trusted,
        }
    }

    fn context(&self) -> CompileContext<'_> {
        CompileContext {
            workspace: self.workspace,
            home: self.home,
            probe: None,
        }
    }

    fn compile(&self) -> Result<(), PolicyErrors> {
        Policy::compile(&[self.text()], Preset::Standard, &self.context()).map(drop)
    }

    /// It compiles, and its examples hold.
    fn check(&self, judge: &Judge) -> Result<(), PolicyErrors> {
        self.compile()?;
        if !self.text.contains("match") {
            return Ok(());
        }
        // Examples are about the file, not about this session: a session without a workspace
        // reads them in a project of their own.
        let examples = Examples::new(judge, self.workspace, self.home);
        let cx = CompileContext {
            workspace: Some(examples.workspace()),
            ..self.context()
        };
        check_examples(&[self.text()], &cx, &examples)
    }
}

/// Checks the text of a policy file as loading it would.
///
/// # Errors
/// Everything that is wrong with it.
pub(super) fn check_text(
    judge: &Judge,
    layer: Layer,
    file: &Path,
    text: &str,
    workspace: Option<&Path>,
    home: &Path,
) -> Result<(), PolicyErrors> {
    GoodText {
        layer,
        file,
        text,
        home,
        workspace,
    }
    .check(judge)
}

fn problems(layer: Layer, errors: &PolicyErrors) -> Vec<PolicyProblem> {
    errors
        .0
        .iter()
        .map(|error| {
            let (line, column) = error.place().line_column();
            PolicyProblem {
                layer: layer.name(),
                file: error.place().file.clone(),
                line: Some(line),
                column: Some(column),
                message: error.message(),
                hint: error.hint(),
            }
        })
        .collect()
}
