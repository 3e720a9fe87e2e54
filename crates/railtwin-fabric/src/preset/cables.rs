//! A fabric of a cable list.
use railtwin_units::Rate;

use crate::cable_list::CableDesign;
use crate::clos::ClosSpec;
use crate::error::FabricError;
use crate::host_spec::HostSpec;
use crate::preset::Layout;

railtwin_units::section! {
    /// A fabric of a cable list: devices, ports and cables by name, roles inferred.
    #[derive(Clone, PartialEq, Debug)]
    pub struct Cables "[fabric]" sparse {
        /// Path of the cable list, a CSV.
        pub file: String,
        /// Rate of ports of which the list says none; default none: the list says all.
        pub rate: Option<Rate> = None,
        /// What a host is; default hgx-h800 with the NICs of the list.
        pub host: HostSpec = HostSpec::default(),
    }
}

impl Cables {
    /// What the section says beside the list.
    pub fn design(&self) -> CableDesign {
        CableDesign { host: self.host.clone(), rate: self.rate }
    }
}

impl Layout for Cables {
    /// Refuses: the counts stand in the file.
    fn spec(&self) -> Result<ClosSpec, FabricError> {
        let accepted = "a cable list is no recipe of counts: ask with its scenario, or name another preset";
        Err(FabricError::range("file", &self.file, accepted))
    }

    fn host(&self) -> Option<&HostSpec> {
        Some(&self.host)
    }
}
