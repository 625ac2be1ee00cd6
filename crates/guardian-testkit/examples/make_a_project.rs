//! Makes the project of the case files and shows what git thinks of it.

use guardian_testkit::ProjectFixture;

fn main() -> std::io::Result<()> {
    let fixture = ProjectFixture::new()?;
    eprintln!("workspace: {}", fixture.workspace().display());
    eprintln!("{}", fixture.git(&["log", "--oneline", "--stat"])?);
    Ok(())
}
