//! Random bash programs from a grammar. They use builtins and stubs only, write only relative
//! files, and end.

/// A small deterministic generator (splitmix64).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        value ^ (value >> 31)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).unwrap()
    }

    pub(crate) fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// The program of a seed.
pub(crate) fn program(seed: u64) -> String {
    let mut generator = Generator {
        random: Random::new(seed),
        functions: 0,
        heredocs: Vec::new(),
        labels: 0,
    };
    let count = 1 + generator.random.below(4);
    let prologue = if generator.random.chance(70) {
        let x = generator
            .random
            .pick(&["foo", "bar", "1", "'a b'", "*", "\"\""]);
        let y = generator.random.pick(&["2", "baz", "-n", "a/b.c"]);
        format!("x={x} y={y} z=3\narr=(ls 'p q' 7)\n")
    } else {
        String::new()
    };
    prologue + &generator.lines(count, 3)
}

struct Generator {
    random: Random,
    functions: usize,
    heredocs: Vec<String>,
    labels: usize,
}

const NAMES: &[&str] = &["foo", "bar", "baz", "nope", "rm", "touch", "ls"];
const VARIABLES: &[&str] = &["x", "y", "z", "foo_1"];

impl Generator {
    /// Statements on lines of their own, with the bodies of their heredocs.
    fn lines(&mut self, count: usize, depth: usize) -> String {
        let outer = std::mem::take(&mut self.heredocs);
        let mut text = String::new();
        for _ in 0..count {
            text += &self.statement(depth);
            if self.random.chance(8) {
                text += " # a comment with `foo` and $(bar)";
            }
            text.push('\n');
            for body in std::mem::take(&mut self.heredocs) {
                text += &body;
            }
        }
        self.heredocs = outer;
        text
    }

    /// Statements on one line; no heredocs.
    fn inline(&mut self, depth: usize) -> String {
        let mut text = self.command(depth, false);
        for _ in 0..self.random.below(2) {
            text += self.random.pick(&["; ", " && ", " || ", " | "]);
            text += &self.command(depth, false);
        }
        text
    }

    fn statement(&mut self, depth: usize) -> String {
        let mut text = self.command(depth, true);
        for _ in 0..self.random.below(3) {
            text += self.random.pick(&[
                "; ", " && ", " || ", " | ", " |& ", " & ", ";", "&&", "||", "|",
            ]);
            text += &self.command(depth, true);
        }
        if self.random.chance(5) {
            text += " &";
        }
        text
    }

