//! `export --to cables`: the network of a fabric as a cable list.
use railtwin_formats::cable_list_csv;

use crate::CliError;
use crate::blueprint::named;

/// The list of a preset, a scenario or a list, with roles and places.
pub(crate) fn text(word: &str) -> Result<String, CliError> {
    let named = named(word)?;
    let mut list = named.list;
    // A list that was read has places that were inferred.
    for (row, place) in (0..).zip(&named.found.places) {
        list.state_place(row, place);
    }
    Ok(cable_list_csv(&list))
}
