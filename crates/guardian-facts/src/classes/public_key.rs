//! Is a `*.pem` or `*.key` file public?

const PUBLIC_LABELS: &[&str] = &[
    "CERTIFICATE",
    "X509 CERTIFICATE",
    "TRUSTED CERTIFICATE",
    "CERTIFICATE REQUEST",
    "NEW CERTIFICATE REQUEST",
    "X509 CRL",
    "PKCS7",
    "PUBLIC KEY",
    "RSA PUBLIC KEY",
    "EC PUBLIC KEY",
    "DSA PUBLIC KEY",
    "SSH2 PUBLIC KEY",
    "PGP PUBLIC KEY BLOCK",
    "DH PARAMETERS",
    "EC PARAMETERS",
];

const PUBLIC_LINE_PREFIXES: &[&str] = &[
    "ssh-rsa ",
    "ssh-ed25519 ",
    "ssh-dss ",
    "ecdsa-sha2-",
    "sk-ssh-",
    "sk-ecdsa-",
];

/// True when the whole file consists of certificates and public keys in PEM or OpenSSH form.
///
/// `head` must be the whole content (`size` bytes): what was not seen is not known to be public.
/// Anything between the blocks but blank lines, comments and the `subject=`/`issuer=` lines that
/// openssl prints makes the answer false.
#[must_use]
pub fn holds_only_public_keys(head: &[u8], size: u64) -> bool {
    if head.len() as u64 != size {
        return false;
    }
    let Ok(text) = std::str::from_utf8(head) else {
        return false;
    };
    let mut open: Option<&str> = None;
    let mut seen = false;
    for line in text.lines().map(str::trim) {
        if let Some(label) = line
            .strip_prefix("-----BEGIN ")
            .and_then(|rest| rest.strip_suffix("-----"))
        {
            if open.is_some() || !PUBLIC_LABELS.contains(&label) {
                return false;
            }
            open = Some(label);
        } else if let Some(label) = line
            .strip_prefix("-----END ")
            .and_then(|rest| rest.strip_suffix("-----"))
        {
            if open != Some(label) {
                return false;
            }
            open = None;
            seen = true;
        } else if open.is_none() {
            let is_key = PUBLIC_LINE_PREFIXES
                .iter()
                .any(|prefix| line.starts_with(prefix));
            seen |= is_key;
            let is_note = line.is_empty()
                || line.starts_with('#')
                || line.starts_with("subject=")
                || line.starts_with("issuer=");
            if !is_key && !is_note {
                return false;
            }
        }
    }
    seen && open.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: bool) {
        assert_eq!(
            holds_only_public_keys(text.as_bytes(), text.len() as u64),
            expected,
            "{text}"
        );
    }

    #[test]
    fn certificates_and_public_keys_are_public() {
        check(
            "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
            true,
        );
        check(
            "# note\nsubject=CN=x\n-----BEGIN PUBLIC KEY-----\nAA\n-----END PUBLIC KEY-----",
            true,
        );
        check("ssh-ed25519 AAAA dev@host\n", true);
    }

    #[test]
    fn anything_else_is_not() {
        check("", false);
        check("hello", false);
        check(
            "-----BEGIN PRIVATE KEY-----\nAA\n-----END PRIVATE KEY-----\n",
            false,
        );
        check(
            "-----BEGIN CERTIFICATE-----\nA\n-----END CERTIFICATE-----\n-----BEGIN RSA PRIVATE KEY-----\nA\n-----END RSA PRIVATE KEY-----\n",
            false,
        );
        check("-----BEGIN CERTIFICATE-----\nA\n", false);
        check(
            "-----BEGIN CERTIFICATE-----\nA\n-----END CERTIFICATE-----\npassword=x\n",
            false,
        );
    }

    #[test]
    fn a_file_that_was_not_read_whole_is_not_known_to_be_public() {
        let text = "ssh-rsa AAAA\n";
        assert!(!holds_only_public_keys(
            text.as_bytes(),
            text.len() as u64 + 1
        ));
    }
}
