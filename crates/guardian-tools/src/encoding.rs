//! Text encodings: telling them apart by content, decoding for display, encoding for changes.

use std::borrow::Cow;

/// How a text file is encoded (SPEC §9: UTF-8, BOM-marked UTF-8/16/32, else windows-1252).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// UTF-8 without a mark.
    Utf8,
    /// UTF-8 after EF BB BF.
    Utf8Bom,
    /// UTF-16, little endian, after FF FE.
    Utf16Le,
    /// UTF-16, big endian, after FE FF.
    Utf16Be,
    /// UTF-32, little endian, after FF FE 00 00.
    Utf32Le,
    /// UTF-32, big endian, after 00 00 FE FF.
    Utf32Be,
    /// Not UTF-8 and without a mark: every byte is a character. Said so in results.
    Windows1252,
}

/// How many bytes are looked at for a NUL (SPEC §15.1).
pub(crate) const BINARY_LOOK: usize = 8 * 1024;

impl Encoding {
    /// The name in results.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Utf8 => "utf-8",
            Self::Utf8Bom => "utf-8-bom",
            Self::Utf16Le => "utf-16le",
            Self::Utf16Be => "utf-16be",
            Self::Utf32Le => "utf-32le",
            Self::Utf32Be => "utf-32be",
            Self::Windows1252 => "windows-1252",
        }
    }

    /// The encoding that a mark at the start names; `None` without a mark.
    pub(crate) fn from_mark(head: &[u8]) -> Option<Self> {
        match head {
            [0xff, 0xfe, 0, 0, ..] => Some(Self::Utf32Le),
            [0, 0, 0xfe, 0xff, ..] => Some(Self::Utf32Be),
            [0xff, 0xfe, ..] => Some(Self::Utf16Le),
            [0xfe, 0xff, ..] => Some(Self::Utf16Be),
            [0xef, 0xbb, 0xbf, ..] => Some(Self::Utf8Bom),
            _ => None,
        }
    }

    /// The bytes of the mark.
    pub(crate) fn mark(self) -> &'static [u8] {
        match self {
            Self::Utf8 | Self::Windows1252 => &[],
            Self::Utf8Bom => &[0xef, 0xbb, 0xbf],
            Self::Utf16Le => &[0xff, 0xfe],
            Self::Utf16Be => &[0xfe, 0xff],
            Self::Utf32Le => &[0xff, 0xfe, 0, 0],
            Self::Utf32Be => &[0, 0, 0xfe, 0xff],
        }
    }

    /// Bytes of one code unit.
    pub(crate) fn unit(self) -> usize {
        match self {
            Self::Utf8 | Self::Utf8Bom | Self::Windows1252 => 1,
            Self::Utf16Le | Self::Utf16Be => 2,
            Self::Utf32Le | Self::Utf32Be => 4,
        }
    }

    /// Bytes of `c` in this encoding; `None` when it cannot be expressed.
    pub(crate) fn width(self, c: char) -> Option<usize> {
        match self {
            Self::Utf8 | Self::Utf8Bom => Some(c.len_utf8()),
            Self::Utf16Le | Self::Utf16Be => Some(c.len_utf16() * 2),
            Self::Utf32Le | Self::Utf32Be => Some(4),
            Self::Windows1252 => windows_1252_byte(c).map(|_| 1),
        }
    }

    /// Encodes text, without a mark.
    ///
    /// # Errors
    /// The first character that this encoding cannot express.
    pub(crate) fn encode(self, text: &str) -> Result<Vec<u8>, char> {
        match self {
            Self::Utf8 | Self::Utf8Bom => Ok(text.as_bytes().to_vec()),
            Self::Utf16Le => Ok(text.encode_utf16().flat_map(u16::to_le_bytes).collect()),
            Self::Utf16Be => Ok(text.encode_utf16().flat_map(u16::to_be_bytes).collect()),
            Self::Utf32Le => Ok(text
                .chars()
                .flat_map(|c| u32::from(c).to_le_bytes())
                .collect()),
            Self::Utf32Be => Ok(text
                .chars()
                .flat_map(|c| u32::from(c).to_be_bytes())
                .collect()),
            Self::Windows1252 => text
                .chars()
                .map(|c| windows_1252_byte(c).ok_or(c))
                .collect(),
        }
    }

    /// Decodes bytes (without the mark) exactly; `None` when they are not valid in this encoding.
    pub(crate) fn decode_exact(self, bytes: &[u8]) -> Option<Cow<'_, str>> {
        match self {
            Self::Utf8 | Self::Utf8Bom => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
            Self::Utf16Le | Self::Utf16Be => {
                if !bytes.len().is_multiple_of(2) {
                    return None;
                }
                char::decode_utf16(self.units_16(bytes))
                    .collect::<Result<String, _>>()
                    .ok()
                    .map(Cow::Owned)
            }
            Self::Utf32Le | Self::Utf32Be => {
                if !bytes.len().is_multiple_of(4) {
                    return None;
                }
                self.units_32(bytes)
                    .map(char::from_u32)
                    .collect::<Option<String>>()
                    .map(Cow::Owned)
            }
            Self::Windows1252 => {
                encoding_rs::WINDOWS_1252.decode_without_bom_handling_and_without_replacement(bytes)
            }
        }
    }

    /// Decodes bytes (without the mark) for display; what is not valid becomes U+FFFD.
    pub(crate) fn decode_lossy(self, bytes: &[u8]) -> Cow<'_, str> {
        match self {
            // Asked first: telling that all of it is valid is several times faster than mending.
            Self::Utf8 | Self::Utf8Bom => match std::str::from_utf8(bytes) {
                Ok(text) => Cow::Borrowed(text),
                Err(_) => String::from_utf8_lossy(bytes),
            },
            Self::Utf16Le | Self::Utf16Be => Cow::Owned(
                char::decode_utf16(self.units_16(bytes))
                    .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
                    .collect(),
            ),
            Self::Utf32Le | Self::Utf32Be => Cow::Owned(
                self.units_32(bytes)
                    .map(|unit| char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER))
                    .collect(),
            ),
            Self::Windows1252 => {
                encoding_rs::WINDOWS_1252
                    .decode_without_bom_handling(bytes)
                    .0
            }
        }
    }

    fn units_16(self, bytes: &[u8]) -> impl Iterator<Item = u16> + '_ {
        bytes.chunks_exact(2).map(move |pair| {
            let pair = [pair[0], pair[1]];
            if self == Self::Utf16Be {
                u16::from_be_bytes(pair)
            } else {
                u16::from_le_bytes(pair)
            }
        })
    }

    fn units_32(self, bytes: &[u8]) -> impl Iterator<Item = u32> + '_ {
        bytes.chunks_exact(4).map(move |four| {
            let four = [four[0], four[1], four[2], four[3]];
            if self == Self::Utf32Be {
                u32::from_be_bytes(four)
            } else {
                u32::from_le_bytes(four)
            }
        })
    }
}