    fn command(&mut self, depth: usize, heredocs: bool) -> String {
        if depth == 0 || self.random.chance(45) {
            return self.simple(depth, heredocs);
        }
        let depth = depth - 1;
        match self.random.below(21) {
            0 => format!("if {}; then {}; fi", self.inline(depth), self.inline(depth)),
            1 => format!(
                "if {}; then {}; else {}; fi",
                self.inline(depth),
                self.inline(depth),
                self.inline(depth)
            ),
            2 => {
                let variable = self.random.pick(VARIABLES);
                let words = self.words(depth, 3);
                format!("for {variable} in {words}; do {}; done", self.inline(depth))
            }
            3 => format!(
                "while {}; do {}; break; done",
                self.inline(depth),
                self.inline(depth)
            ),
            4 => format!(
                "until {}; do {}; break; done",
                self.inline(depth),
                self.inline(depth)
            ),
            5 => {
                let end = self.random.pick(&[";;", ";&", ";;&", ";;"]);
                let word = self.word(depth);
                let pattern = self
                    .random
                    .pick(&["a", "*", "'b c'", "[ab]*", "$x", "a|b", "@(a|b)", "(a"]);
                format!(
                    "case {word} in {pattern}) {} {end} *) {};; esac",
                    self.inline(depth),
                    self.inline(depth)
                )
            }
            6 => format!("{{ {}; }}", self.inline(depth)),
            7 => format!("( {} )", self.inline(depth)),
            8 => {
                self.functions += 1;
                let name = format!("fn{}", self.functions);
                let body = self.inline(depth);
                let local = if self.random.chance(40) {
                    format!("local x={}; ", self.word(depth))
                } else {
                    String::new()
                };
                let last = if self.random.chance(30) {
                    "; return"
                } else {
                    ""
                };
                let words = self.words(depth, 2);
                let head = if self.random.chance(50) {
                    format!("{name}()")
                } else {
                    format!("function {name}")
                };
                let show = if self.random.chance(60) {
                    "foo \"$1\" $2 \"$@\"; "
                } else {
                    ""
                };
                format!("{head} {{ {local}{show}{body}{last}; }}; {name} {words}")
            }
            9 => format!(
                "[[ {} {} {} ]] && {}",
                self.word(depth),
                self.random.pick(&["==", "!=", "<", "=~", "="]),
                self.word(depth),
                self.inline(depth)
            ),
            10 => format!("(( {} )) || {}", self.arithmetic(depth), self.inline(depth)),
            11 => format!("! {}", self.simple(depth, heredocs)),
            12 => format!("time {}", self.command(depth, false)),
            13 => format!("for ((x=0; x<2; x++)); do {}; done", self.inline(depth)),
            14 => {
                let text = self.inline(depth);
                if text.contains('\'') {
                    text
                } else {
                    format!("eval '{text}'")
                }
            }
            15 => {
                let text = self.inline(depth);
                if text.contains('\'') {
                    text
                } else {
                    format!("bash -c '{text}'")
                }
            }
            16 => {
                let text = self.simple(depth, false);
                if text.contains('\'') {
                    text
                } else {
                    format!("trap '{text}' EXIT")
                }
            }
            17 => format!("{{\n{}}}", self.lines(2, depth)),
            18 => format!(
                "for x in 1 2 3; do {}; [ $x = 2 ] && {}; {}; done",
                self.inline(depth),
                self.random.pick(&["break", "continue"]),
                self.inline(depth)
            ),
            19 => format!("coproc {}", self.command(depth, false)),
            _ => {
                let builtin = self.builtin(depth);
                format!("{builtin}; {}", self.simple(depth, heredocs))
            }
        }
    }

    fn builtin(&mut self, depth: usize) -> String {
        let variable = self.random.pick(VARIABLES);
        let word = self.word(depth);
        match self.random.below(18) {
            0 => format!("read {variable} <<< {word}"),
            1 => format!("set -- {}", self.words(depth, 3)),
            2 => "shift".to_owned(),
            3 => format!("declare {variable}={word}"),
            4 => format!("export {variable}={word}"),
            5 => format!("unset {variable}"),
            6 => format!("printf -v {variable} '%s' {word}"),
            7 => format!("IFS={}", self.random.pick(&[",", "o", "' '", "''"])),
            8 => self
                .random
                .pick(&[
                    "cd src",
                    "cd nowhere",
                    "cd ..",
                    "cd -",
                    "cd",
                    "pushd src",
                    "popd",
                    "cd src/sub",
                ])
                .to_owned(),
            9 => format!("arr=({})", self.words(depth, 3)),
            10 => format!("arr+=({})", self.words(depth, 2)),
            11 => format!("arr[1]={word}"),
            12 => format!("let {variable}=1+2"),
            13 => format!("declare -A map; map[k]={word}"),
            14 => format!("mapfile -t arr <<< {word}"),
            15 => format!("test {word} = b"),
            16 => self
                .random
                .pick(&[
                    "set -e",
                    "set -f",
                    "set +e",
                    "shopt -s extglob",
                    "shopt -s nullglob",
                    "set -u",
                    "shopt -s lastpipe",
                ])
                .to_owned(),
            _ => format!(": {word}"),
        }
    }

