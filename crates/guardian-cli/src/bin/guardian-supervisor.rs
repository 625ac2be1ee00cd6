//! The per-call process supervisor. Here so that one `cargo install` brings both executables.

fn main() -> std::process::ExitCode {
    guardian_supervisor::main()
}
