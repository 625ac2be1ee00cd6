//! Facts, situation and policy in, verdict out.
//!
//! [`evaluate()`] is pure, total and deterministic: no clock, no I/O, no environment. It is an
//! algebra over sets, not a list of rules in an order (SPEC §5): a deny anywhere beats an ask
//! anywhere beats an allow that covers *every* fact of the call; what nothing covers is asked
//! about. A verdict always says which rules made it.
//!
//! Main types: [`Situation`] (who calls, in which mode, with which grants), [`Policy`] (compiled
//! rules of all layers) and [`Verdict`].

pub mod evaluate;
pub mod explain;
pub mod floor;
pub mod grant;
pub mod matrix;
pub mod mode;
pub mod policy;
pub mod situation;
pub mod suggest;
pub mod tools;
pub mod verdict;
pub mod wire;

pub use evaluate::{ChangedCommand, accepted_key, changed_commands, evaluate};
pub use explain::{explain, explain_floor_rule};
pub use floor::{FloorEffect, FloorExample, FloorRule, floor_rules};
pub use grant::{Grant, GrantScope};
pub use matrix::{ModeRefusal, mode_refusal};
pub use mode::{OperatingMode, PermissionMode, SessionPermissionMode};
pub use policy::{
    CompileContext, ErrorPlace, ExampleReader, Layer, Policy, PolicyChange, PolicyError,
    PolicyErrors, PolicyText, Preset, SyntaxError, Trust, WalkOver, check_examples, policy_schema,
};
pub use situation::{SandboxState, Situation, ToolKind, ToolRisk};
pub use suggest::{Suggestion, suggest, suggest_wider, would_allow};
pub use tools::{BUILT_IN_TOOLS, tool_kind, tool_risk};
pub use verdict::{AllowedDecision, Cause, Decision, TraceStep, Verdict};
pub use wire::VerdictV1;
