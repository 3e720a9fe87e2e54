//! The name of a run: the same case on the same engine has the same one.
use sha2::{Digest, Sha256};

use crate::content::{hex, put_text};

/// Bytes of the hash that the name keeps: 2⁶⁴ names, so that 10⁶ runs collide with odds of 3·10⁻⁸.
const ID_BYTES: usize = 8;

/// The id of a run: the first 16 hexadecimal digits of the SHA-256 of case text, engine and engine version.
///
/// ```
/// let id = railtwin_store::run_id("seed = 7", "flow", "0.1.0");
/// assert_eq!(id.len(), 16);
/// assert_ne!(id, railtwin_store::run_id("seed = 7", "flow", "0.2.0"));
/// ```
pub fn run_id(case_text: &str, engine: &str, engine_version: &str) -> String {
    let mut hash = Sha256::new();
    for text in [case_text, engine, engine_version] {
        put_text(&mut hash, text);
    }
    hex(&hash.finalize()[..ID_BYTES])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_do_not_slip_from_one_part_to_the_next() {
        assert_ne!(run_id("a", "bc", "d"), run_id("ab", "c", "d"));
        assert_ne!(run_id("a", "bc", "d"), run_id("a", "b", "cd"));
    }

    /// Folders are found again by this name, so it must not move by accident.
    #[test]
    fn the_id_stands_still() {
        assert_eq!(run_id("seed = 7", "flow", "0.1.0"), "ae59ac1d11e8f21f");
    }
}