/// The encoding of a whole file; `None` when it is binary.
pub(crate) fn detect(bytes: &[u8]) -> Option<Encoding> {
    detect_text(bytes).map(|(encoding, _)| encoding)
}

/// Is a file no text? By its beginning alone.
pub(crate) fn is_binary(bytes: &[u8]) -> bool {
    Encoding::from_mark(bytes).is_none()
        && memchr::memchr(0, &bytes[..bytes.len().min(BINARY_LOOK)]).is_some()
}

/// [`detect`], with the text where the bytes are valid UTF-8 as they stand: a large file is looked
/// through once.
fn detect_text(bytes: &[u8]) -> Option<(Encoding, Option<&str>)> {
    if is_binary(bytes) {
        return None;
    }
    if let Some(marked) = Encoding::from_mark(bytes) {
        return Some((marked, None));
    }
    Some(match std::str::from_utf8(bytes) {
        Ok(text) => (Encoding::Utf8, Some(text)),
        Err(_) => (Encoding::Windows1252, None),
    })
}

/// The encoding of a whole file and its text for display; `None` when it is binary.
pub(crate) fn decode_whole(bytes: &[u8]) -> Option<(Encoding, Cow<'_, str>)> {
    let (encoding, text) = detect_text(bytes)?;
    let text = match text {
        Some(text) => Cow::Borrowed(text),
        None => encoding.decode_lossy(&bytes[encoding.mark().len()..]),
    };
    Some((encoding, text))
}

/// The encoding of a whole file and its exact text, which is missing when a mark at the start says
/// what the rest does not keep; `None` when it is binary.
pub(crate) fn decode_whole_exact(bytes: &[u8]) -> Option<(Encoding, Option<Cow<'_, str>>)> {
    let (encoding, text) = detect_text(bytes)?;
    let text = match text {
        Some(text) => Some(Cow::Borrowed(text)),
        None => encoding.decode_exact(&bytes[encoding.mark().len()..]),
    };
    Some((encoding, text))
}

