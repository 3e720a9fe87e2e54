//! The cheapest optics and cable that reach.
use std::fmt;

use railtwin_units::Rate;
use serde::Serialize;

use crate::catalog::Catalog;
use crate::money::{Money, Power};
use crate::part::{Medium, Part, PartKind};

/// Optics and cable of a link.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct LinkMedia {
    /// Medium.
    pub medium: Medium,
    /// The transceiver of each end; none where the cable has its ends on it.
    pub optic: Option<Part>,
    /// The cable, or the fibre.
    pub cable: Part,
    /// Length, metres.
    pub metres: f64,
}

impl LinkMedia {
    /// Price of the link: both transceivers, and the cable or fibre.
    pub fn price(&self) -> Money {
        let ends = self.optic.as_ref().map_or_else(Money::default, |optic| optic.price(0.0) * 2.0);
        ends + self.cable.price(self.metres)
    }

    /// Power of the link, both ends.
    pub fn power(&self) -> Power {
        let ends = self.optic.as_ref().map_or_else(Power::default, |optic| optic.power() * 2.0);
        ends + self.cable.power()
    }

    /// Longest link that these parts carry, metres.
    pub fn reach_m(&self) -> f64 {
        self.optic.as_ref().map_or(self.cable.reach_m, |optic| optic.reach_m)
    }

    /// Parts in words, such as `400g-sr4, multimode-fibre`.
    pub fn name(&self) -> String {
        match &self.optic {
            Some(optic) => format!("{}, {}", optic.name, self.cable.name),
            None => self.cable.name.clone(),
        }
    }
}

/// No part of the catalog carries a link.
#[derive(Clone, PartialEq, Debug)]
pub struct MediaError {
    /// Capacity of the link.
    pub rate: Rate,
    /// Its length, metres.
    pub metres: f64,
    /// Longest link of this rate that the catalog has, metres; none where it has none of the rate.
    pub longest_m: Option<f64>,
}

impl fmt::Display for MediaError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rate, metres, longest_m } = self;
        match longest_m {
            Some(longest) => write!(
                out,
                "no optic or cable of {rate} reaches {metres} m: the catalog's longest reaches {longest} m; add a line"
            ),
            None => write!(out, "the catalog has no optic or cable of {rate}; add a line of this rate"),
        }
    }
}

impl std::error::Error for MediaError {}

impl Catalog {
    /// The cheapest parts that carry a link of `rate` over `metres`; of equal prices the one that draws least, then
    /// the first by name. Transceivers take the fibre of their medium.
    ///
    /// # Errors
    /// [`MediaError`] with the longest reach that there is.
    pub fn media(&self, rate: Rate, metres: f64) -> Result<LinkMedia, MediaError> {
        let all = self.all_media(rate, metres);
        let longest_m = all.iter().map(LinkMedia::reach_m).reduce(f64::max);
        let reaching = all.into_iter().filter(|media| media.reach_m() >= metres);
        let key = |media: &LinkMedia| (media.price().usd, media.power().watts);
        let cheapest = reaching.min_by(|a, b| {
            let ((usd_a, watts_a), (usd_b, watts_b)) = (key(a), key(b));
            usd_a.total_cmp(&usd_b).then(watts_a.total_cmp(&watts_b)).then_with(|| a.name().cmp(&b.name()))
        });
        cheapest.ok_or(MediaError { rate, metres, longest_m })
    }

    /// Whatever carries the rate, whether it reaches or not.
    fn all_media(&self, rate: Rate, metres: f64) -> Vec<LinkMedia> {
        let of_rate = |kind| self.parts(kind).filter(move |part| part.rate == rate);
        let media = |medium, optic, cable: &Part| LinkMedia { medium, optic, cable: cable.clone(), metres };
        let cables = of_rate(PartKind::Cable).filter_map(|cable| Some(media(cable.medium?, None, cable)));
        let fibres = of_rate(PartKind::Optic).filter_map(|optic| {
            let medium = optic.medium?;
            let fibre = self.parts(PartKind::Fibre).find(|fibre| fibre.medium == Some(medium))?;
            Some(media(medium, Some(optic.clone()), fibre))
        });
        cables.chain(fibres).collect()
    }
}
