use crate::error::HostError;
use crate::host::Host;
use crate::wire::connection::{Connection, SUPPORTED_VERSIONS};
use crate::wire::frame::MAX_LINE;
use crate::wire::types::{HandshakeResult, HealthResult, LimitsView, NoParams, VersionResult};

/// Name of the host on the wire.
const HOST: &str = "guardian";

pub(crate) async fn health(
    connection: &Connection,
    _: NoParams,
) -> Result<HealthResult, HostError> {
    let health = connection.host.health();
    Ok(HealthResult {
        ok: true,
        executing: health.executing,
        queued: health.queued,
        pending_reviews: health.pending_reviews,
        in_flight: health.in_flight,
    })
}

pub(crate) async fn get_version(_: &Connection, _: NoParams) -> Result<VersionResult, HostError> {
    Ok(VersionResult {
        host: HOST.to_owned(),
        host_version: env!("CARGO_PKG_VERSION").to_owned(),
        supported: SUPPORTED_VERSIONS.to_vec(),
    })
}

pub(crate) fn handshake(host: &Host) -> HandshakeResult {
    let admission = &host.config.admission;
    HandshakeResult {
        protocol_version: SUPPORTED_VERSIONS.last().copied().unwrap_or(1),
        host: HOST.to_owned(),
        host_version: env!("CARGO_PKG_VERSION").to_owned(),
        features: super::super::dispatch::areas(),
        limits: LimitsView {
            max_line_bytes: MAX_LINE,
            review_timeout_ms: host
                .config
                .user
                .review
                .human_timeout_seconds
                .saturating_mul(1000),
            executions: admission.total,
            executions_per_session: admission.per_session,
        },
    }
}
