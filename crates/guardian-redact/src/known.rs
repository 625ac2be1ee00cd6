//! Values that are known to be secret.

/// Shorter values are not looked for: they would hide ordinary words.
pub(crate) const SHORTEST_VALUE: usize = 8;

/// The byte strings to look for: each value as it is and as it looks inside JSON text.
pub(crate) fn needles(values: &[String]) -> Vec<String> {
    let mut needles: Vec<String> = Vec::new();
    for value in values {
        let trimmed = value.trim();
        if trimmed.len() < SHORTEST_VALUE || trimmed.starts_with("[REDACTED") {
            continue;
        }
        let json = serde_json::Value::from(trimmed).to_string();
        let escaped = json[1..json.len() - 1].to_owned();
        for needle in [trimmed.to_owned(), escaped] {
            if !needles.contains(&needle) {
                needles.push(needle);
            }
        }
    }
    needles
}
