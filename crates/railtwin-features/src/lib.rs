//! No code: the features of dependencies that the command, the Python module and the tests agree on.
//!
//! Cargo builds a dependency once for each set of features that is asked for, and all that depends on it with it.
//! The Python module asks for features by PyO3, the tests by proptest, and what nobody shares is built twice.
//! This crate asks for the union; the command depends on it, and the module on the command.
