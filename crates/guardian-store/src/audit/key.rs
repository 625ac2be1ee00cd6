//! The hash of arguments, keyed per installation: equal arguments can be told to be equal, and
//! nobody without the key can try out guesses.

use std::io::{ErrorKind, Read as _, Write as _};
use std::path::Path;

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::Value;
use sha2::Sha256;

use super::chain::hex;
use crate::{Store, StoreError, private_files};

const KEY_FILE: &str = "audit.key";

/// The key of this installation.
pub(crate) type Key = [u8; 32];

impl Store {
    /// HMAC-SHA-256 of a tool's name and arguments, as lower-case hex. Members of objects count in
    /// the order of their names, so that equal JSON has equal hashes.
    ///
    /// # Errors
    /// When the key can be neither read nor made.
    pub fn args_hash(&self, tool: &str, args: &Value) -> Result<String, StoreError> {
        let key = self.audit_key()?;
        let mut mac = Hmac::<Sha256>::new_from_slice(&key).map_err(|error| {
            StoreError::Corrupt(format!("the audit key cannot be used: {error}"))
        })?;
        mac.update(tool.as_bytes());
        mac.update(b"\0");
        let text = if is_sorted(args) {
            serde_json::to_vec(args)
        } else {
            serde_json::to_vec(&canonical(args))
        };
        let text = text.map_err(|error| {
            StoreError::Invalid(format!("the arguments cannot be written: {error}"))
        })?;
        mac.update(&text);
        Ok(hex(&mac.finalize().into_bytes()))
    }
}

/// Do the members of all objects stand in the order of their names already?
fn is_sorted(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().all(is_sorted),
        Value::Object(members) => members.keys().is_sorted() && members.values().all(is_sorted),
        _ => true,
    }
}

fn canonical(value: &Value) -> Value {
    let mut sorted = value.clone();
    sorted.sort_all_objects();
    sorted
}

/// Reads the key, or makes it. Several processes may try at once: a link into place succeeds for
/// one of them, and all read what is there then.
pub(crate) fn load_or_create(data_directory: &Path) -> Result<Key, StoreError> {
    let path = data_directory.join(KEY_FILE);
    for _ in 0..2 {
        match std::fs::File::open(&path) {
            Ok(mut file) => {
                let mut key = Key::default();
                return match file.read_exact(&mut key) {
                    Ok(()) => Ok(key),
                    Err(_) => Err(StoreError::Corrupt(format!(
                        "`{}` is too short for a key",
                        path.display()
                    ))),
                };
            }
            Err(error) if error.kind() == ErrorKind::NotFound => create(data_directory, &path)?,
            Err(error) => return Err(StoreError::io("reading the audit key", &error)),
        }
    }
    Err(StoreError::Unavailable {
        doing: "making the audit key",
        reason: "it disappears again".to_owned(),
        source: None,
    })
}

fn create(data_directory: &Path, path: &Path) -> Result<(), StoreError> {
    let failed = |error: &std::io::Error| StoreError::io("making the audit key", error);
    let mut key = Key::default();
    let mut suffix = [0; 8];
    for bytes in [&mut key[..], &mut suffix[..]] {
        getrandom::fill(bytes).map_err(|error| StoreError::Unavailable {
            doing: "making the audit key",
            reason: error.to_string(),
            source: None,
        })?;
    }
    let temporary = data_directory.join(format!("{KEY_FILE}.{}", hex(&suffix)));
    let mut file = private_files::create_new(&temporary).map_err(|error| failed(&error))?;
    let written = file.write_all(&key).and_then(|()| file.sync_all());
    let linked = written.and_then(|()| std::fs::hard_link(&temporary, path));
    let removed = std::fs::remove_file(&temporary);
    match linked {
        Ok(()) => removed.map_err(|error| failed(&error)),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            removed.map_err(|error| failed(&error))
        }
        Err(error) => Err(failed(&error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn equal_json_has_equal_hashes_whatever_the_order_of_its_members() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(crate::StoreOptions::new(directory.path())).unwrap();
        let hash = |args: Value| store.args_hash("Write", &args).unwrap();
        let sorted = hash(json!({"content": [{"a": 1, "b": 2}], "path": "x"}));
        assert_eq!(
            sorted,
            hash(json!({"path": "x", "content": [{"b": 2, "a": 1}]}))
        );
        assert_eq!(
            sorted,
            hash(json!({"content": [{"b": 2, "a": 1}], "path": "x"}))
        );
        assert_ne!(
            sorted,
            hash(json!({"content": [{"a": 2, "b": 1}], "path": "x"}))
        );
    }
}
