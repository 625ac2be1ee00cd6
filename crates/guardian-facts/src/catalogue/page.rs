//! The page `docs/commands.md`, generated from the catalogue.

use std::fmt::Write as _;

use super::Catalogue;
use super::schema::{EFFECT_NAMES, Entry, Role};

/// The page that lists families, commands and what is proven of them (Markdown).
#[must_use]
pub fn catalogue_page(catalogue: &Catalogue) -> String {
    let mut page = String::from(
        "# Commands\n\n\
         Generated from `config/commands/*.toml`; do not edit.\n\n\
         A command that is not listed here, a flag that its table does not list, and a word that \
         could turn into a flag that does more than read, are *opaque*: guardian does not know \
         what they do and says so. *Proven harmless* shows command lines whose every effect is \
         known and touches nothing; *asked about* shows one that is not.\n",
    );
    let mut family = "";
    for (of_family, name) in catalogue.names() {
        if of_family != family {
            family = of_family;
            let _ = write!(
                page,
                "\n## {family}\n\n| command | what | effects | proven harmless | asked about |\n|---|---|---|---|---|\n"
            );
        }
        if let Some(Ok(entry)) = catalogue.registry.get(&name) {
            row(&mut page, &name, entry);
        }
    }
    page
}

fn row(page: &mut String, name: &str, entry: &Entry) {
    let code = |text: &str| format!("`{}`", text.replace('|', "\\|").replace('`', "'"));
    let effects = if entry.opaque.is_some() {
        "opaque".to_owned()
    } else {
        let mut names: Vec<&str> = entry
            .effects
            .iter()
            .filter_map(|effect| EFFECT_NAMES.iter().find(|(_, known)| known == effect))
            .map(|(name, _)| *name)
            .collect();
        if entry
            .operands
            .0
            .iter()
            .any(|(role, _)| *role == Role::Command)
        {
            names.push("runs the command it is given");
        }
        names.join(", ")
    };
    let example = |list: &[String]| list.first().map(|text| code(text)).unwrap_or_default();
    let _ = writeln!(
        page,
        "| {} | {} | {} | {} | {} |",
        code(name),
        entry.about.replace('|', "\\|"),
        effects,
        example(&entry.harmless),
        example(&entry.not),
    );
}
