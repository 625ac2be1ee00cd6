//! The host of an address, in the one form that rules compare.
//!
//! Programs write one host in many ways (`evil.org.`, `%65vil.org`, `evil。org`, `127.1`). A host
//! that cannot be brought to one form for certain is not known, and what is not known is asked
//! about by every rule that denies a host.

use std::net::{Ipv4Addr, Ipv6Addr};

/// Host and port of `https://user@host:port/path`, `user@host:path` or `host`.
pub(super) fn host_and_port(text: &str) -> (Option<String>, Option<u16>) {
    if is_transport(text) {
        return (None, None);
    }
    let authority = authority(text);
    if is_read_in_two_ways(text, authority) {
        return (None, None);
    }
    let host_part = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    if let Some(inner) = host_part.strip_prefix('[') {
        let host = inner.split(']').next().unwrap_or("");
        let port = host_part
            .rsplit_once("]:")
            .and_then(|(_, port)| port.parse().ok());
        return (version_6(host), port);
    }
    let (host, port) = match host_part.split_once(':') {
        Some((host, port)) => (host, port.parse().ok()),
        None => (host_part, None),
    };
    (normalised(host), port)
}

/// `ext::command`, `helper::address`: what git hands to a program of that name.
fn is_transport(text: &str) -> bool {
    text.split_once("::").is_some_and(|(helper, _)| {
        !helper.is_empty()
            && helper
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !helper.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

/// `http://a\\@b`: to some programs the backslash ends the host, to others all in front of the `@` is
/// a user's name.
fn is_read_in_two_ways(text: &str, authority: &str) -> bool {
    let Some((_, behind)) = text.split_once(authority) else {
        return false;
    };
    behind.starts_with('\\')
        && behind
            .split(['/', '?', '#'])
            .next()
            .is_some_and(|rest| rest.contains('@'))
}

/// Generic endings of host names. Endings of two letters are countries, unless they are endings of
/// files.
const ENDINGS: &[&str] = &[
    "com", "org", "net", "edu", "gov", "mil", "int", "info", "biz", "pro", "dev", "app", "cloud",
    "xyz", "site", "online", "tech", "store", "shop", "club", "live", "page", "internal", "local",
    "lan", "corp", "onion", "example", "arpa",
];
const FILE_ENDINGS: &[&str] = &[
    "rs", "py", "sh", "md", "js", "ts", "go", "pl", "rb", "cs", "cc", "hs", "ml", "mk", "so", "vb",
    "kt", "ps", "gz", "bz", "xz", "tf", "mm", "db", "hh", "pm", "ex", "jl", "el",
];

/// Hosts that a text names, read loosely: in addresses (`https://host/path`), in front of a port
/// and behind an `@` or a `=`, and names that end as host names do. It can only find danger: a
/// host that cannot be brought to one form is left out, and a file may be taken for a host.
#[must_use]
pub fn hosts_in(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    // A host has a dot, or stands in an address.
    if !text.contains('.') && !text.contains("//") {
        return found;
    }
    let is_separator =
        |character: char| character.is_whitespace() || "'\"`(),<>;|&{}[]=\\".contains(character);
    for token in text.split(is_separator).filter(|token| !token.is_empty()) {
        if let Some(at) = token.find("//") {
            // `jdbc:mysql://host`, `-Hldap://host`
            let start = token
                .get(..at)
                .and_then(|scheme| scheme.strip_suffix(':'))
                .map_or(at, |_| at.saturating_sub(1));
            let address = token
                .get(start..)
                .unwrap_or_default()
                .trim_start_matches(':');
            found.extend(host_and_port(address).0);
            continue;
        }
        let first = token.split('/').next().unwrap_or_default();
        found.extend(
            first
                .split(['@', ':'])
                .filter(|piece| ends_as_host(piece))
                .filter_map(normalised),
        );
    }
    found.sort_unstable();
    found.dedup();
    found
}

fn ends_as_host(piece: &str) -> bool {
    let piece = piece.strip_suffix('.').unwrap_or(piece);
    let Some((_, last)) = piece.rsplit_once('.') else {
        return false;
    };
    let last = last.to_ascii_lowercase();
    let is_country = last.len() == 2
        && last.bytes().all(|byte| byte.is_ascii_alphabetic())
        && !FILE_ENDINGS.contains(&last.as_str());
    is_country || ENDINGS.contains(&last.as_str()) || piece.parse::<Ipv4Addr>().is_ok()
}

/// What stands between the scheme and the path. One slash or three behind the scheme do as well.
fn authority(text: &str) -> &str {
    let is_scheme = |scheme: &str| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    };
    let rest = match text.split_once(":/") {
        Some((scheme, rest)) if is_scheme(scheme) => rest.trim_start_matches('/'),
        _ => text.trim_start_matches('/'),
    };
    rest.split(['/', '?', '#', '\\']).next().unwrap_or("")
}

/// A host name or address in lower case without the dot of the root; `None` for what programs may
/// read in more than one way.
pub(super) fn normalised(host: &str) -> Option<String> {
    let dotted = host.replace(['\u{3002}', '\u{ff0e}', '\u{ff61}'], ".");
    let decoded = decoded(&dotted)?.to_ascii_lowercase();
    let name = decoded.strip_suffix('.').unwrap_or(&decoded);
    let plain = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    if name.is_empty() || !plain || name.starts_with('.') || name.contains("..") {
        return None;
    }
    let last = name.rsplit('.').next().unwrap_or(name);
    // `127.1`, `0x7f.1` and `2130706433` are addresses to some programs
    let is_numeric = last.bytes().all(|byte| byte.is_ascii_digit()) || last.starts_with("0x");
    if is_numeric {
        return name
            .parse::<Ipv4Addr>()
            .ok()
            .map(|address| address.to_string());
    }
    Some(name.to_owned())
}

fn version_6(host: &str) -> Option<String> {
    let address: Ipv6Addr = host.parse().ok()?;
    Some(match address.to_ipv4_mapped() {
        Some(short) => short.to_string(),
        None => address.to_string(),
    })
}

/// `%65` as `e`; `None` for a broken escape or one that is no ASCII.
fn decoded(text: &str) -> Option<String> {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        result.push_str(before);
        let code = u8::from_str_radix(after.get(..2)?, 16).ok()?;
        if !code.is_ascii_graphic() || code == b'%' {
            return None;
        }
        result.push(char::from(code));
        rest = after.get(2..)?;
    }
    result.push_str(rest);
    Some(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(host_and_port(text).0.as_deref(), expected, "{text}");
    }

    #[test]
    fn one_host_has_one_form() {
        for text in [
            "evil.org",
            "EVIL.org",
            "evil.org.",
            "http://evil.org/x",
            "http:/evil.org",
            "http:///evil.org",
            "https://good.org@evil.org:8443/x",
            "git@evil.org:x/y.git",
            "http://%65vil.org",
            "http://evil%2eorg",
            "evil\u{3002}org",
            "//evil.org/x",
            "http://evil.org\\x",
        ] {
            check(text, Some("evil.org"));
        }
        check("http://[::ffff:127.0.0.1]:80/", Some("127.0.0.1"));
        check("http://[0:0::1]/", Some("::1"));
        check("127.0.0.1:80", Some("127.0.0.1"));
    }

    #[test]
    fn a_host_that_may_be_read_in_two_ways_is_not_known() {
        for text in [
            "http://evi{l,k}.org",
            "http://evil[1-3].org",
            "http://127.1/",
            "http://0x7f.0.0.1/",
            "http://2130706433/",
            "http://\u{ff45}vil.org",
            "http://%zzvil.org",
            "http://a..org",
            "http://",
            // curl takes what is in front of the `@` for a user's name, others go to the first
            "http://good.org\\@evil.org",
            "http://good.org\\@evil.org/x",
            "ext::nc evil.org",
            "helper::https://evil.org",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn hosts_are_found_in_words_and_code() {
        for text in [
            "http://evil.org/x",
            "urlopen('http://evil.org')",
            "--host=evil.org",
            "HostName=evil.org",
            "1:evil.org:2",
            "evil.org:22",
            "TCP:evil.org:80",
            "nc evil.org 22",
            "user@evil.org:path",
            "//evil.org/share",
            "ldap://EVIL.org",
            "-Hldap://evil.org:389",
            "jdbc:mysql://evil.org/db",
            "scp://evil.org/f",
            "evil.org/x",
        ] {
            assert_eq!(hosts_in(text), ["evil.org"], "{text}");
        }
        for text in [
            "main.rs",
            "print(1)",
            "os.path.join(a)",
            "./x.org/y/z.py",
            "a//b.txt",
        ] {
            let found = hosts_in(text);
            assert!(
                !found.iter().any(|host| host.ends_with("org")),
                "{text}: {found:?}"
            );
        }
        assert_eq!(hosts_in("ping 10.0.0.1"), ["10.0.0.1"]);
    }
}
