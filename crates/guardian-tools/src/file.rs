//! Reading bytes of an opened regular file.

use std::os::fd::BorrowedFd;

use rustix::io::Errno;

/// Fills `buffer` from `position` as far as the file goes; returns how many bytes it got.
pub(crate) fn read_at(
    file: BorrowedFd<'_>,
    buffer: &mut [u8],
    position: u64,
) -> Result<usize, Errno> {
    let mut filled = 0;
    while filled < buffer.len() {
        let got = rustix::io::retry_on_intr(|| {
            rustix::io::pread(file, &mut buffer[filled..], position + filled as u64)
        })?;
        if got == 0 {
            break;
        }
        filled += got;
    }
    Ok(filled)
}

/// The whole file, at most `max` bytes; `None` when there are more.
pub(crate) fn read_whole(
    file: BorrowedFd<'_>,
    expected: u64,
    max: u64,
) -> Result<Option<Vec<u8>>, Errno> {
    if expected > max {
        return Ok(None);
    }
    let capacity = usize::try_from(expected).map_err(|_| Errno::FBIG)? + 1;
    let mut bytes = vec![0_u8; capacity];
    let mut filled = 0;
    loop {
        let got = read_at(file, &mut bytes[filled..], filled as u64)?;
        filled += got;
        if filled < bytes.len() {
            bytes.truncate(filled);
            return Ok(Some(bytes));
        }
        // It grew while it was read.
        if filled as u64 > max {
            return Ok(None);
        }
        bytes.resize(bytes.len() + 64 * 1024, 0);
    }
}

/// Writes all of `bytes` at `position`.
pub(crate) fn write_at(
    file: BorrowedFd<'_>,
    mut bytes: &[u8],
    mut position: u64,
) -> Result<(), Errno> {
    while !bytes.is_empty() {
        let put = rustix::io::retry_on_intr(|| rustix::io::pwrite(file, bytes, position))?;
        if put == 0 {
            return Err(Errno::IO);
        }
        bytes = &bytes[put..];
        position += put as u64;
    }
    Ok(())
}
