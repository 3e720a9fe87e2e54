//! From a topology to a cable list.
use railtwin_formats::{FormatError, cable_list_csv};

use crate::form::{WriteOptions, Written};
use crate::topology::Topology;

/// Writes `cables.csv` with all that the list holds. What is known of devices beside it has no place in it.
///
/// # Errors
/// None.
pub(super) fn write(topology: &Topology, _options: &WriteOptions) -> Result<Vec<Written>, FormatError> {
    Ok(vec![Written { path: "cables.csv".to_owned(), text: cable_list_csv(&topology.list) }])
}
