//! The executable itself, for tests of crates below guardian-cli (whose package builds the real
//! one).

fn main() -> std::process::ExitCode {
    guardian_supervisor::main()
}
