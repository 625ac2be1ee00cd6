//! Tags: what a session remembers of a file's content.

use std::os::fd::BorrowedFd;

use rustix::fs::Stat;
use rustix::io::Errno;

/// The tag of content that is held whole: its BLAKE3, lower-case hex.
pub(crate) fn tag_of_bytes(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

/// Bytes that were hashed already: a change is hashed once, however many look at it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hashed<'b> {
    pub(crate) bytes: &'b [u8],
    /// [`tag_of_bytes`] of them.
    pub(crate) hash: &'b str,
}

/// The tag of a file that is too large to hash: device, inode, size and times.
pub(crate) fn tag_of_metadata(stat: &Stat) -> String {
    format!(
        "s:{:x}:{:x}:{:x}:{:x}:{:x}",
        stat.st_dev,
        stat.st_ino,
        stat.st_size,
        nanoseconds(stat.st_mtime, stat.st_mtime_nsec),
        nanoseconds(stat.st_ctime, stat.st_ctime_nsec)
    )
}

/// BLAKE3 of a file, read from its start in pieces.
pub(crate) fn content_hash(file: BorrowedFd<'_>) -> Result<String, Errno> {
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0_u8; 128 * 1024];
    let mut position = 0_u64;
    loop {
        let got = rustix::io::retry_on_intr(|| rustix::io::pread(file, &mut buffer[..], position))?;
        if got == 0 {
            return Ok(hasher.finalize().to_hex().to_string());
        }
        hasher.update(&buffer[..got]);
        position += got as u64;
    }
}

/// One number for a time stamp.
pub(crate) fn nanoseconds(seconds: i64, fraction: u64) -> i128 {
    i128::from(seconds) * 1_000_000_000 + i128::from(fraction)
}
