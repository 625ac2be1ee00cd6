//! Files and directories that only the user may enter.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::path::Path;

/// Creates a directory (and its parents) with mode 0700; an existing one that others may enter
/// is closed to them.
pub(crate) fn create_directory(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    builder.create(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = path.metadata()?.permissions().mode();
        if mode & 0o077 != 0 {
            std::fs::set_permissions(path, Permissions::from_mode(0o700))?;
        }
    }
    Ok(())
}

/// Opens for reading and writing, created with mode 0600 when it is missing; never follows a
/// link in the last component on systems that can refuse it.
pub(crate) fn open_or_create(path: &Path) -> io::Result<File> {
    private_options().create(true).truncate(false).open(path)
}

/// Creates with mode 0600; fails when something of that name exists.
pub(crate) fn create_new(path: &Path) -> io::Result<File> {
    private_options().create_new(true).open(path)
}

fn private_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options
}
