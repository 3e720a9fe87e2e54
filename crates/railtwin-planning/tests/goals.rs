//! The goals of HPN on HPN and on DCN+.
use railtwin_fabric::preset::{DcnPlus, Hpn, Layout as _};
use railtwin_planning::loss::Goals;

fn answers(goals: &Goals) -> Vec<bool> {
    goals.goals.iter().map(|goal| goal.passes).collect()
}

#[test]
fn hpn_meets_its_goals_and_dcn_plus_fails_two_of_them() {
    let hpn = Goals::of(&Hpn::default().spec().unwrap());
    assert_eq!(answers(&hpn), [true, true, true], "{}", hpn.to_text());
    assert!(hpn.pass() && hpn.goals[0].because.contains("15360 GPUs in a pod, 245760"));
    let dcn = Goals::of(&DcnPlus::default().spec().unwrap());
    assert_eq!(answers(&dcn), [false, false, true], "{}", dcn.to_text());
    let single = Goals::of(&Hpn { dual_tor: false, planes: false, ..Hpn::default() }.spec().unwrap());
    assert!(!single.goals[2].passes);
}
