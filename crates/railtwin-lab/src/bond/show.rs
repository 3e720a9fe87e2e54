//! The words of Open vSwitch on its bond: the texts of `lacp/show` and `bond/show`.
use railtwin_routing::protocol::lacp::Mac;

/// A bond in the words of `lacp/show`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ShownBond {
    /// Such as `active negotiated`.
    pub(super) status: String,
    /// Its members in the order of the text.
    pub(super) members: Vec<ShownMember>,
}

/// A member of a bond.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ShownMember {
    /// Name of the interface.
    pub(super) name: String,
    /// `current`, `expired` or `defaulted`.
    pub(super) status: String,
    /// Whether it is attached.
    pub(super) is_attached: bool,
    /// System id of its partner.
    pub(super) partner_system: Mac,
    /// Key of its partner.
    pub(super) partner_key: u16,
    /// Port id of its partner.
    pub(super) partner_port: u16,
    /// State bits of its partner, in words.
    pub(super) partner_state: String,
}

impl ShownBond {
    /// Reads the text. Lines that are not known, and values that are none, are passed over: the text is for people, and
    /// versions differ.
    pub(super) fn of_text(text: &str) -> Self {
        let mut shown = Self::default();
        for line in text.lines() {
            let Some((key, value)) = line.trim().split_once(": ") else { continue };
            let value = value.trim();
            // `slave:` up to version 2.14.
            if matches!(key, "member" | "slave") {
                let Some((name, state)) = value.split_once(": ") else { continue };
                let mut words = state.split_whitespace();
                shown.members.push(ShownMember {
                    name: name.to_owned(),
                    status: words.next().unwrap_or_default().to_owned(),
                    is_attached: words.next() == Some("attached"),
                    ..ShownMember::default()
                });
                continue;
            }
            match (key, shown.members.last_mut()) {
                ("status", None) => shown.status = value.to_owned(),
                ("partner sys_id", Some(member)) => member.partner_system = value.parse().unwrap_or_default(),
                ("partner key", Some(member)) => member.partner_key = value.parse().unwrap_or_default(),
                ("partner port_id", Some(member)) => member.partner_port = value.parse().unwrap_or_default(),
                ("partner state", Some(member)) => member.partner_state = value.to_owned(),
                _ => {}
            }
        }
        shown
    }

    /// A member by its name.
    pub(super) fn member(&self, name: &str) -> Option<&ShownMember> {
        self.members.iter().find(|member| member.name == name)
    }

    /// Number of attached members.
    pub(super) fn attached(&self) -> usize {
        self.members.iter().filter(|member| member.is_attached).count()
    }
}

/// Names of the members that carry traffic, of the text of `bond/show`.
pub(super) fn enabled(text: &str) -> Vec<String> {
    let of_line = |line: &str| {
        let rest = line.strip_prefix("member ").or_else(|| line.strip_prefix("slave "))?;
        let (name, state) = rest.split_once(": ")?;
        (state.trim() == "enabled").then(|| name.to_owned())
    };
    text.lines().filter_map(of_line).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Texts of version 3.1.0, shortened.
    const LACP: &str = "---- bond0 ----\n  status: active negotiated\n  sys_id: 02:00:00:00:02:01\n  lacp_time: fast\n\n\
        member: p0: expired attached\n  port_id: 2\n  may_enable: false\n\n  actor sys_id: 02:00:00:00:02:01\n  \
        actor key: 1\n\n  partner sys_id: 00:00:5e:00:01:01\n  partner port_id: 301\n  partner key: 7\n  partner state: \
        activity timeout aggregation\n\nmember: p1: current detached\n  partner port_id: 601\n";
    const BOND: &str = "---- bond0 ----\nbond_mode: balance-tcp\nlacp_status: negotiated\n\nmember p0: disabled\n  \
        may_enable: false\n\nmember p1: enabled\n  active member\n  may_enable: true\n";

    #[test]
    fn the_texts_of_open_vswitch_are_read() {
        let shown = ShownBond::of_text(LACP);
        assert_eq!(
            (shown.status.as_str(), shown.members.len(), shown.attached()),
            ("active negotiated", 2, 1)
        );
        let first = shown.member("p0").expect("there");
        assert_eq!((first.status.as_str(), first.partner_system), ("expired", Mac::SET));
        assert_eq!((first.partner_key, first.partner_port), (7, 301));
        assert_eq!(first.partner_state, "activity timeout aggregation");
        assert_eq!(shown.member("p1").map(|member| member.partner_port), Some(601));
        assert_eq!(enabled(BOND), ["p1"]);
    }

    proptest! {
        /// Damaged texts are read as far as they go, and never panic.
        #[test]
        fn any_text_is_survived(
            text in "(member: |member |slave: |partner (key|sys_id|port_id|state): |status: |p0: |\n|.){0,60}",
            at in any::<prop::sample::Index>(),
        ) {
            for whole in [text.clone(), format!("{}{text}", &LACP[..at.index(LACP.len())]), format!("{BOND}{text}")] {
                let shown = ShownBond::of_text(&whole);
                prop_assert!(shown.attached() <= shown.members.len());
                prop_assert!(enabled(&whole).len() <= whole.lines().count());
            }
        }
    }
}
