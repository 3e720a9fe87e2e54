//! `export --to cables`: the network of a fabric as a cable list.
use railtwin_fabric::Fabric;
use railtwin_fabric::cable_list::{CableList, Inference, list_of};
use railtwin_formats::cable_list_csv;

use crate::CliError;
use crate::blueprint::named;

/// The list of a preset, a scenario or a list, with roles and places.
pub(crate) fn text(word: &str) -> Result<String, CliError> {
    let named = named(word)?;
    Ok(written(named.list, &named.found))
}

/// The list of a fabric, with roles and places.
pub(crate) fn of_fabric(fabric: &Fabric) -> String {
    let (list, found) = list_of(fabric);
    written(list, &found)
}

/// A list that was read has places that were inferred.
fn written(mut list: CableList, found: &Inference) -> String {
    for (row, place) in (0..).zip(&found.places) {
        list.state_place(row, place);
    }
    cable_list_csv(&list)
}
