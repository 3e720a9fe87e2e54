//! A neighbor as a port hears it.
use railtwin_units::Rate;

/// A neighbor that a port hears.
#[derive(Clone, Debug, Default)]
pub(super) struct Heard {
    /// Port of the device whose file it is.
    pub port: String,
    /// Name of the neighbor; empty where it tells none.
    pub device: String,
    /// Identity of the neighbor's port.
    pub far_port: String,
    /// Description of the neighbor's port, where it is told apart.
    pub far_description: Option<String>,
    /// Whether the neighbor bridges or routes.
    pub is_bridge: bool,
    /// Whether it is a station alone.
    pub is_station: bool,
    /// Speed of the port.
    pub rate: Option<Rate>,
    /// Line of the file; 0 where it is not known.
    pub line: u64,
}
