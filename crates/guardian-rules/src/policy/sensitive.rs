//! Which allow rules name a sensitive place (SPEC §5: only a rule "that names the path" turns the
//! floor's denial into a question).

use std::path::Path;
use std::sync::OnceLock;

use guardian_facts::{Access, PathClasses, RootPaths};

use super::glob::PathGlob;
use super::rule::covered_by;

/// A name that no class knows: what is sensitive under it is sensitive for where it lies.
const ANY_NAME: &str = "a name that no class knows";

/// One of the globs covers the access and reaches into the sensitive place by its literal text:
/// `~/.ssh/*` and `/etc/shadow` do, `/etc/*` and `~/.*` only happen to match.
///
/// Of a place that is sensitive by the user's own configuration the built-in classes know nothing;
/// there every glob that covers the access names it.
pub(super) fn names_place(globs: &[PathGlob], access: &Access, roots: &RootPaths) -> bool {
    static CLASSES: OnceLock<PathClasses> = OnceLock::new();
    let classes = CLASSES.get_or_init(PathClasses::from_default);
    let is_sensitive = |path: &Path| classes.classify(path, &roots.home).sensitive;
    let by_the_user = access.exact().is_some_and(|path| !is_sensitive(&path.path));
    globs
        .iter()
        .filter(|glob| covered_by(std::slice::from_ref(glob), access))
        .any(|glob| {
            by_the_user
                || glob.literal_texts().any(|literal| {
                    let directory = literal.rsplit_once('/').map_or("", |(above, _)| above);
                    is_sensitive(Path::new(&literal))
                        || is_sensitive(&Path::new(directory).join(ANY_NAME))
                })
        })
}
