//! Totals that remember how much of them is assumed.
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul};

use serde::Serialize;

macro_rules! total {
    ($(#[$outer:meta])* $name:ident, $all:ident, $assumed:ident, $unit:literal) => {
        $(#[$outer])*
        #[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
        pub struct $name {
            #[doc = concat!("All of it, ", $unit, ".")]
            pub $all: f64,
            #[doc = concat!("The part of it that nobody has a source for, ", $unit, ".")]
            pub $assumed: f64,
        }

        impl $name {
            #[doc = concat!("So many ", $unit, ", all of them assumed or none.")]
            pub const fn new($all: f64, is_assumed: bool) -> Self {
                Self { $all, $assumed: if is_assumed { $all } else { 0.0 } }
            }

            /// Assumed share of all, 0 to 1; 0 of nothing.
            pub fn assumed_share(self) -> f64 {
                if self.$all > 0.0 { self.$assumed / self.$all } else { 0.0 }
            }
        }

        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self { $all: self.$all + other.$all, $assumed: self.$assumed + other.$assumed }
            }
        }

        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                *self = *self + other;
            }
        }

        impl Mul<f64> for $name {
            type Output = Self;
            fn mul(self, times: f64) -> Self {
                Self { $all: self.$all * times, $assumed: self.$assumed * times }
            }
        }

        impl Sum for $name {
            fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
                items.fold(Self::default(), Add::add)
            }
        }
    };
}

total!(
    /// A price.
    Money,
    usd,
    assumed_usd,
    "US dollars"
);
total!(
    /// Electrical power.
    Power,
    watts,
    assumed_watts,
    "watts"
);
