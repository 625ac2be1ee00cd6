//! Kinds of binary files by their first bytes, and the size of images.

/// Signatures, first match wins.
const SIGNATURES: &[(&[u8], &str)] = &[
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM", "image/bmp"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
    (b"BZh", "application/x-bzip2"),
    (b"\xfd7zXZ\0", "application/x-xz"),
    (b"\x28\xb5\x2f\xfd", "application/zstd"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"\x7fELF", "application/x-elf"),
    (b"MZ", "application/vnd.microsoft.portable-executable"),
    (b"\xcf\xfa\xed\xfe", "application/x-mach-binary"),
    (b"\xca\xfe\xba\xbe", "application/java-vm"),
    (b"SQLite format 3\0", "application/vnd.sqlite3"),
    (b"\0asm", "application/wasm"),
    (b"ID3", "audio/mpeg"),
    (b"OggS", "application/ogg"),
    (b"fLaC", "audio/flac"),
    (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"),
    (b"\0\0\x01\0", "image/x-icon"),
];

/// The media type, `application/octet-stream` when it is not known.
pub(crate) fn mime_of(head: &[u8]) -> &'static str {
    if head.get(..4) == Some(b"RIFF") {
        return match head.get(8..12) {
            Some(b"WEBP") => "image/webp",
            Some(b"WAVE") => "audio/wav",
            _ => "application/octet-stream",
        };
    }
    if head.get(4..8) == Some(b"ftyp") {
        return "video/mp4";
    }
    if head.get(257..262) == Some(b"ustar") {
        return "application/x-tar";
    }
    SIGNATURES
        .iter()
        .find(|(signature, _)| head.starts_with(signature))
        .map_or("application/octet-stream", |(_, mime)| mime)
}

/// Width and height of a PNG, JPEG, GIF, BMP or WebP image; `None` for anything else.
pub(crate) fn dimensions(bytes: &[u8]) -> Option<(u32, u32)> {
    match mime_of(bytes) {
        "image/png" => Some((big(bytes, 16, 4)?, big(bytes, 20, 4)?)),
        "image/gif" => Some((little(bytes, 6, 2)?, little(bytes, 8, 2)?)),
        "image/bmp" => {
            let height = little(bytes, 22, 4)?;
            // A negative height says that the rows run top-down.
            Some((little(bytes, 18, 4)?, height.min(height.wrapping_neg())))
        }
        "image/jpeg" => jpeg(bytes),
        "image/webp" => webp(bytes),
        _ => None,
    }
}

fn jpeg(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut at = 2;
    loop {
        if *bytes.get(at)? != 0xff {
            return None;
        }
        let marker = *bytes.get(at + 1)?;
        match marker {
            0xff => at += 1,
            0x01 | 0xd0..=0xd8 => at += 2,
            0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf => {
                return Some((big(bytes, at + 7, 2)?, big(bytes, at + 5, 2)?));
            }
            0xd9 | 0xda => return None,
            _ => at += 2 + usize::try_from(big(bytes, at + 2, 2)?).ok()?,
        }
    }
}

fn webp(bytes: &[u8]) -> Option<(u32, u32)> {
    match bytes.get(12..16)? {
        b"VP8X" => Some((little(bytes, 24, 3)? + 1, little(bytes, 27, 3)? + 1)),
        b"VP8L" => {
            let bits = little(bytes, 21, 4)?;
            Some(((bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1))
        }
        b"VP8 " => Some((
            little(bytes, 26, 2)? & 0x3fff,
            little(bytes, 28, 2)? & 0x3fff,
        )),
        _ => None,
    }
}

fn big(bytes: &[u8], at: usize, len: usize) -> Option<u32> {
    Some(
        bytes
            .get(at..at + len)?
            .iter()
            .fold(0, |n, byte| n << 8 | u32::from(*byte)),
    )
}

fn little(bytes: &[u8], at: usize, len: usize) -> Option<u32> {
    Some(
        bytes
            .get(at..at + len)?
            .iter()
            .rev()
            .fold(0, |n, byte| n << 8 | u32::from(*byte)),
    )
}

/// Standard base64 with padding.
pub(crate) fn base64(bytes: &[u8]) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_images() {
        let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        png.extend([0, 0, 2, 0x80, 0, 0, 1, 0xe0, 8, 6]);
        assert_eq!(dimensions(&png), Some((640, 480)));
        assert_eq!(dimensions(b"GIF89a\x0a\0\x14\0"), Some((10, 20)));
        let jpeg = b"\xff\xd8\xff\xe0\0\x04ab\xff\xc0\0\x11\x08\0\x10\0\x20";
        assert_eq!(dimensions(jpeg), Some((32, 16)));
        assert_eq!(dimensions(b"\x89PNG\r\n\x1a\n"), None);
        assert_eq!(dimensions(b"\xff\xd8\xff\xff\xff\xff"), None);
    }
}
