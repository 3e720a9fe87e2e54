//! Many times in little memory: bins of 1/64 of a power of two.
use railtwin_engine::packet_log::Spread;

const SUB: u32 = 6;

/// Counts of times in ps; quantiles are exact to 1/64.
#[derive(Clone, Debug)]
pub struct Histogram {
    bins: Vec<u64>,
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { bins: Vec::new(), count: 0, sum: 0, min: u64::MAX, max: 0 }
    }
}

impl Histogram {
    /// Adds one.
    #[inline]
    pub fn add(&mut self, value: u64) {
        let bin = Self::bin(value);
        if bin >= self.bins.len() {
            self.bins.resize(bin + 1, 0);
        }
        self.bins[bin] += 1;
        self.count += 1;
        self.sum += u128::from(value);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    fn bin(value: u64) -> usize {
        let power = 63 - (value | 1).leading_zeros();
        if power < SUB {
            return value as usize;
        }
        let part = (value >> (power - SUB)) & ((1 << SUB) - 1);
        (((power - SUB + 1) << SUB) as u64 + part) as usize
    }

    /// The middle of a bin.
    fn value(bin: usize) -> f64 {
        let (row, part) = (bin >> SUB, (bin & ((1 << SUB) - 1)) as f64);
        if row == 0 {
            return part;
        }
        let unit = ((1_u64 << (row - 1)) as f64).max(1.0);
        let low = unit * ((1 << SUB) as f64 + part);
        if unit > 1.0 { low + unit / 2.0 } else { low }
    }

    /// Adds all of another.
    pub fn merge(&mut self, other: &Self) {
        if other.bins.len() > self.bins.len() {
            self.bins.resize(other.bins.len(), 0);
        }
        self.bins.iter_mut().zip(&other.bins).for_each(|(sum, add)| *sum += add);
        self.count += other.count;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// In seconds.
    pub fn spread(&self) -> Spread {
        if self.count == 0 {
            return Spread::default();
        }
        let at = |q: f64| {
            let wanted = (q * (self.count - 1) as f64).round() as u64;
            let mut seen = 0;
            for (bin, count) in self.bins.iter().enumerate() {
                seen += count;
                if seen > wanted {
                    return Self::value(bin).clamp(self.min as f64, self.max as f64) * 1e-12;
                }
            }
            self.max as f64 * 1e-12
        };
        Spread {
            count: self.count,
            mean: self.sum as f64 / self.count as f64 * 1e-12,
            min: self.min as f64 * 1e-12,
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            max: self.max as f64 * 1e-12,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Histogram;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn quantiles_are_within_a_bin(mut values in proptest::collection::vec(0_u64..1 << 50, 1..200)) {
            let mut histogram = Histogram::default();
            values.iter().for_each(|&value| histogram.add(value));
            values.sort_unstable();
            let spread = histogram.spread();
            let exact = values[(0.9 * (values.len() - 1) as f64).round() as usize] as f64 * 1e-12;
            prop_assert!((spread.p90 - exact).abs() <= exact / 64.0 + 1e-12, "{} {}", spread.p90, exact);
            prop_assert_eq!((spread.min, spread.max), (values[0] as f64 * 1e-12, values[values.len() - 1] as f64 * 1e-12));
        }
    }
}
