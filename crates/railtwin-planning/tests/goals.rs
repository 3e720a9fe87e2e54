//! The goals of HPN on HPN and on DCN+.
use railtwin_fabric::preset::{Collapsed, DcnPlus, Hpn, Layout as _};
use railtwin_planning::loss::Goals;

fn answers(goals: &Goals) -> Vec<bool> {
    goals.goals.iter().map(|goal| goal.passes).collect()
}

#[test]
fn hpn_meets_its_goals_and_dcn_plus_fails_two_of_them() {
    let hpn = Goals::of(&Hpn::default().spec().unwrap());
    assert_eq!(answers(&hpn), [true, true, true], "{}", hpn.to_text());
    assert!(hpn.pass() && hpn.goals[0].because.contains("15,360 GPUs in a pod, 245,760"));
    let dcn = Goals::of(&DcnPlus::default().spec().unwrap());
    assert_eq!(answers(&dcn), [false, false, true], "{}", dcn.to_text());
    let single = Goals::of(&Hpn { dual_tor: false, planes: false, ..Hpn::default() }.spec().unwrap());
    assert!(!single.goals[2].passes);
}

/// A goal that asks for GPUs that meet is not met where they do not.
#[test]
fn leaves_that_are_apart_do_not_join_their_gpus() {
    let goals = Goals::of(&Collapsed::default().spec().unwrap());
    assert_eq!(goals.goals[1].because, "the switches join 50 % of the pairs of GPUs of different hosts");
}
