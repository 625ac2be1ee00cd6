//! Work of a reading, counted in tests: bytes looked at, nodes visited, steps taken.
//!
//! Linear time is held by counts, because time itself says little on a shared machine.

#[cfg(test)]
thread_local! {
    static WORK: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// One unit of work. Nothing outside tests.
#[inline]
pub(super) fn count() {
    #[cfg(test)]
    WORK.with(|work| work.set(work.get() + 1));
}

/// What this thread has spent so far.
#[cfg(test)]
pub(super) fn spent() -> u64 {
    WORK.with(std::cell::Cell::get)
}

#[cfg(test)]
pub(super) mod tests {
    use std::path::{Path, PathBuf};

    use super::WORK;
    use crate::catalogue::Catalogue;
    use crate::probe::MemoryProbe;
    use crate::{FactContext, LinkedNames, PathClasses, RootPaths, shell};

    /// The work of reading a text, tree-sitter's aside, which has a budget in proportion to the
    /// text.
    pub(crate) fn work(text: &str) -> u64 {
        let roots = RootPaths {
            workspace: Some(PathBuf::from("/w")),
            scratch: PathBuf::from("/s"),
            home: PathBuf::from("/h"),
            guardian_data: PathBuf::from("/d"),
            guardian_config: Vec::new(),
            guardian_executables: Vec::new(),
        };
        let probe = MemoryProbe::new();
        let classes = PathClasses::from_default();
        let cx = FactContext {
            roots: &roots,
            probe: &probe,
            classes: &classes,
            catalogue: Catalogue::builtin(),
            linked: LinkedNames::new(),
        };
        WORK.with(|work| work.set(0));
        drop(shell::read(text, Path::new("/w"), &cx));
        WORK.with(std::cell::Cell::get)
    }

    /// Random punctuation, the same every time.
    fn punctuation(length: usize) -> String {
        const MARKS: &[u8] = b"(){}[]<>|&;$`'\"\\#!*?=~ \nab";
        let mut state = 88_172_645_463_325_252_u64;
        (0..length)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                let at = usize::try_from(state % MARKS.len() as u64).unwrap();
                char::from(MARKS[at])
            })
            .collect()
    }

    #[track_caller]
    fn linear(name: &str, text: impl Fn(usize) -> String) {
        let (small, large) = (text(40), text(400));
        let ratio = large.len() as f64 / small.len() as f64;
        let (one, ten) = (work(&small), work(&large));
        assert!(
            ten as f64 <= one as f64 * ratio * 1.2 + 2_000.0,
            "{name}: {} bytes took {one}, {} bytes took {ten}",
            small.len(),
            large.len()
        );
    }

    #[test]
    fn work_grows_no_faster_than_the_text() {
        linear("commands", |n| "echo a b; ".repeat(n));
        linear("lines", |n| "grep -n 'x y' f | head -3\n".repeat(n));
        linear("pipeline", |n| "cat | ".repeat(n) + "cat");
        linear("and", |n| "true && ".repeat(n) + "true");
        linear("assignments", |n| "x=a y=$x; ".repeat(n));
        linear("arrays", |n| "a=(".repeat(n));
        linear("array", |n| format!("a=({})", "x ".repeat(n)));
        linear("quotes", |n| "echo \"a\" 'b' ".repeat(n));
        linear("one quote", |n| format!("echo \"{}\"", "a $x ".repeat(n)));
        linear("substitutions", |n| "echo $(foo) `bar`; ".repeat(n));
        linear("parameters", |n| "echo ${x:-${y#a}} ".repeat(n));
        linear("heredocs", |n| "cat <<E\n$(foo)\nE\n".repeat(n));
        linear("stacked heredocs", |n| "cat <<E ".repeat(n) + "\nE\n");
        linear("conditions", |n| "if a; then b; fi\n".repeat(n));
        linear("functions", |n| "f() { foo; }; f; ".repeat(n));
        linear("comments", |n| "# $(a) `b` 'c\n".repeat(n));
        linear("braces", |n| "echo {a,b} ".repeat(n));
        linear("tests", |n| "[[ a == b && -f c ]]; ".repeat(n));
        linear("descriptors", |n| "{a}>f ".repeat(n));
    }

    #[test]
    fn deep_and_broken_texts_take_no_more_work_than_plain_ones() {
        for (name, opener) in [
            ("subshells", "("),
            ("groups", "{ "),
            ("substitutions", "$("),
            ("arithmetic", "$(("),
            ("double parentheses", "(("),
            ("parameters", "${x:-"),
            ("quotes", "\"$("),
            ("backticks", "`"),
            ("brackets", "a[$("),
            ("conditions", "if "),
            ("tests", "[[ ("),
            ("process substitutions", "<("),
            ("heredocs", "<<a\n"),
            ("arrays", "a=("),
            ("braces", "{a,"),
            ("patterns", "@("),
        ] {
            linear(name, |n| opener.repeat(n));
        }
        for depth in [10, 20, 30] {
            let text = "$((".repeat(depth) + "a" + &") )".repeat(depth);
            let bytes = u64::try_from(text.len()).unwrap();
            assert!(work(&text) < bytes * 400, "{depth}: {}", work(&text));
            let text = "((".repeat(depth) + "a" + &") )".repeat(depth);
            assert!(work(&text) < bytes * 400, "{depth}: {}", work(&text));
        }
        linear("punctuation", |n| punctuation(n * 20));
    }

    /// What runs another command, many thousand times in one text: the walk must not go as deep as
    /// the text is long.
    #[test]
    fn chains_of_wrappers_take_neither_the_stack_nor_more_work_than_their_length() {
        for wrapper in [
            "env ",
            "command ",
            "builtin ",
            "exec ",
            "nice ",
            "sudo ",
            "nohup ",
            "timeout 5 ",
            "xargs ",
            "find . -exec ",
            "docker run x ",
            "parallel ",
            "$x ",
            "\"$@\" ",
            "time ",
            "! ",
            "eval ",
            "sh -c ",
            "ssh h ",
            "unknown ",
            "awk ",
            "[ ",
            "test ! ",
            "git -c a=b ",
        ] {
            let text = wrapper.repeat(60_000 / wrapper.len()) + "ls";
            let bytes = u64::try_from(text.len()).unwrap();
            assert!(work(&text) < bytes * 400, "{wrapper}: {}", work(&text));
        }
    }

    #[test]
    fn loops_and_calls_within_each_other_stop_at_the_bound() {
        let mut text = String::from("foo $i");
        for _ in 0..8 {
            text = format!("for i in a b c d e f g h; do {text}; done");
        }
        assert!(work(&text) < 400_000, "{}", work(&text));
        let mut text = String::from("f0() { foo; }\n");
        for level in 1..20 {
            let before = level - 1;
            text += &format!("f{level}() {{ f{before}; f{before}; f{before}; }}\n");
        }
        assert!(work(&format!("{text}f19")) < 400_000);
    }
}
