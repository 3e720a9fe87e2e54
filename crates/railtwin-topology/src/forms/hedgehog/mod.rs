//! Wiring of Hedgehog's fabric: YAML objects `Switch`, `Server` and `Connection` of `wiring.githedgehog.com`.
//!
//! Learned from the API types of githedgehog/fabric (`api/wiring`, versions v1alpha2 and v1beta1) and the wiring of
//! opencomputeproject/OCP-OCDAI-training-fabric. Connections to externals and loopbacks of a switch are no cables of the
//! fabric: a note counts them.
mod read;
mod write;

use crate::form::{Form, SourceFile};

/// Name of this format in errors.
const FORMAT: &str = "Hedgehog wiring";

/// The entry.
pub(crate) const FORM: Form = Form {
    name: "hedgehog",
    title: "Hedgehog wiring (YAML)",
    is_one,
    read: Some(read::read),
    write: Some(write::write),
};

fn is_one(source: &SourceFile<'_>) -> bool {
    let head = source.head();
    let is_word = |word: &str| head.contains(word);
    is_word("githedgehog.com/")
        && is_word("kind")
        && ["Switch", "Server", "Connection"].into_iter().any(is_word)
}
