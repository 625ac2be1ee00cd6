//! Stored forms of types that do not know how they are stored.

use std::path::{Path, PathBuf};

use guardian_rules::{GrantScope, OperatingMode, PermissionMode, SessionPermissionMode};

use crate::StoreError;

/// Words for the values of an enumeration, in one place for both directions.
macro_rules! stored_words {
    ($to:ident, $from:ident, $type:ty, $what:literal, { $($variant:path => $word:literal),+ $(,)? }) => {
        pub(crate) fn $to(value: $type) -> &'static str {
            match value { $($variant => $word),+ }
        }

        /// An unknown word is damage, not a default.
        pub(crate) fn $from(word: &str) -> Result<$type, StoreError> {
            match word {
                $($word => Ok($variant),)+
                other => Err(StoreError::Corrupt(format!(concat!("`{}` is no ", $what), other))),
            }
        }
    };
}

stored_words!(operating_mode, parse_operating_mode, OperatingMode, "operating mode", {
    OperatingMode::Agent => "agent",
    OperatingMode::Plan => "plan",
    OperatingMode::Goal => "goal",
});

stored_words!(session_permission_mode, parse_session_permission_mode, SessionPermissionMode, "permission mode", {
    SessionPermissionMode::Inherit => "inherit",
    SessionPermissionMode::Ask => "ask",
    SessionPermissionMode::AcceptEdits => "accept-edits",
    SessionPermissionMode::Auto => "auto",
});

stored_words!(permission_mode, parse_permission_mode, PermissionMode, "permission mode", {
    PermissionMode::Ask => "ask",
    PermissionMode::AcceptEdits => "accept-edits",
    PermissionMode::Auto => "auto",
});

stored_words!(grant_scope, parse_grant_scope, GrantScope, "grant scope", {
    GrantScope::Roots => "roots",
    GrantScope::Outside => "outside",
});

/// A path as bytes: not every path is text.
pub(crate) fn path_bytes(path: &Path) -> Result<Vec<u8>, StoreError> {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt as _;
        Ok(path.as_os_str().as_bytes().to_vec())
    }
    #[cfg(not(unix))]
    {
        path.to_str()
            .map(|text| text.as_bytes().to_vec())
            .ok_or_else(|| StoreError::Invalid("the path is not Unicode".to_owned()))
    }
}

pub(crate) fn path_from_bytes(bytes: Vec<u8>) -> Result<PathBuf, StoreError> {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStringExt as _;
        Ok(PathBuf::from(std::ffi::OsString::from_vec(bytes)))
    }
    #[cfg(not(unix))]
    {
        String::from_utf8(bytes)
            .map(PathBuf::from)
            .map_err(|_| StoreError::Corrupt("a stored path is not Unicode".to_owned()))
    }
}
