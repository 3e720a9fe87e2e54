//! Links as a job finds them.
use railtwin_control::crux::tenants::Tenants;

/// Links, and what inference takes of them by number: nothing where nobody serves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Links<'a> {
    pub tenants: &'a Tenants,
    /// Those on which levels do not hold.
    pub fair: &'a [u32],
    pub taken: &'a [f64],
}
