//! The `railtwin` command; all of it is in the library, which the Python wheel calls too.
use std::process::ExitCode;

fn main() -> ExitCode {
    railtwin_cli::main(std::env::args_os())
}