    fn simple(&mut self, depth: usize, heredocs: bool) -> String {
        let mut text = String::new();
        if self.random.chance(12) {
            text += &format!("{}={} ", self.random.pick(VARIABLES), self.word(depth));
            if self.random.chance(50) {
                return text.trim_end().to_owned();
            }
        }
        if self.random.chance(5) {
            text += self.random.pick(&[">f1 ", "2>&1 ", "<data.txt "]);
        }
        text += match self.random.below(40) {
            0 => "$x",
            1 => "\"$y\"",
            2 => "command foo",
            3 => "builtin echo",
            4 => "f\\oo",
            5 => "'bar'",
            6 if self.random.chance(30) => "\"${arr[@]}\"",
            7 => "env foo",
            8 => "exec foo",
            _ => self.random.pick(NAMES),
        };
        for _ in 0..self.random.below(4) {
            text.push(' ');
            text += &self.word(depth);
        }
        if self.random.chance(20) {
            text += self.random.pick(&[
                " >f2",
                " 2>/dev/null",
                " >>f2",
                " 2>&1",
                " <data.txt",
                " 3<>f3",
                " &>f4",
                " >|f2",
                " {fd}>f5",
                " >&2",
            ]);
        }
        if heredocs && self.random.chance(14) {
            text += &self.heredoc(depth);
        } else if self.random.chance(6) {
            text += &format!(" <<< {}", self.word(depth));
        }
        text
    }

    fn heredoc(&mut self, depth: usize) -> String {
        self.labels += 1;
        let label = format!("E{}", self.labels);
        let (opener, live, tabs) = match self.random.below(6) {
            0 => (format!("<<'{label}'"), false, ""),
            1 => (format!("<<\"{label}\""), false, ""),
            2 => (format!("<<-{label}"), true, "\t"),
            3 => (format!("<<\\{label}"), false, ""),
            4 => (format!("<< {label}"), true, ""),
            _ => (format!("<<{label}"), true, ""),
        };
        let mut body = String::new();
        for _ in 0..self.random.below(4) {
            body += tabs;
            if live {
                let piece = self.double(depth);
                if piece.contains(['\n', '"', '\'']) {
                    body += "plain"
                } else {
                    body += &piece
                }
            } else {
                body += self
                    .random
                    .pick(&["$(foo bar)", "`baz`", "text ' \" text", "E", "a \\"]);
            }
            if live && self.random.chance(10) {
                body += "\\";
            }
            body.push('\n');
        }
        body += tabs;
        body += &label;
        body.push('\n');
        self.heredocs.push(body);
        let after = self.random.pick(&["", "", " 2>&1", " >f6", " last"]);
        format!(" {opener}{after}")
    }

    fn words(&mut self, depth: usize, most: usize) -> String {
        let count = 1 + self.random.below(most);
        let words: Vec<String> = (0..count).map(|_| self.word(depth)).collect();
        words.join(" ")
    }

    fn word(&mut self, depth: usize) -> String {
        let mut text = self.piece(depth);
        if self.random.chance(25) {
            text += &self.piece(depth);
        }
        text
    }

    fn piece(&mut self, depth: usize) -> String {
        match self.random.below(26) {
            0 => "'a  b'".to_owned(),
            1 => format!("\"{}\"", self.double(depth)),
            2 | 3 => format!("${}", self.random.pick(VARIABLES)),
            4 => format!("\"${}\"", self.random.pick(VARIABLES)),
            5 if depth > 0 => format!("$({})", self.inline(depth - 1)),
            6 if depth > 0 => {
                let text = self.inline(depth - 1);
                if text.contains(['`', '\\', '"', '\'']) {
                    "`foo q`".to_owned()
                } else {
                    format!("`{text}`")
                }
            }
            7 if depth > 0 => format!("<({})", self.inline(depth - 1)),
            8 => format!("$(({}))", self.arithmetic(depth)),
            9 => self
                .random
                .pick(&[
                    "{a,b}",
                    "{1..3}",
                    "p{a,b}s",
                    "{a,b{c,d}}",
                    "{x",
                    "}",
                    "{}",
                    "{a}",
                    "{$x,q}",
                    "{a},b}",
                    "{'a b',c}",
                    "$x{1,2}",
                    "{a,b}{1,2}",
                ])
                .to_owned(),
            10 => self
                .random
                .pick(&["*.txt", "src/*", "?", "[ab]", "*"])
                .to_owned(),
            11 => self
                .random
                .pick(&["$'a\\tb'", "$'q'", "$\"l $x\"", "$'\\x41'"])
                .to_owned(),
            12 => self
                .random
                .pick(&["\\$x", "a\\ b", "\\\\", "\\;", "a\\\nb", "\\'"])
                .to_owned(),
            13 => self
                .random
                .pick(&["\"$@\"", "$1", "\"$*\"", "$#", "$?", "${10}", "$@"])
                .to_owned(),
            14 => self
                .random
                .pick(&[
                    "\"${arr[@]}\"",
                    "${arr[1]}",
                    "${#arr[@]}",
                    "${arr[*]}",
                    "$arr",
                    "${!arr[@]}",
                ])
                .to_owned(),
            15 => self.random.pick(&["~", "~/x", "a=~", "~nobody"]).to_owned(),
            16..=18 => self.parameter(depth),
            19 => self
                .random
                .pick(&[
                    "-n", "--", "--opt=v", "-", "+x", "a=b", "#x", "x#y", "=", "a:b", "!", "%",
                    "^", "@", "[", "]",
                ])
                .to_owned(),
            20 => self
                .random
                .pick(&["if", "then", "done", "in", "esac", "{", "function", "time"])
                .to_owned(),
            _ => self
                .random
                .pick(&["a", "b", "word", "1", "a.b", "é"])
                .to_owned(),
        }
    }

