//! What people read when a policy file is wrong.

use std::fmt::Write as _;
use std::path::Path;

use guardian_rules::{CompileContext, Layer, Policy, Preset};

use crate::build::{WORKSPACE, text};

fn render(layer: Layer, rules: &str) -> String {
    let cx = CompileContext {
        workspace: Some(Path::new(WORKSPACE)),
        home: Path::new("/home/dev"),
        probe: None,
    };
    let compiled = Policy::compile(&[text(layer, rules)], Preset::Standard, &cx);
    let mut out = String::new();
    for error in compiled.err().into_iter().flat_map(|errors| errors.0) {
        let place = error.place();
        let at = place
            .source
            .get(place.span.clone())
            .unwrap_or("")
            .lines()
            .next()
            .unwrap_or("");
        writeln!(out, "{error}\n  at: {at}\n  hint: {}", error.hint()).unwrap();
    }
    out
}

const RULE: &str = "[[rule]]\nid = \"x\"\neffect = \"deny\"\n";

#[test]
fn each_fault_says_where_it_is_and_what_to_do() {
    let cases = [
        (
            "an unknown key",
            Layer::User,
            format!("{RULE}pathes = [\"a\"]\n"),
        ),
        (
            "an unknown value",
            Layer::User,
            RULE.replace("deny", "forbid"),
        ),
        ("not TOML", Layer::User, "[[rule\n".to_owned()),
        (
            "a bad glob",
            Layer::User,
            format!("{RULE}paths = [\"ok\", \"a[b\"]\n"),
        ),
        (
            "a glob that climbs",
            Layer::User,
            format!("{RULE}paths = [\"../x\"]\n"),
        ),
        (
            "an id twice",
            Layer::User,
            format!("{RULE}program = \"a\"\n{RULE}program = \"b\"\n"),
        ),
        (
            "a reserved id",
            Layer::User,
            RULE.replace("\"x\"", "\"floor.x\""),
        ),
        (
            "an allow rule for everything",
            Layer::User,
            RULE.replace("deny", "allow"),
        ),
        (
            "a word with a blank",
            Layer::User,
            format!("{RULE}command = [\"git push\"]\n"),
        ),
        (
            "an unknown override",
            Layer::User,
            "overrides = [\"floor.everything\"]\n".to_owned(),
        ),
        (
            "an override of a denial",
            Layer::User,
            "overrides = [\"floor.system-delete\"]\n".to_owned(),
        ),
        (
            "preset in a workspace file",
            Layer::Workspace,
            "preset = \"balanced\"\n".to_owned(),
        ),
        (
            "overrides in a workspace file",
            Layer::Workspace,
            "overrides = [\"floor.privilege\"]\n".to_owned(),
        ),
        (
            "review in a workspace file",
            Layer::Workspace,
            "[review]\nchain = []\n".to_owned(),
        ),
        (
            "keys that are set elsewhere, all at once",
            Layer::User,
            "sandbox = \"required\"\n[env]\npass = []\n[commands.foo]\n[mcp]\n[plugins]\n"
                .to_owned(),
        ),
        (
            "a key that is set elsewhere beside another mistake",
            Layer::Managed,
            format!("permission_mode = \"auto\"\n{RULE}commands = [\"git\"]\n"),
        ),
        (
            "host and paths",
            Layer::User,
            format!("{RULE}host = \"a\"\npaths = [\"b\"]\n"),
        ),
        (
            "an allow rule that needs more",
            Layer::User,
            format!(
                "{}tool = \"Bash\"\nwhen = {{ network = true }}\n",
                RULE.replace("deny", "allow")
            ),
        ),
        (
            "a deny rule that needs less",
            Layer::User,
            format!("{RULE}when = {{ network = false }}\n"),
        ),
        (
            "a tool that is almost a built-in one",
            Layer::User,
            format!("{RULE}tool = \"Wirte\"\n"),
        ),
        (
            "a tool in the wrong case, which an allow rule would never meet",
            Layer::User,
            format!("{}tool = \"bash\"\n", RULE.replace("deny", "allow")),
        ),
        (
            "a flag without dashes",
            Layer::User,
            format!("{RULE}command = [\"git\", \"push\"]\nflags = [\"force\"]\n"),
        ),
        (
            "an exception that is no flag",
            Layer::User,
            format!("{RULE}unless = {{ flags = [\"x\"] }}\n"),
        ),
        (
            "a bracket as a glob",
            Layer::User,
            format!("{RULE}paths = [\"[\"]\n"),
        ),
        (
            "a text in place of a list",
            Layer::User,
            format!("{RULE}command = \"git push\"\n"),
        ),
        (
            "no id",
            Layer::User,
            "[[rule]]\neffect = \"deny\"\n".to_owned(),
        ),
        (
            "a tail without a command",
            Layer::User,
            format!("{RULE}tail = \"none\"\n"),
        ),
    ];
    let mut out = String::new();
    for (name, layer, rules) in cases {
        writeln!(out, "# {name}\n{}", render(layer, &rules)).unwrap();
    }
    insta::assert_snapshot!(out);
}

#[test]
fn a_version_that_is_not_known_is_refused() {
    let cx = CompileContext {
        workspace: None,
        home: Path::new("/home/dev"),
        probe: None,
    };
    let mut file = text(Layer::User, "");
    file.text = "version = 2\n".to_owned();
    let errors = Policy::compile(&[file], Preset::Standard, &cx).unwrap_err();
    assert_eq!(
        errors.to_string(),
        "user.toml:1:11: `version = 2` is not known"
    );
}

#[test]
fn a_condition_that_can_never_hold_is_a_mistake_with_a_hint() {
    for condition in [
        r#"paths = ["secrets/"]"#,
        r#"paths = ["$HOME/x/**"]"#,
        r#"paths = ["~x/**"]"#,
        r#"paths = ["file:///etc/x"]"#,
        r#"paths = ["!secrets"]"#,
        r#"host = ["https://evil.org"]"#,
        r#"host = ["evil.org:443"]"#,
        r#"host = ["evil.org/"]"#,
        r#"host = ["evil.org."]"#,
        r#"host = [".evil.org"]"#,
        r#"host = ["1.2.3.0/24"]"#,
        r#"program = "git push""#,
        "tool = \"Read\"\nprogram = \"git\"",
    ] {
        let shown = render(Layer::User, &format!("{RULE}{condition}\n"));
        assert!(shown.contains("hint: "), "{condition}: {shown}");
    }
    for condition in [
        r#"paths = ["secrets", "~/x", "@types/**", "~"]"#,
        r#"host = ["evil.org", "*.evil.org", "10.0.*", "::1", "*"]"#,
        r#"program = ["git", "./my tool"]"#,
        "tool = [\"Read\", \"Bash\"]\nprogram = \"git\"",
    ] {
        let shown = render(Layer::User, &format!("{RULE}{condition}\n"));
        assert_eq!(shown, "", "{condition}");
    }
}
