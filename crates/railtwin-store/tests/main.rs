//! All tests of `railtwin-store` beside its unit tests: one program, built and linked once.

mod reference_page;
mod run_folder;
mod sweep;
mod table_files;
mod two_runs;
