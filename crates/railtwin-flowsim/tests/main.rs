//! All tests of `railtwin-flowsim` beside its unit tests: one program, built and linked once.

mod ailing;
mod astra_analytical;
mod closed_forms;
mod dynamic_laws;
mod engine_laws;
mod faults;
mod filling_laws;
mod long_times;
mod lp_oracle;
mod max_min_laws;
mod priorities;
mod shortcuts_under_faults;
