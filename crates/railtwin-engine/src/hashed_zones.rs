//! `[control] hashed_zones`: a list of zones as the value of a key.
use railtwin_control::te::ZoneSet;
use railtwin_units::keys::{Keyed, Kind, whole};
use railtwin_units::serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Zones by number, in which traffic engineering writes no entries.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HashedZones(pub ZoneSet);

/// The number of a zone.
static ZONE: Kind = whole(0..=ZoneSet::LAST as i64);

impl Keyed for HashedZones {
    const KIND: Kind = Kind::AnyList(&ZONE);

    fn shown(&self) -> Option<String> {
        let zones: Vec<String> = self.0.zones().map(|zone| zone.to_string()).collect();
        (!zones.is_empty()).then(|| zones.join(", "))
    }
}

impl Serialize for HashedZones {
    fn serialize<S: Serializer>(&self, output: S) -> Result<S::Ok, S::Error> {
        output.collect_seq(self.0.zones())
    }
}

impl<'de> Deserialize<'de> for HashedZones {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let zones = Vec::<u32>::deserialize(input)?;
        // A zone that stands twice is in it once.
        let add = |set: ZoneSet, zone| match set.contains(zone) {
            true => Ok(set),
            false => set.with(zone).ok_or_else(|| de::Error::custom(format!("no zone {zone}"))),
        };
        zones.into_iter().try_fold(ZoneSet::default(), add).map(Self)
    }
}
