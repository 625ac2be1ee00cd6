//! Plan and goal mode (SPEC §13.1).

use guardian_store::PlanConflict;

use crate::error::ErrorCode;

/// The code of SPEC §17 of what stood in the way.
pub(crate) fn code_of(conflict: PlanConflict) -> ErrorCode {
    match conflict {
        PlanConflict::NotActive => ErrorCode::PlanNotActive,
        PlanConflict::AlreadyActive => ErrorCode::PlanAlreadyActive,
        PlanConflict::KindMismatch => ErrorCode::PlanKindMismatch,
        PlanConflict::AlreadyPending => ErrorCode::PlanAlreadyPending,
        PlanConflict::TurnNotRunning | PlanConflict::DelegateOpen => ErrorCode::Conflict,
        PlanConflict::Stale => ErrorCode::PlanApprovalStale,
        PlanConflict::Expired => ErrorCode::PlanApprovalTimeout,
        PlanConflict::Interrupted => ErrorCode::PlanApprovalInterrupted,
        PlanConflict::ApprovalRequired => ErrorCode::PlanApprovalRequired,
        PlanConflict::ExecutionConflict => ErrorCode::PlanExecutionConflict,
        PlanConflict::ExecutionInterrupted => ErrorCode::PlanExecutionInterrupted,
        PlanConflict::ConfigurationBlocked => ErrorCode::PlanConfigurationBlocked,
    }
}
