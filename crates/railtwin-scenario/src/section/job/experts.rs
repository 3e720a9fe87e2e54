//! `collective = { kind = "expert-dispatch", experts = … }`: tokens to their experts and back, instead of bytes.
use railtwin_units::Bytes;
use railtwin_units::keys::whole;
use railtwin_workload::experts::token_bytes;
use railtwin_workload::{Collective, Experts, Precision};

use super::{CollectiveSpec, MANY};
use crate::violation::Violation;

railtwin_units::section! {
    /// Tokens of a mixture of experts, which experts choose evenly.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct ExpertsSpec "`experts`" {
        /// Tokens of each rank.
        pub tokens: u32 [whole(1..=MANY)],
        /// Experts of a token.
        pub top_k: u32 [whole(1..=1024)],
        /// Values of a token, the hidden size of the model.
        pub hidden: u32 [whole(1..=MANY)],
        /// Experts of a layer, spread evenly over the ranks.
        pub total: u32 [whole(1..=MANY)],
        /// Most hosts on which the experts of a token lie (node-limited routing); default all.
        pub most_hosts: Option<u32> [whole(1..=MANY)] = None,
        /// How values are sent; default fp8 in a dispatch, bf16 in a combine.
        pub precision: Option<Precision> = None,
    }
}

impl ExpertsSpec {
    /// Bytes that one rank exchanges with experts, a token once for each of its experts.
    pub fn bytes(&self, collective: Collective) -> Bytes {
        let precision = self.precision.unwrap_or(Precision::default_for(collective));
        let token = token_bytes(collective, precision, u64::from(self.hidden));
        Bytes(token.saturating_mul(u64::from(self.tokens)).saturating_mul(u64::from(self.top_k)))
    }

    /// The layer that tokens choose from.
    pub(crate) fn experts(&self) -> Experts {
        Experts { total: self.total, top_k: self.top_k, most_hosts: self.most_hosts }
    }
}

impl CollectiveSpec {
    /// Size of the operation: `bytes`, or those of the tokens of `experts`.
    pub fn size(&self) -> Bytes {
        let tokens = || self.experts.map(|experts| experts.bytes(self.kind));
        self.bytes.or_else(tokens).unwrap_or(Bytes(0))
    }
}

/// What is wrong with the size of a collective, with its key.
pub(super) fn trouble_of_collective(spec: &CollectiveSpec) -> Option<(&'static str, Violation)> {
    let kind = spec.kind;
    let example = "write experts = { tokens = 128, top_k = 8, hidden = 7168, total = 256 }";
    match (kind.is_of_experts(), spec.bytes, &spec.experts) {
        (false, None, _) => {
            let message = "`collective` has no `bytes`".to_owned();
            Some(("collective", (message, "write a size as text, such as bytes = \"64 MiB\"")))
        }
        (false, _, Some(_)) => {
            let message = format!("`{kind}` takes no `experts`");
            Some((
                "collective.experts",
                (message, "leave it out, or write expert-dispatch or expert-combine"),
            ))
        }
        (true, Some(_), _) => {
            let message = format!("`bytes` of {kind} follow from its tokens");
            Some(("collective.bytes", (message, example)))
        }
        (true, None, None) => Some(("collective", (format!("`{kind}` has no `experts`"), example))),
        (true, None, Some(experts)) if experts.top_k > experts.total => {
            let message = format!("a token has {} experts of {}", experts.top_k, experts.total);
            Some(("collective.experts.top_k", (message, "write no more than `total`")))
        }
        _ => None,
    }
}