/// The line of the first wrong byte of text that is UTF-8 but for a few bytes; `None` when it is
/// valid, or when nothing speaks for UTF-8 (as many wrong places as right characters or more).
pub(crate) fn broken_utf8(bytes: &[u8]) -> Option<usize> {
    let (mut right, mut wrong) = (0_usize, 0_usize);
    let mut first = None;
    let mut position = 0;
    for chunk in bytes.utf8_chunks() {
        let valid = chunk.valid();
        right += valid.chars().filter(|c| !c.is_ascii()).count();
        position += valid.len();
        if !chunk.invalid().is_empty() {
            wrong += 1;
            first.get_or_insert(position);
        }
        position += chunk.invalid().len();
    }
    let first = first.filter(|_| right >= wrong)?;
    Some(bytecount::count(&bytes[..first], b'\n') + 1)
}

/// Would bytes that were written in this encoding be read as it?
pub(crate) fn reads_back(bytes: &[u8], encoding: Encoding) -> bool {
    match encoding {
        // What is no text any more (a NUL) is as it was asked for.
        Encoding::Utf8 => true,
        Encoding::Windows1252 => bytes.is_ascii() || detect(bytes) == Some(encoding),
        marked => detect(bytes) == Some(marked),
    }
}

fn windows_1252_byte(c: char) -> Option<u8> {
    if u32::from(c) < 0x80 {
        return u8::try_from(u32::from(c)).ok();
    }
    let mut text = [0_u8; 4];
    let (bytes, _, unmappable) = encoding_rs::WINDOWS_1252.encode(c.encode_utf8(&mut text));
    match (&*bytes, unmappable) {
        ([byte], false) => Some(*byte),
        _ => None,
    }
}

/// How lines end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LineEnding {
    /// `\n`, or no line end at all.
    Lf,
    /// `\r\n`.
    CrLf,
    /// Both occur.
    Mixed,
}

impl LineEnding {
    /// The name in results.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Lf => "lf",
            Self::CrLf => "crlf",
            Self::Mixed => "mixed",
        }
    }

    pub(crate) fn from_counts(lf: usize, crlf: usize) -> Self {
        match (lf, crlf) {
            (_, 0) => Self::Lf,
            (0, _) => Self::CrLf,
            _ => Self::Mixed,
        }
    }

    /// How the lines of `text` end.
    pub(crate) fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut lf = 0;
        let mut crlf = 0;
        for at in memchr::memchr_iter(b'\n', bytes) {
            if at > 0 && bytes[at - 1] == b'\r' {
                crlf += 1
            } else {
                lf += 1
            }
        }
        Self::from_counts(lf, crlf)
    }
}

/// `\r\n` becomes `\n`; nothing else changes.
pub(crate) fn to_lf(text: &str) -> Cow<'_, str> {
    if memchr::memmem::find(text.as_bytes(), b"\r\n").is_some() {
        Cow::Owned(text.replace("\r\n", "\n"))
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_told_apart() {
        assert_eq!(detect(b"\xff\xfe\0\0a\0\0\0"), Some(Encoding::Utf32Le));
        assert_eq!(detect(b"\xff\xfea\0"), Some(Encoding::Utf16Le));
        assert_eq!(detect(b"a\0b"), None);
        assert_eq!(detect("é".as_bytes()), Some(Encoding::Utf8));
        assert_eq!(detect(b"caf\xe9"), Some(Encoding::Windows1252));
    }

    #[test]
    fn utf_8_with_a_wrong_byte_is_told_from_windows_1252() {
        assert_eq!(broken_utf8("größe = 1\n".as_bytes()), None);
        assert_eq!(broken_utf8(b"gr\xf6\xdfe = 1\n"), None);
        assert_eq!(
            broken_utf8(b"a\ngr\xc3\xb6\xc3\x9fe\nbad \xff byte\n"),
            Some(3)
        );
        // Capital E with acute in front of a closing guillemet happens to be UTF-8.
        assert_eq!(broken_utf8(b"\xabCAF\xc9\xbb \xe9t\xe9 \xe0\n"), None);
    }

    #[test]
    fn every_byte_of_windows_1252_comes_back() {
        let all: Vec<u8> = (0..=255).collect();
        let text = Encoding::Windows1252.decode_exact(&all).unwrap();
        assert_eq!(Encoding::Windows1252.encode(&text).unwrap(), all);
        assert_eq!(Encoding::Windows1252.encode("→"), Err('→'));
    }
}
