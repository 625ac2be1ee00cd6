//! Where things are, from the environment. The host itself reads no environment for it.

use std::path::{Path, PathBuf};

use etcetera::{BaseStrategy, choose_base_strategy};
use guardian_host::{HostError, Places};

/// The user's directories; `data_dir` overrides `GUARDIAN_DATA_DIR`, which overrides the default.
///
/// # Errors
/// When the home directory is not known.
pub(crate) fn find(data_dir: Option<&Path>) -> Result<Places, HostError> {
    let base = choose_base_strategy()
        .map_err(|_| HostError::invalid_params("the home directory is not known: set HOME"))?;
    let data_dir = data_dir
        .map(Path::to_owned)
        .or_else(|| std::env::var_os("GUARDIAN_DATA_DIR").map(PathBuf::from))
        .unwrap_or_else(|| base.data_dir().join("guardian"));
    let data_dir = std::path::absolute(&data_dir)
        .map_err(|error| HostError::invalid_params(format!("`{}`: {error}", data_dir.display())))?;
    Ok(Places {
        data_dir,
        config_dir: base.config_dir().join("guardian"),
        managed_policy: PathBuf::from("/etc/guardian/policy.toml"),
        home: base.home_dir().to_owned(),
        executables: executables(),
    })
}

/// This executable and the supervisor beside it.
fn executables() -> Vec<PathBuf> {
    let Ok(own) = std::env::current_exe() else {
        return Vec::new();
    };
    let supervisor = own.with_file_name("guardian-supervisor");
    vec![own, supervisor]
}
