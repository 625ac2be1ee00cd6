//! Running the body of a permitted call, off the async threads.

use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use guardian_facts::input::BashInput;
use guardian_facts::{Access, AccessSource, Facts, OtherNames, RootPaths};
use guardian_rules::WalkOver;
use guardian_tools::bash::environment::{CallPlaces, prepare};
use guardian_tools::bash::{
    Abort, BashContext, BashRequest, BashResult, SandboxRequest, Shell, run_bash,
};
use guardian_tools::{
    Bound, BoundInput, BoundTarget, ChangeOutlook, ClassesHidden, FailureCode, FileLimits,
    HiddenFiles, HiddenNames, Hiding, Permitted, SnapshotSink, ToolContext, ToolFailure, Vision,
    prepare_change, run_file_tool,
};

use crate::admission::Slot;
use crate::blocking::blocking;
use crate::changes::SnapshotKeeper;
use crate::error::{ErrorCode, HostError};
use crate::events::Event;
use crate::gate::{BodyCancel, Passage, aborted};
use crate::host::Host;
use crate::outcome::{Stop, ToolOutcome};
use crate::output::{CommandOutput, mask_streams};
use crate::policies::PolicyInForce;
use crate::sessions::SessionRuntime;

/// The least time that a caller may leave a tool, in milliseconds.
const SHORTEST_TIMEOUT_MS: u64 = 100;
/// How long a file tool may take (SPEC §2).
const FILE_TOOL_TIMEOUT: Duration = Duration::from_secs(30);

/// A call that may run now.
pub(crate) struct Execution<'p> {
    pub(crate) passage: &'p mut Passage,
    pub(crate) call: Permitted<BoundInput>,
    /// What was judged.
    pub(crate) facts: Arc<Facts>,
    /// Given back when the body is over; a background job takes it along.
    pub(crate) slot: Slot,
}

impl Host {
    /// Runs the body.
    pub(crate) async fn run_body(
        self: &Arc<Self>,
        execution: Execution<'_>,
    ) -> Result<ToolOutcome, Stop> {
        let Execution {
            passage,
            call,
            facts,
            slot,
        } = execution;
        if matches!(call.get(), BoundInput::Bash(_)) {
            return match call.into_bash() {
                Some(call) => self.run_command(passage, call, &facts, slot).await,
                None => Err(HostError::internal("a command lost its input").into()),
            };
        }
        let outcome = self.run_file_tool(passage, call, &facts).await;
        drop(slot);
        outcome
    }

    async fn run_file_tool(
        self: &Arc<Self>,
        passage: &mut Passage,
        call: Permitted<BoundInput>,
        facts: &Facts,
    ) -> Result<ToolOutcome, Stop> {
        let time = FILE_TOOL_TIMEOUT.min(requested_time(passage).unwrap_or(FILE_TOOL_TIMEOUT));
        let body = FileBody {
            walk: Walk::of(&call, facts),
            ..self.file_body(passage, time).await?
        };
        let keeper = SnapshotKeeper::new(self.store.clone(), passage)?;
        let (ran, keeper) = blocking(move || {
            let ran = body.with_context(Some(&keeper), |context| run_file_tool(call, context));
            if ran.is_err() {
                keeper.forget();
            }
            (ran, keeper)
        })
        .await
        .map_err(|_| HostError::internal("the tool met a fault"))?;
        match ran {
            Ok(output) => {
                let mut content = output.content;
                self.emit_preview(passage, &content);
                if let Some(change) = output.changed {
                    passage.change = keeper.pending_change(change);
                }
                if let Some(change) = &passage.change {
                    content["review"] = self.change_view(&change.snapshot, false);
                }
                let id = &passage.request.tool_call_id;
                Ok(ToolOutcome::success(id, content))
            }
            Err(failure) => Err(of_failure(passage, &failure)),
        }
    }

