//! Quantities as types: simulated time, sizes, rates.
use std::ops::{Add, AddAssign, Mul, Sub};

/// A moment or a span of simulated time in whole picoseconds (213 days fit).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct SimTime(u64);

impl SimTime {
    /// The start of every run.
    pub const ZERO: SimTime = SimTime(0);
    /// Later than every event: «never». It ends simulated time, after 213.5 days.
    pub const NEVER: SimTime = SimTime(u64::MAX);

    /// A time of `ps` picoseconds.
    #[inline]
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }

    /// A time of `ns` nanoseconds.
    #[inline]
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns.saturating_mul(1_000))
    }

    /// A time of `seconds`, rounded to the nearest picosecond; negative and NaN become zero, what is longer than all
    /// times [`SimTime::NEVER`].
    #[inline]
    pub fn from_seconds(seconds: f64) -> Self {
        Self((seconds * 1e12).round() as u64)
    }

    /// Whole picoseconds.
    #[inline]
    pub const fn ps(self) -> u64 {
        self.0
    }

    /// Seconds as a float, for rates and for people: the nearest one up to 2^53 ps (2.5 h), so what was read as 100 us is
    /// 1e-4 and not the float below it.
    #[inline]
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e12
    }

    /// The span since `earlier`, zero when `earlier` is later.
    #[inline]
    pub const fn since(self, earlier: SimTime) -> SimTime {
        SimTime(self.0.saturating_sub(earlier.0))
    }

    /// Addition that stays at [`SimTime::NEVER`] instead of wrapping, as `+` does; this one is `const`.
    #[inline]
    pub const fn saturating_add(self, span: SimTime) -> SimTime {
        SimTime(self.0.saturating_add(span.0))
    }
}

/// Stays at [`SimTime::NEVER`]: what ends later than all times never does.
impl Add for SimTime {
    type Output = SimTime;
    fn add(self, other: SimTime) -> SimTime {
        self.saturating_add(other)
    }
}

/// Stays at [`SimTime::NEVER`].
impl AddAssign for SimTime {
    fn add_assign(&mut self, other: SimTime) {
        *self = *self + other;
    }
}

impl Sub for SimTime {
    type Output = SimTime;
    fn sub(self, other: SimTime) -> SimTime {
        SimTime(self.0 - other.0)
    }
}

/// Stays at [`SimTime::NEVER`].
impl Mul<u64> for SimTime {
    type Output = SimTime;
    fn mul(self, times: u64) -> SimTime {
        SimTime(self.0.saturating_mul(times))
    }
}

/// A size in bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Bytes(pub u64);

impl Bytes {
    /// The time that this size takes at `rate`, rounded to the nearest picosecond;
    /// [`SimTime::NEVER`] at rate zero.
    #[inline]
    pub fn time_at(self, rate: Rate) -> SimTime {
        if rate.0 == 0 {
            return SimTime::NEVER;
        }
        let bits_ps = u128::from(self.0) * 8 * 1_000_000_000_000;
        let rate = u128::from(rate.0);
        SimTime(u64::try_from((bits_ps + rate / 2) / rate).unwrap_or(u64::MAX))
    }
}

impl Add for Bytes {
    type Output = Bytes;
    fn add(self, other: Bytes) -> Bytes {
        Bytes(self.0 + other.0)
    }
}

/// A rate or capacity in bits per second.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Rate(u64);

impl Rate {
    /// No rate at all.
    pub const ZERO: Rate = Rate(0);

    /// A rate of `bits_per_s`.
    #[inline]
    pub const fn from_bits_per_s(bits_per_s: u64) -> Self {
        Self(bits_per_s)
    }

    /// A rate in 10^9 bits per second.
    #[inline]
    pub const fn from_gbps(gbps: u64) -> Self {
        Self(gbps * 1_000_000_000)
    }

    /// Bits per second.
    #[inline]
    pub const fn bits_per_s(self) -> u64 {
        self.0
    }

    /// Bytes per second as a float, the flow engine's unit.
    #[inline]
    pub fn bytes_per_s(self) -> f64 {
        self.0 as f64 / 8.0
    }

    /// The rate in 10^9 bits per second, for people.
    #[inline]
    pub fn gbps(self) -> f64 {
        self.0 as f64 * 1e-9
    }
}

impl Mul<u64> for Rate {
    type Output = Rate;
    fn mul(self, times: u64) -> Rate {
        Rate(self.0 * times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_at_rounds_to_the_nearest_picosecond() {
        assert_eq!(Bytes(1).time_at(Rate::from_bits_per_s(3)).ps(), 2_666_666_666_667);
        assert_eq!(Bytes(1).time_at(Rate::ZERO), SimTime::NEVER);
        assert_eq!(Bytes(4096).time_at(Rate::from_gbps(100)).ps(), 327_680);
    }

    /// A controller that asks to be asked at a literal is asked at it, and not a float before it.
    #[test]
    fn seconds_are_the_nearest_float_to_what_is_written() {
        for us in 1_u64..100_000 {
            let written: f64 = format!("{us}e-6").parse().expect("a float");
            let time = SimTime::from_ns(us * 1_000);
            assert_eq!((time.seconds(), SimTime::from_seconds(written)), (written, time), "{us} us");
        }
        assert_eq!(SimTime::from_ns(100_000).seconds(), 1e-4);
    }

    #[test]
    fn times_compare_and_add() {
        let a = SimTime::from_ns(3);
        assert_eq!(a + SimTime::from_ps(1), SimTime::from_ps(3001));
        assert_eq!(a.since(SimTime::from_ns(5)), SimTime::ZERO);
        assert_eq!(SimTime::NEVER.saturating_add(a), SimTime::NEVER);
        assert_eq!((SimTime::NEVER + a, SimTime::NEVER * 2), (SimTime::NEVER, SimTime::NEVER));
        assert_eq!(SimTime::from_seconds(1e300), SimTime::NEVER);
        assert_eq!(SimTime::from_seconds(1.5).ps(), 1_500_000_000_000);
    }
}