    fn parameter(&mut self, depth: usize) -> String {
        let variable = self.random.pick(&["x", "y", "z", "q", "1", "@", "arr[0]"]);
        let operator = self.random.pick(&[
            ":-", "-", ":=", ":+", "+", ":?", "#", "##", "%", "%%", "/", "//", "^", ",,", ":", "@",
        ]);
        let operand = match operator {
            ":" => self
                .random
                .pick(&["0:1", "1", "$((1))", "-1", "x"])
                .to_owned(),
            "@" => self.random.pick(&["Q", "U", "P", "a"]).to_owned(),
            "/" | "//" => format!(
                "{}/{}",
                self.random.pick(&["a", "*", "[ab]", "$y", "\"a\""]),
                self.operand(depth)
            ),
            "#" | "##" | "%" | "%%" | "^" | ",," => self
                .random
                .pick(&["a", "*", "*/", ".*", "$y", "\"b\"", "?"])
                .to_owned(),
            _ => self.operand(depth),
        };
        let operator =
            if matches!(operator, ":=" | "=") && !matches!(variable, "x" | "y" | "z" | "q") {
                ":-"
            } else {
                operator
            };
        let text = format!("${{{variable}{operator}{operand}}}");
        if self.random.chance(40) && !text.contains('"') {
            format!("\"{text}\"")
        } else {
            text
        }
    }

    fn operand(&mut self, depth: usize) -> String {
        match self.random.below(8) {
            0 if depth > 0 => format!("$({})", self.simple(depth - 1, false)),
            1 => format!("${}", self.random.pick(VARIABLES)),
            2 => "a b".to_owned(),
            3 => "\"c d\"".to_owned(),
            4 => "'e f'".to_owned(),
            5 => "`bar r`".to_owned(),
            6 => String::new(),
            _ => "w".to_owned(),
        }
    }

    fn double(&mut self, depth: usize) -> String {
        let mut text = String::new();
        for _ in 0..1 + self.random.below(3) {
            text += &match self.random.below(9) {
                0 => format!("${}", self.random.pick(VARIABLES)),
                1 if depth > 0 => format!("$({})", self.inline(depth - 1)),
                2 => "`foo in`".to_owned(),
                3 => self.parameter(0).replace('"', ""),
                4 => "\\$x \\`foo\\`".to_owned(),
                5 => format!("$(({}))", self.arithmetic(0)),
                6 => "<(foo) >(bar)".to_owned(),
                _ => "text ".to_owned(),
            };
        }
        text
    }

    fn arithmetic(&mut self, depth: usize) -> String {
        match self.random.below(9) {
            0 => "1+2".to_owned(),
            1 => "x".to_owned(),
            2 => "x=3".to_owned(),
            3 => "y++".to_owned(),
            4 if depth > 0 && self.random.chance(20) => {
                format!("$({})", self.simple(depth - 1, false))
            }
            5 => "arr[0]+1".to_owned(),
            6 => "(1<2) ? 3 : z".to_owned(),
            7 => "$x + ${y:-1}".to_owned(),
            _ => "0".to_owned(),
        }
    }
}
