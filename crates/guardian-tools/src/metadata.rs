//! Carrying owner, mode, ACL and extended attributes over to the file that replaces another.

use std::ffi::{CStr, CString};
use std::os::fd::BorrowedFd;

use rustix::fs::{Mode, Stat, XattrFlags};
use rustix::io::Errno;

/// Was everything carried over?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kept {
    /// Yes.
    All,
    /// No (foreign owner, ACL refused): the caller writes in place instead.
    NotAll,
}

const ACL: &CStr = c"system.posix_acl_access";

/// Gives `new` the owner, ACL, extended attributes and permission bits of `old`.
///
/// Set-user-ID, set-group-ID and file capabilities are dropped, as the kernel does when a file is
/// written to: new bytes must not inherit old privileges.
pub(crate) fn keep_metadata(
    old: BorrowedFd<'_>,
    stat: &Stat,
    new: BorrowedFd<'_>,
) -> Result<Kept, Errno> {
    let fresh = rustix::fs::fstat(new)?;
    if fresh.st_uid != stat.st_uid || fresh.st_gid != stat.st_gid {
        let owner = Some(rustix::fs::Uid::from_raw(stat.st_uid));
        let group = Some(rustix::fs::Gid::from_raw(stat.st_gid));
        match rustix::fs::fchown(new, owner, group) {
            Ok(()) => {}
            Err(Errno::PERM | Errno::INVAL) => return Ok(Kept::NotAll),
            Err(errno) => return Err(errno),
        }
    }
    rustix::fs::fchmod(new, Mode::from_raw_mode(stat.st_mode & 0o1777))?;
    keep_attributes(old, new)
}

fn keep_attributes(old: BorrowedFd<'_>, new: BorrowedFd<'_>) -> Result<Kept, Errno> {
    let names = match list(old) {
        Ok(names) => names,
        Err(Errno::OPNOTSUPP) => return Ok(Kept::All),
        Err(errno) => return Err(errno),
    };
    // A default ACL of the directory gave the new file one that the old one does not have.
    if !names.iter().any(|name| name.as_c_str() == ACL) {
        match rustix::fs::fremovexattr(new, ACL) {
            Ok(()) | Err(Errno::NODATA | Errno::OPNOTSUPP) => {}
            Err(_) => return Ok(Kept::NotAll),
        }
    }
    for name in names {
        if name.to_bytes().starts_with(b"security.") && name.to_bytes() != b"security.selinux" {
            continue;
        }
        let value = get(old, &name)?;
        match rustix::fs::fsetxattr(new, &name, &value, XattrFlags::empty()) {
            Ok(()) => {}
            // The label of new files is the system's business.
            Err(_) if name.to_bytes() == b"security.selinux" => {}
            Err(Errno::NOSPC | Errno::DQUOT) => return Err(Errno::NOSPC),
            Err(_) => return Ok(Kept::NotAll),
        }
    }
    Ok(Kept::All)
}

fn list(file: BorrowedFd<'_>) -> Result<Vec<CString>, Errno> {
    let mut buffer = vec![0_u8; 64 * 1024];
    let length = rustix::fs::flistxattr(file, &mut buffer[..])?;
    Ok(buffer[..length]
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
        .filter_map(|name| CString::new(name).ok())
        .collect())
}

fn get(file: BorrowedFd<'_>, name: &CStr) -> Result<Vec<u8>, Errno> {
    let mut value = vec![0_u8; 64 * 1024];
    let length = rustix::fs::fgetxattr(file, name, &mut value[..])?;
    value.truncate(length);
    Ok(value)
}
