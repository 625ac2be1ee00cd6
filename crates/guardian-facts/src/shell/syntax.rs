//! The syntax tree of a bash text: what the parser makes and the walker reads.

use std::cell::OnceCell;
use std::rc::Rc;

use crate::{RedirectKind, Span};

/// A sequence of statements.
#[derive(Debug, Clone, Default)]
pub(super) struct List {
    pub(super) statements: Vec<Statement>,
}

/// One and-or list with its terminator.
#[derive(Debug, Clone)]
pub(super) struct Statement {
    pub(super) first: Pipeline,
    pub(super) rest: Vec<(Connector, Pipeline)>,
    pub(super) background: bool,
    /// Nothing follows it on its line.
    pub(super) ends_line: bool,
}

/// `&&` or `||`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Connector {
    And,
    Or,
}

/// Commands joined by `|` or `|&`.
#[derive(Debug, Clone)]
pub(super) struct Pipeline {
    pub(super) negated: bool,
    pub(super) stages: Vec<Command>,
}

/// One command with its redirects.
#[derive(Debug, Clone)]
pub(super) struct Command {
    pub(super) kind: CommandKind,
    pub(super) redirects: Vec<RedirectNode>,
    pub(super) span: Span,
}

/// The kinds of command.
#[derive(Debug, Clone)]
pub(super) enum CommandKind {
    Simple {
        assignments: Vec<AssignmentNode>,
        words: Vec<ArgumentNode>,
    },
    Group(List),
    Subshell(List),
    If {
        clauses: Vec<(List, List)>,
        otherwise: Option<List>,
    },
    Loop {
        until: bool,
        condition: List,
        body: List,
    },
    /// `for` and `select`; `words` is `None` for `"$@"`.
    For {
        variable: String,
        words: Option<Vec<WordNode>>,
        body: List,
        select: bool,
    },
    ArithmeticFor {
        parts: [Vec<Piece>; 3],
        body: List,
    },
    Case {
        word: WordNode,
        arms: Vec<CaseArm>,
    },
    Function {
        name: String,
        body: Rc<Command>,
    },
    Arithmetic(Vec<Piece>),
    Test(Vec<TestItem>),
    Coproc {
        name: String,
        body: Box<Command>,
    },
}

/// One arm of a `case`.
#[derive(Debug, Clone)]
pub(super) struct CaseArm {
    pub(super) patterns: Vec<WordNode>,
    pub(super) body: List,
}

/// An item inside `[[ … ]]`.
#[derive(Debug, Clone)]
pub(super) enum TestItem {
    Operator,
    Word(WordNode),
}

/// A word or, for declaring builtins, an array assignment among the words.
#[derive(Debug, Clone)]
pub(super) enum ArgumentNode {
    Word(WordNode),
    Array(AssignmentNode),
}

/// A word as written.
#[derive(Debug, Clone)]
pub(super) struct WordNode {
    pub(super) pieces: Vec<Piece>,
    pub(super) span: Span,
    /// The source text when an unquoted `{` may start a brace expansion.
    pub(super) braces: Option<Rc<str>>,
}

impl WordNode {
    /// The text when it was written without any quoting or expansion.
    pub(super) fn plain(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [Piece::Text(text)] => Some(text),
            _ => None,
        }
    }
}

/// A piece of a word.
#[derive(Debug, Clone)]
pub(super) enum Piece {
    /// Unquoted text: tilde, brace and pattern characters are live.
    Text(String),
    /// Text from quotes or escapes: literal.
    Quoted(String),
    /// `"…"`, also for an empty pair.
    Double(Vec<Piece>),
    /// `$x`, `${…}`.
    Parameter(Box<Parameter>),
    /// `$(…)`, `` `…` ``, `${ …; }`.
    Command {
        list: Rc<List>,
        written: Rc<str>,
        span: Span,
    },
    /// `<(…)`, `>(…)`.
    Process {
        list: Rc<List>,
        written: Rc<str>,
        output: bool,
    },
    /// `$((…))`, `$[…]`.
    Arithmetic {
        pieces: Vec<Piece>,
        written: Rc<str>,
        span: Span,
    },
}

/// A parameter expansion.
#[derive(Debug, Clone)]
pub(super) struct Parameter {
    pub(super) name: String,
    pub(super) index: Option<Vec<Piece>>,
    pub(super) operation: Operation,
    pub(super) written: Rc<str>,
    pub(super) span: Span,
}

/// What `${…}` does with the value.
#[derive(Debug, Clone)]
pub(super) enum Operation {
    Plain,
    /// `${#x}`
    Length,
    /// `${!x}`, `${!x…}`
    Indirect,
    /// `${!x*}`, `${!x@}`
    Names,
    /// `${!x[@]}`
    Keys,
    /// `:-` `-` `:=` `=` `:?` `?` `:+` `+`
    Alternative {
        colon: bool,
        kind: char,
        word: Vec<Piece>,
    },
    /// `#` `##` `%` `%%`
    Remove {
        operator: &'static str,
        pattern: Vec<Piece>,
    },
    /// `/` and its relatives, and `^ ^^ , ,,`.
    Replace {
        patterns: Vec<Vec<Piece>>,
    },
    /// `:offset:length`
    Substring {
        parts: Vec<Vec<Piece>>,
    },
    /// `@Q` and its relatives.
    Transform(char),
}

/// `name=value`, `name[subscript]+=value`, `name=(…)`.
#[derive(Debug, Clone)]
pub(super) struct AssignmentNode {
    pub(super) name: String,
    pub(super) subscript: Option<Vec<Piece>>,
    pub(super) append: bool,
    pub(super) value: AssignedNode,
    pub(super) span: Span,
}

/// The right side of an assignment.
#[derive(Debug, Clone)]
pub(super) enum AssignedNode {
    Scalar(WordNode),
    Array(Vec<ElementNode>),
}

/// An element of `(…)`.
#[derive(Debug, Clone)]
pub(super) struct ElementNode {
    pub(super) subscript: Option<Vec<Piece>>,
    pub(super) value: WordNode,
}

/// A redirect as written.
#[derive(Debug, Clone)]
pub(super) struct RedirectNode {
    pub(super) kind: RedirectKind,
    /// It may be a duplication or a file, depending on the expanded target (`>&word`).
    pub(super) either: bool,
    /// It reads standard input (descriptor 0).
    pub(super) feeds_stdin: bool,
    /// `{name}>`: the variable that receives the descriptor.
    pub(super) variable: Option<String>,
    pub(super) target: RedirectTarget,
    pub(super) span: Span,
}

/// What a redirect points to.
#[derive(Debug, Clone)]
pub(super) enum RedirectTarget {
    Word(WordNode),
    Heredoc(Rc<OnceCell<HeredocBody>>),
}

/// The body of a heredoc.
#[derive(Debug, Clone)]
pub(super) struct HeredocBody {
    /// Live pieces of an unquoted heredoc, one `Quoted` piece of a quoted one.
    pub(super) pieces: Vec<Piece>,
}
