//! Seconds that random swaps in the default pod of HPN (15,360 GPUs) take to be found, by their number.
#![allow(clippy::disallowed_methods, reason = "it measures time")]
use std::time::Instant;

use railtwin_diagnosis::wiring::{Blueprint, FarEnd, Sighting};
use railtwin_fabric::cable_list::list_of;
use railtwin_fabric::preset::Hpn;
use railtwin_units::stream;
use rand::RngExt;

fn main() -> Result<(), railtwin_fabric::FabricError> {
    let start = Instant::now();
    let (list, found) = list_of(&Hpn::default().build()?);
    let blueprint = Blueprint::new(list, found);
    println!(
        "blueprint of {} cables: {:.3} s",
        blueprint.list().cables().len(),
        start.elapsed().as_secs_f64()
    );
    for swaps in [0, 1, 10, 100, 1_000, 10_000] {
        let mut lot = stream::named(swaps, "swaps");
        let mut cables: Vec<[u32; 2]> = blueprint.list().cables().iter().map(|cable| cable.ports).collect();
        for _ in 0..swaps {
            let [a, b] = [0; 2].map(|_| lot.random_range(0..cables.len()));
            (cables[a][1], cables[b][1]) = (cables[b][1], cables[a][1]);
        }
        let list = blueprint.list();
        let name = |port: u32| {
            let port = &list.ports()[port as usize];
            (list.devices()[port.device as usize].name.clone(), port.name.clone())
        };
        let both = cables.iter().flat_map(|&[a, b]| [[a, b], [b, a]]);
        let sightings: Vec<Sighting> = both
            .map(|ends| {
                let [(device, port), (far, far_port)] = ends.map(name);
                Sighting { device, port, far: FarEnd::Device(far, Some(far_port)) }
            })
            .collect();
        let start = Instant::now();
        let audit = blueprint.audit(&sightings, false);
        let seconds = start.elapsed().as_secs_f64();
        println!(
            "{swaps} swaps: {} wrong cables, {} moves, {seconds:.3} s",
            audit.faults.len(),
            audit.moves()
        );
    }
    Ok(())
}
