//! The words that tell the figures of a family apart, from the types that name them.
use railtwin_fabric::CableClass;
use railtwin_records::fault::FaultKind;
use railtwin_workload::Axis;
use railtwin_workload::memory::Memory;

use crate::balance::CHOICES;
use crate::exposed::{ORDER, axis_name};
use crate::links::ENDS;
use crate::stall_causes::Cause;

/// The words that may stand in a place of a family's name, such as `leaf`, `spine` and `core` for `<tier>`; none where
/// any may.
///
/// # Panics
/// Where no family has such a place.
pub fn words(place: &str) -> Option<Vec<String>> {
    let tiers = ENDS.iter().skip(1);
    let hops = || ENDS.iter().flat_map(|from| ENDS.map(|to| format!("{from}_to_{to}")));
    let axis = |axis: Option<Axis>| axis_name(axis).replace('-', "_");
    Some(match place {
        "tier" => tiers.map(|&tier| tier.to_owned()).collect(),
        "hop" => hops().collect(),
        "queue" => tiers.flat_map(|tier| ["up", "down"].map(|way| format!("{tier}_{way}"))).collect(),
        "links" => CHOICES.iter().map(|(_, links, _)| (*links).to_owned()).collect(),
        "axis" => ORDER.map(|of| axis(Some(of))).into_iter().chain([axis(None)]).collect(),
        "parallelism" => ORDER.map(|of| axis(Some(of))).to_vec(),
        "place" => hops()
            .chain([CableClass::NvLink, CableClass::Pcie].map(|class| class.name().to_owned()))
            .collect(),
        "kind" => FaultKind::ALL.map(|kind| kind.name().replace('-', "_")).to_vec(),
        "part" => Memory::default().parts().map(|(part, _)| part.to_owned()).to_vec(),
        "cause" => Cause::ALL.map(|cause| cause.name().to_owned()).to_vec(),
        "point" => return None,
        _ => panic!("no family has <{place}> in its names"),
    })
}