    /// What the body of a file tool may use, taken along to the thread that runs it.
    async fn file_body(
        self: &Arc<Self>,
        passage: &Passage,
        time: Duration,
    ) -> Result<FileBody, Stop> {
        Ok(FileBody {
            host: Arc::clone(self),
            runtime: Arc::clone(&passage.runtime),
            cancel: BodyCancel(Arc::clone(&passage.in_flight.cancel)),
            roots: passage.session.roots.clone(),
            // What judged the call also says what a walk leaves out.
            policy: match &passage.policy {
                Some(policy) => Arc::clone(policy),
                None => self.policy_of(&passage.session).await?,
            },
            time,
            walk: Walk::NONE,
        })
    }

    /// A file that BrowserPreview opened is shown by whoever can.
    fn emit_preview(&self, passage: &Passage, content: &serde_json::Value) {
        let text = |key: &str| content.get(key).and_then(serde_json::Value::as_str);
        if passage.request.tool_name != "BrowserPreview" {
            return;
        }
        if let (Some(path), Some(url)) = (text("path"), text("url")) {
            self.events.emit(Event::BrowserPreview {
                session_id: passage.request.session_id.clone(),
                path: path.to_owned(),
                url: url.to_owned(),
            });
        }
    }

    fn vision(&self) -> Vision {
        if self.vision.load(Ordering::Relaxed) {
            Vision::Declared
        } else {
            Vision::Absent
        }
    }

    /// Looks at a mutation before anybody is asked about it: one that cannot run ends here, and
    /// what it would replace becomes known.
    pub(crate) async fn preview_change(
        self: &Arc<Self>,
        passage: &Passage,
        mut bound: BoundInput,
    ) -> Result<(BoundInput, Option<ChangeOutlook>), Stop> {
        let body = self.file_body(passage, FILE_TOOL_TIMEOUT).await?;
        let (bound, prepared) = blocking(move || {
            let prepared = body.with_context(None, |context| prepare_change(&mut bound, context));
            (bound, prepared)
        })
        .await
        .map_err(|_| HostError::internal("the change could not be looked at"))?;
        match prepared {
            Ok(outlook) => Ok((bound, outlook)),
            Err(failure) => Err(of_failure(passage, &failure)),
        }
    }

    /// [`Self::preview_change`] for a call that is only judged. Blocking.
    pub(crate) fn preview_now(
        self: &Arc<Self>,
        runtime: &Arc<SessionRuntime>,
        roots: &RootPaths,
        policy: &Arc<PolicyInForce>,
        bound: &mut BoundInput,
    ) -> Result<Option<ChangeOutlook>, ToolFailure> {
        let body = FileBody {
            host: Arc::clone(self),
            runtime: Arc::clone(runtime),
            // Nobody knows of this call who could abort it.
            cancel: BodyCancel(Arc::default()),
            roots: roots.clone(),
            policy: Arc::clone(policy),
            time: FILE_TOOL_TIMEOUT,
            walk: Walk::NONE,
        };
        body.with_context(None, |context| prepare_change(bound, context))
    }

    async fn run_command(
        self: &Arc<Self>,
        passage: &mut Passage,
        call: Permitted<Bound<BashInput>>,
        facts: &Arc<Facts>,
        slot: Slot,
    ) -> Result<ToolOutcome, Stop> {
        let shell = self.shell_of(passage)?;
        let abort = Abort::new().map_err(HostError::internal)?;
        let (request, mut context) = self.prepare_command(passage, &call, shell, &abort).await?;
        context.sandbox = self.sandbox_request(passage, facts).await?;
        if call.get().input().background {
            return self.start_job(passage, request, context, slot);
        }
        let running = run_bash(request, context);
        tokio::pin!(running);
        let ran = tokio::select! {
            ran = &mut running => ran,
            () = passage.in_flight.cancel.cancelled() => {
                abort.abort();
                running.await
            }
        };
        match ran {
            Ok(result) => Ok(self.command_outcome(passage, &result)),
            Err(error) => {
                let code = ErrorCode::named(error.code()).unwrap_or(ErrorCode::Internal);
                let id = &passage.request.tool_call_id;
                Err(ToolOutcome::failure(id, code, &error.to_string()).into())
            }
        }
    }

