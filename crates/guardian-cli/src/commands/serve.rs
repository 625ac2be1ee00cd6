//! `guardian serve`: one client over stdio.

use std::io::BufReader;
use std::time::{Duration, Instant};

use guardian_host::wire::{Connection, UNREAD_PATIENCE, open_outbound};
use guardian_host::{Host, HostConfig, HostError};

use crate::arguments::ServeOptions;
use crate::exit::ExitCode;
use crate::places;

/// Serves until the client closes the input.
pub(crate) fn run(options: &ServeOptions) -> Result<ExitCode, HostError> {
    let config = HostConfig::at(places::find(options.data.data_dir.as_deref())?)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .worker_threads(2)
        .build()
        .map_err(HostError::internal)?;
    let (outbound, events, writer) = open_outbound(std::io::stdout());
    runtime.block_on(async {
        let host = Host::open(config, events).await?;
        Connection::serve(host, outbound, BufReader::new(std::io::stdin())).await;
        Ok::<_, HostError>(())
    })?;
    // The last answers are on their way: the process must not end before they are written.
    // One that nobody reads must not keep the process.
    let since = Instant::now();
    while !writer.is_finished() && since.elapsed() < UNREAD_PATIENCE {
        std::thread::sleep(Duration::from_millis(2));
    }
    runtime.shutdown_background();
    Ok(ExitCode::Done)
}
