//! The fabric of a `lingjun` topology file.
use railtwin_fabric::Fabric;

use crate::resolve::{Reader, Source};
use crate::{LingjunSpec, ScenarioError};

/// Reads and builds it.
pub(crate) fn fabric(
    spec: &LingjunSpec,
    source: Source<'_>,
    read: &Reader<'_>,
) -> Result<Fabric, ScenarioError> {
    let _ = read;
    Err(source.error("fabric.lingjun", format!("cannot import {:?}", spec.lingjun), None))
}