    async fn prepare_command(
        self: &Arc<Self>,
        passage: &Passage,
        call: &Permitted<Bound<BashInput>>,
        shell: Shell,
        abort: &Abort,
    ) -> Result<(BashRequest, BashContext), Stop> {
        let input = call.get().input();
        let seconds = Duration::from_secs(u64::from(input.timeout));
        let request = BashRequest {
            command: input.command.clone(),
            timeout: Some(seconds.min(requested_time(passage).unwrap_or(seconds))),
            tool_call_id: passage.request.tool_call_id.clone(),
        };
        // The directory that was bound is the one the command starts in.
        let BoundTarget::Directory(directory) = call.get().target() else {
            return Err(HostError::internal("a command lost its workspace").into());
        };
        let workspace = directory
            .as_fd()
            .try_clone_to_owned()
            .map_err(HostError::internal)?;
        let workspace_path = directory.canonical();
        let (host, scratch) = (Arc::clone(self), passage.session.roots.scratch.clone());
        let of = workspace_path.clone();
        let environment = blocking(move || {
            let login = host.login.get(host.supervisor.as_ref());
            prepare(
                &login,
                &host.environment_rules,
                CallPlaces {
                    workspace: &of,
                    scratch: &scratch,
                },
            )
        })
        .await
        .map_err(|_| HostError::internal("the environment could not be prepared"))?;
        let context = BashContext {
            workspace: Arc::new(workspace),
            workspace_path,
            scratch: passage.session.roots.scratch.clone(),
            environment: Arc::new(environment),
            shell,
            abort: abort.clone(),
            supervisor: self.supervisor.clone(),
            sink: Arc::new(CommandOutput::new(
                Arc::clone(&self.events),
                &passage.request,
                Arc::clone(&self.own_secrets),
            )),
            limits: self.config.user.commands.limits(),
            sandbox: SandboxRequest::off(),
        };
        Ok((request, context))
    }

    fn command_outcome(&self, passage: &mut Passage, result: &BashResult) -> ToolOutcome {
        let mut content = result.to_json();
        mask_streams(&mut content, &self.own_secrets);
        passage.record.exit_code = content
            .get("exitCode")
            .and_then(serde_json::Value::as_i64)
            .and_then(|code| i32::try_from(code).ok());
        passage.record.sandbox = content.get("sandbox").map(ToString::to_string);
        let id = &passage.request.tool_call_id;
        let Some(code) = result.error_code() else {
            return ToolOutcome::success(id, content);
        };
        let code = ErrorCode::named(code).unwrap_or(ErrorCode::ToolFailed);
        content["error"] = result.error_message().unwrap_or_default().into();
        content["code"] = code.as_str().into();
        ToolOutcome::failed_with(id, code, content)
    }
}

/// The time that the caller leaves the tool; checked by [`check_timeout`].
fn requested_time(passage: &Passage) -> Option<Duration> {
    passage.request.timeout_ms.map(Duration::from_millis)
}

/// A time out of range is an argument error, not a tool that ends at once.
pub(crate) fn check_timeout(passage: &Passage) -> Result<(), Stop> {
    match passage.request.timeout_ms {
        Some(time) if time < SHORTEST_TIMEOUT_MS => {
            let message = format!("`timeoutMs` must be at least {SHORTEST_TIMEOUT_MS}");
            let id = &passage.request.tool_call_id;
            Err(ToolOutcome::failure(id, ErrorCode::InvalidArgument, &message).into())
        }
        _ => Ok(()),
    }
}

/// A body's failure; one that follows an abort is an abort.
fn of_failure(passage: &Passage, failure: &ToolFailure) -> Stop {
    if failure.code == FailureCode::ToolAborted {
        return aborted(passage).into();
    }
    ToolOutcome::of_failure(&passage.request.tool_call_id, failure).into()
}

