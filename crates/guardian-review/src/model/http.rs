//! The way to the endpoint: one POST, no redirects, everything bounded.

use std::sync::Arc;
use std::time::Duration;

use ureq::tls::{Certificate, RootCerts, TlsConfig};

/// Longest reply that is read. An answer has some hundred bytes.
const MAX_REPLY: u64 = 256 * 1024;

/// What came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// HTTP status.
    pub status: u16,
    /// The whole body.
    pub body: Vec<u8>,
}

/// Nothing usable came back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TransportError {
    /// It took too long, whatever part of it.
    #[error("the endpoint did not answer in time")]
    TimedOut,
    /// The reply is longer than any answer can be.
    #[error("the endpoint's reply is longer than {} KiB", MAX_REPLY / 1024)]
    TooLong,
    /// No connection, or a broken one.
    #[error("the endpoint could not be reached: {0}")]
    Failed(String),
}

/// Carries a request to the endpoint. Blocking; called on a thread of its own.
pub trait ModelTransport: Send + Sync {
    /// Posts a JSON text and reads the whole reply within `timeout`.
    ///
    /// # Errors
    /// [`TransportError`]. A reply of any status is not an error.
    fn post(&self, body: &[u8], timeout: Duration) -> Result<Reply, TransportError>;
}

/// HTTP by the endpoint's URL, TLS by the machine's own certificates.
pub struct HttpTransport {
    agent: ureq::Agent,
    endpoint: String,
    headers: Vec<(&'static str, String)>,
}

impl HttpTransport {
    /// A transport to `endpoint` that sends these headers along.
    #[must_use]
    pub fn new(endpoint: String, headers: Vec<(&'static str, String)>) -> Self {
        let on_this_machine = endpoint.starts_with("http://");
        let mut config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            // A redirect would carry prompt and key to a place that the user did not name.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(concat!("guardian/", env!("CARGO_PKG_VERSION")));
        if on_this_machine {
            config = config.proxy(None);
        } else {
            config = config.tls_config(tls());
        }
        Self {
            agent: config.build().new_agent(),
            endpoint,
            headers,
        }
    }
}

fn tls() -> TlsConfig {
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() {
        tracing::warn!(errors = ?found.errors, "no certificates on this machine: no endpoint is trusted");
    }
    let roots: Vec<Certificate<'static>> = found
        .certs
        .iter()
        .map(|one| Certificate::from_der(one.as_ref()).to_owned())
        .collect();
    TlsConfig::builder()
        .root_certs(RootCerts::new_with_certs(&roots))
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .build()
}

impl ModelTransport for HttpTransport {
    fn post(&self, body: &[u8], timeout: Duration) -> Result<Reply, TransportError> {
        let mut request = self
            .agent
            .post(&self.endpoint)
            .header("content-type", "application/json");
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        let mut response = request
            .config()
            .timeout_global(Some(timeout))
            .build()
            .send(body)
            .map_err(|error| failed(&error))?;
        let status = response.status().as_u16();
        let body = response
            .body_mut()
            .with_config()
            .limit(MAX_REPLY)
            .read_to_vec()
            .map_err(|error| failed(&error))?;
        Ok(Reply { status, body })
    }
}

/// Errors without the URL and without header values: they go to cards and log.
fn failed(error: &ureq::Error) -> TransportError {
    match error {
        ureq::Error::Timeout(_) => TransportError::TimedOut,
        ureq::Error::BodyExceedsLimit(_) => TransportError::TooLong,
        ureq::Error::Io(error) if error.kind() == std::io::ErrorKind::TimedOut => {
            TransportError::TimedOut
        }
        ureq::Error::Io(error) => TransportError::Failed(error.kind().to_string()),
        ureq::Error::HostNotFound => TransportError::Failed("unknown host".to_owned()),
        ureq::Error::ConnectionFailed => TransportError::Failed("no connection".to_owned()),
        ureq::Error::Tls(reason) => TransportError::Failed(format!("TLS: {reason}")),
        ureq::Error::Rustls(error) => TransportError::Failed(format!("TLS: {error}")),
        _ => TransportError::Failed("not HTTP as expected".to_owned()),
    }
}
