//! Prints how long the schedule of a pod of 15,360 GPUs takes.
#![allow(clippy::disallowed_methods, reason = "an example that measures time")]
use std::time::Instant;

use railtwin_cabling::{CableSchedule, FloorPlan};
use railtwin_catalog::Catalog;
use railtwin_fabric::preset::Hpn;

fn main() {
    let start = Instant::now();
    let fabric = Hpn::default().build().expect("the default builds");
    let built = start.elapsed();
    let schedule = CableSchedule::of(&fabric, &FloorPlan::default(), &Catalog::builtin());
    let scheduled = start.elapsed();
    let text = schedule.to_csv();
    let written = start.elapsed();
    println!(
        "{} cables: fabric {built:.2?}, schedule {:.2?}, CSV of {} bytes {:.2?}",
        schedule.cables.len(),
        scheduled - built,
        text.len(),
        written - scheduled
    );
}