/// What the body of a file tool may use.
struct FileBody {
    host: Arc<Host>,
    runtime: Arc<SessionRuntime>,
    cancel: BodyCancel,
    roots: RootPaths,
    policy: Arc<PolicyInForce>,
    /// How long it may take.
    time: Duration,
    /// What it walks over, if it walks.
    walk: Walk,
}

/// A walk of a file tool, for the rules that keep something from it.
struct Walk {
    over: WalkOver,
    /// The `path` argument, resolved: rules that are about it were heard when the call was judged.
    start: Option<PathBuf>,
}

impl Walk {
    const NONE: Self = Self {
        over: WalkOver::Contents,
        start: None,
    };

    fn of(call: &Permitted<BoundInput>, facts: &Facts) -> Self {
        let argument = facts
            .accesses
            .iter()
            .find(|access| access.source == AccessSource::PathArgument)
            .and_then(Access::exact);
        Self {
            over: match call.get() {
                BoundInput::Glob(_) => WalkOver::Names,
                _ => WalkOver::Contents,
            },
            start: argument.map(|path| path.path.clone()),
        }
    }
}

impl FileBody {
    /// Runs `body`; its time begins now.
    fn with_context<T>(
        &self,
        snapshots: Option<&dyn SnapshotSink>,
        body: impl FnOnce(&ToolContext<'_>) -> T,
    ) -> T {
        let hidden = HiddenFromWalks {
            classes: OnceLock::new(),
            body: self,
            policy: &self.policy,
            walk: &self.walk,
        };
        body(&ToolContext {
            limits: &FileLimits::spec(),
            cancel: &self.cancel,
            deadline: Some(Instant::now() + self.time),
            tags: self.runtime.as_ref(),
            snapshots,
            hidden: &hidden,
            vision: self.host.vision(),
        })
    }
}

/// What walks leave out: secret, sensitive and guardian's own files, and what policy keeps from
/// being read.
struct HiddenFromWalks<'h> {
    /// Made by the first directory: most file tools walk nowhere.
    classes: OnceLock<ClassesHidden<'h>>,
    body: &'h FileBody,
    policy: &'h PolicyInForce,
    walk: &'h Walk,
}

impl<'h> HiddenFromWalks<'h> {
    fn classes(&self) -> &ClassesHidden<'h> {
        self.classes.get_or_init(|| {
            let FileBody { host, roots, .. } = self.body;
            let context = host.judge.context(roots, &host.probe);
            let start = self.walk.start.as_deref().or(roots.workspace.as_deref());
            ClassesHidden::new(host.judge.classes(), roots).with_other_names(
                start.map_or_else(OtherNames::default, |start| context.other_names(start)),
            )
        })
    }
}

impl HiddenFiles for HiddenFromWalks<'_> {
    fn beneath<'a>(&'a self, directory: &Path) -> Box<dyn HiddenNames + 'a> {
        let classes = self.classes().beneath(directory);
        if !self.policy.has_walk_rules(self.walk.over) {
            return classes;
        }
        Box::new(NamesHiddenByPolicy {
            classes,
            policy: self.policy,
            walk: self.walk,
            directory: directory.to_owned(),
        })
    }
}

struct NamesHiddenByPolicy<'h> {
    classes: Box<dyn HiddenNames + 'h>,
    policy: &'h PolicyInForce,
    walk: &'h Walk,
    directory: PathBuf,
}

impl HiddenNames for NamesHiddenByPolicy<'_> {
    fn hiding(&self, name: &OsStr) -> Hiding {
        let kept = || {
            let path = self.directory.join(name);
            let start = self.walk.start.as_deref();
            self.policy.keeps_from_walk(self.walk.over, &path, start)
        };
        match self.classes.hiding(name) {
            Hiding::Hidden => Hiding::Hidden,
            _ if kept() => Hiding::Hidden,
            by_class => by_class,
        }
    }
}
