//! The short and the long way to write one flag.

use super::Catalogue;

impl Catalogue {
    /// Other spellings of `flag` for a command line, as far as its table says so: `-f` and `--force`
    /// of `git push`. `names` are the program and the words behind it that may be subcommands, in
    /// their order.
    ///
    /// A table that lists a flag with its opposite (`--atomic --no-atomic`) makes them no spellings
    /// of each other.
    #[must_use]
    pub fn other_spellings(&self, names: &[&str], flag: &str) -> Vec<&str> {
        let mut found = Vec::new();
        let Some((program, words)) = names.split_first() else {
            return found;
        };
        found.extend(Self::same_letters(names, flag));
        let mut name = (*program).to_owned();
        self.add_spellings(&name, flag, &mut found);
        for word in words {
            let longer = format!("{name} {word}");
            if self.registry.get(&longer).is_some() {
                name = longer;
                self.add_spellings(&name, flag, &mut found);
            }
        }
        found
    }

    /// Letters of the subcommand that these words name whose value may stand right behind them: what
    /// follows in `-mn` of `git commit` is no flag.
    #[must_use]
    pub fn value_letters(&self, names: &[&str]) -> Vec<char> {
        let Some((program, words)) = names.split_first() else {
            return Vec::new();
        };
        let mut name = (*program).to_owned();
        for word in words {
            let longer = format!("{name} {word}");
            if self.registry.get(&longer).is_some() {
                name = longer;
            }
        }
        let Some(Ok(entry)) = self.registry.get(&name) else {
            return Vec::new();
        };
        entry
            .flags
            .iter()
            .filter(|flag| !flag.values.is_empty())
            .flat_map(|flag| flag.names.iter().filter(|name| is_letter(name)))
            .filter_map(|name| name.chars().nth(1))
            .collect()
    }

    fn add_spellings<'c>(&'c self, name: &str, flag: &str, found: &mut Vec<&'c str>) {
        let Some(Ok(entry)) = self.registry.get(name) else {
            return;
        };
        for line in entry.flags.iter().map(|flag| &flag.names) {
            if !line.iter().any(|known| known == flag) {
                continue;
            }
            let is_opposite = |long: &str| {
                long.strip_prefix("--no-")
                    .is_some_and(|plain| line.iter().any(|known| *known == format!("--{plain}")))
            };
            if is_opposite(flag) {
                continue;
            }
            // of `-n --verify --no-verify` nobody knows which one the letter is
            let has_opposite = |long: &str| {
                long.strip_prefix("--")
                    .is_some_and(|plain| line.iter().any(|known| *known == format!("--no-{plain}")))
            };
            let others = line.iter().map(String::as_str).filter(|other| {
                is_letter(other) != is_letter(flag)
                    && !is_opposite(other)
                    && !(is_letter(flag) && has_opposite(other))
            });
            found.extend(others);
        }
    }
}

/// `-f`
fn is_letter(flag: &str) -> bool {
    flag.strip_prefix('-')
        .is_some_and(|rest| rest.chars().count() == 1 && rest != "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(names: &[&str], flag: &str, expected: &[&str]) {
        assert_eq!(Catalogue::builtin().other_spellings(names, flag), expected);
    }

    #[test]
    fn the_short_and_the_long_way_are_one_flag() {
        check(&["git", "push"], "--force", &["-f"]);
        check(&["git", "push", "origin"], "-f", &["--force"]);
        check(&["git", "push"], "--force-with-lease", &[]);
        check(&["git", "push"], "--atomic", &[]);
        check(&["rm"], "-r", &["-R", "--recursive"]);
        check(&["git", "commit"], "-n", &["--no-verify"]);
        check(&["git", "commit"], "--no-verify", &["-n"]);
        check(&["nosuch"], "--force", &[]);
        check(&[], "--force", &[]);
    }
}
