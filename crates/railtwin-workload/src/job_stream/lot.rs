//! Draws: a normal number, and which class a job of a size has.
use railtwin_units::stream::Stream;
use rand::RngExt;

use crate::job_class::JobClass;

/// A normal number (Box and Muller 1958).
pub(super) fn normal(stream: &mut Stream) -> f64 {
    let (u, v): (f64, f64) = (stream.random(), stream.random());
    (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

impl JobClass {
    /// The class of a job of `gpus` GPUs by `lot`, a number in 0..1: one of those that [fit](Self::fits), the nearer its
    /// middle size the likelier.
    ///
    /// The middle is the geometric mean of a class's fewest and most GPUs, and a class n octaves off counts 1 / (1 + n): small
    /// jobs train small models. That is our choice; papers print no shares. Where no class fits, those with as few GPUs count
    /// alike; without a GPU there is none.
    pub fn by_lot(gpus: u32, lot: f64) -> Option<&'static JobClass> {
        let fitting = |class: &&JobClass| class.fits(gpus);
        let least = |class: &&JobClass| class.gpus[0] <= gpus;
        let mut classes: Vec<&'static JobClass> = Self::ALL.iter().filter(fitting).collect();
        if classes.is_empty() {
            classes = Self::ALL.iter().filter(least).collect();
        }
        let weight = |class: &JobClass| {
            let [least, most] = class.gpus.map(f64::from);
            1.0 / (1.0 + (f64::from(gpus) / (least * most).sqrt()).log2().abs())
        };
        let total: f64 = classes.iter().map(|class| weight(class)).sum();
        let mut left = lot * total;
        for class in &classes {
            left -= weight(class);
            if left < 0.0 {
                return Some(class);
            }
        }
        classes.last().copied()
    }
}
