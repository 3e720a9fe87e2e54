//! Where cables should lead: the fabric of a scenario without the faults that have it cabled otherwise.
use railtwin_diagnosis::wiring::Plan;
use railtwin_fabric::Fabric;
use railtwin_records::FaultKind;
use railtwin_scenario::FaultSpec;

/// The plan of a fabric that was built with `faults`: cables that they swapped are where they should be.
pub fn plan_of(fabric: &Fabric, faults: &[FaultSpec]) -> Plan {
    let wrong: Vec<&FaultSpec> = faults.iter().filter(|fault| fault.kind == FaultKind::WrongCable).collect();
    if wrong.is_empty() {
        return Plan::of(fabric);
    }
    let mut planned = fabric.clone();
    // Names follow the near ends, which stay; what was swapped last is swapped back first.
    for fault in wrong.into_iter().rev() {
        let with = fault.with.as_deref().unwrap_or_default();
        let cables = [fault.subject.parts().1, with].map(|name| planned.cable_named(name));
        if let [Some(first), Some(second)] = cables {
            planned.swap_far_ends(first, second);
        }
    }
    Plan::of(&planned)
}
