//! `guardian serve`: one client over stdio.

use std::io::BufReader;
use std::time::{Duration, Instant};

use guardian_host::wire::{Connection, UNREAD_PATIENCE, open_outbound};
use guardian_host::{Host, HostConfig, HostError};

use crate::arguments::ServeOptions;
use crate::exit::ExitCode;
use crate::places;

/// Bytes of input that are read at once.
const INPUT_BUFFER: usize = 64 * 1024;

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
        let stop = asked_to_end()?;
        // Larger than the buffer of stdin itself, which is then passed by.
        let input = BufReader::with_capacity(INPUT_BUFFER, std::io::stdin());
        Connection::serve(host, outbound, input, stop).await;
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

/// Ready once the process is asked to end: by a supervisor of services (TERM), from the terminal
/// (INT), or because that is gone (HUP). Dying at once, as these would by default, could leave a
/// change without its record.
#[cfg(unix)]
fn asked_to_end() -> Result<impl Future<Output = ()>, HostError> {
    use tokio::signal::unix::{SignalKind, signal};

    let listen = |kind| signal(kind).map_err(HostError::internal);
    let mut terminate = listen(SignalKind::terminate())?;
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut hang_up = listen(SignalKind::hangup())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = hang_up.recv() => {}
        }
    })
}

/// Ready once somebody presses Ctrl-C.
#[cfg(not(unix))]
fn asked_to_end() -> Result<impl Future<Output = ()>, HostError> {
    Ok(async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    })
}
