//! Communicator file that goes with Chakra traces: JSON `{"0": [ranks], ...}`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

use crate::error::{FormatError, text_of};

/// Name of this format in errors.
const FORMAT: &str = "Chakra communicators";

/// Reads the communicators: name (an integer, the `pg_name` of nodes) → ranks in order.
///
/// # Errors
/// Text that is not such an object, a name that is not an integer or is given twice, a
/// communicator without ranks, or one with a rank twice.
pub fn parse_chakra_groups(source_name: &str, bytes: &[u8]) -> Result<BTreeMap<u32, Vec<u32>>, FormatError> {
    let text = text_of(FORMAT, source_name, bytes)?;
    let Entries(entries) = serde_json::from_str(text).map_err(|error| {
        FormatError::new(
            FORMAT,
            source_name,
            format!("is not an object of rank lists ({error})"),
            "write an object such as {\"0\": [0, 1, 2, 3]}",
        )
        .at_line(error.line() as u64)
    })?;
    let mut groups = BTreeMap::new();
    for (name, ranks) in entries {
        let complain = |problem: String, accepted: &str| {
            FormatError::new(FORMAT, source_name, problem, accepted).field("communicator").found(&name)
        };
        let number: u32 = name.parse().map_err(|_| {
            complain("is not an integer of 32 bits".to_owned(), "name communicators \"0\", \"1\", and so on")
        })?;
        if ranks.is_empty() {
            return Err(complain(
                "has no ranks".to_owned(),
                "list at least one rank, or leave the communicator out",
            ));
        }
        let mut seen = BTreeSet::new();
        if let Some(rank) = ranks.iter().find(|&&rank| !seen.insert(rank)) {
            return Err(complain(format!("lists rank {rank} twice"), "list each rank once"));
        }
        if groups.insert(number, ranks).is_some() {
            return Err(complain("is given twice".to_owned(), "give each communicator once"));
        }
    }
    Ok(groups)
}

/// The members of the object in file order, repeated names kept: maps would hide them.
struct Entries(Vec<(String, Vec<u32>)>);

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Entries;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object of rank lists")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}
