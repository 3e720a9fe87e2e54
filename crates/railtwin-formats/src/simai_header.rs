//! Reads the header line of SimAI / AICB workload text.

use std::iter::Peekable;
use std::str::SplitWhitespace;

use crate::error::FormatError;
use crate::simai::SimaiWorkload;
use crate::simai_parse::{Reader, Unit};

/// Header keys as the file spells them, without the colon.
const KEYS: [&str; 10] = [
    "model_parallel_NPU_group",
    "ep",
    "pp",
    "vpp",
    "ga",
    "all_gpus",
    "checkpoints",
    "checkpoint_initiates",
    "pp_comm",
    "DLRM_LAST_BOTTOM_LAYER",
];

impl Reader<'_> {
    /// The policy and the `key: value` pairs.
    pub(crate) fn header(&self, line: u64, text: &str) -> Result<SimaiWorkload, FormatError> {
        // Colons carry nothing: `pp: 8`, `pp 8` and `pp:8` all occur or are harmless.
        let text = text.replace(':', " ");
        let mut tokens = text.split_whitespace().peekable();
        let policy = self.policy(line, "policy", tokens.next().unwrap_or_default());
        // A line without a key of ours may be of anybody's file.
        let is_known = tokens.clone().any(|token| KEYS.contains(&token));
        let policy = policy.map_err(|error| if is_known { error } else { error.without_found() })?;
        let mut workload = SimaiWorkload::with_policy(policy);
        let mut seen: Vec<&str> = Vec::new();
        while let Some(key) = tokens.next() {
            if !KEYS.contains(&key) {
                while tokens.next_if(|token| !KEYS.contains(token)).is_some() {}
                workload.warnings.push(format!(
                    "line {line}: unknown header key \"{}\" is ignored; known keys are {}",
                    key.escape_debug(),
                    KEYS.join(", ")
                ));
                continue;
            }
            if seen.contains(&key) {
                workload.warnings.push(format!(
                    "line {line}: header key \"{key}\" is given twice; the last value is used"
                ));
            }
            seen.push(key);
            self.header_value(line, key, &mut tokens, &mut workload)?;
        }
        Ok(workload)
    }

    fn header_value(
        &self,
        line: u64,
        key: &str,
        tokens: &mut Peekable<SplitWhitespace<'_>>,
        workload: &mut SimaiWorkload,
    ) -> Result<(), FormatError> {
        match key {
            "model_parallel_NPU_group" => workload.tp = self.size(line, key, tokens)?,
            "ep" => workload.ep = self.size(line, key, tokens)?,
            "pp" => workload.pp = self.size(line, key, tokens)?,
            "vpp" => workload.vpp = self.size(line, key, tokens)?,
            "ga" => workload.ga = self.size(line, key, tokens)?,
            "all_gpus" => workload.all_gpus = Some(self.size(line, key, tokens)?),
            "checkpoints" => workload.checkpoints = self.list(line, key, tokens)?,
            "checkpoint_initiates" => {
                workload.checkpoint_initiates = self.list(line, key, tokens)?;
            }
            "pp_comm" => {
                let token = self.value(line, key, tokens)?;
                workload.pp_comm_bytes = self.number(line, key, token, Unit::Bytes)?;
            }
            _ => {
                workload.dlrm_last_bottom_layer = Some(self.small(line, key, tokens)?);
            }
        }
        Ok(())
    }

    fn value<'t>(
        &self,
        line: u64,
        key: &str,
        tokens: &mut Peekable<SplitWhitespace<'t>>,
    ) -> Result<&'t str, FormatError> {
        tokens.next().ok_or_else(|| {
            self.error("has no value", "write a whole number after it").at_line(line).field(key)
        })
    }

    /// A number of 32 bits.
    fn small(
        &self,
        line: u64,
        key: &str,
        tokens: &mut Peekable<SplitWhitespace<'_>>,
    ) -> Result<u32, FormatError> {
        let token = self.value(line, key, tokens)?;
        let number = self.number(line, key, token, Unit::Count)?;
        u32::try_from(number).map_err(|_| {
            self.error("is too large", format!("write an integer of at most {}", u32::MAX))
                .at_line(line)
                .field(key)
                .found(token)
        })
    }

    /// Size of an axis: at least 1.
    fn size(
        &self,
        line: u64,
        key: &str,
        tokens: &mut Peekable<SplitWhitespace<'_>>,
    ) -> Result<u32, FormatError> {
        match self.small(line, key, tokens)? {
            0 => Err(self
                .error("is not a size", "write 1 or more, or leave the key out")
                .at_line(line)
                .field(key)
                .found("0")),
            size => Ok(size),
        }
    }

    /// A count, then so many layer indices.
    fn list(
        &self,
        line: u64,
        key: &str,
        tokens: &mut Peekable<SplitWhitespace<'_>>,
    ) -> Result<Vec<u32>, FormatError> {
        let count = self.small(line, key, tokens)?;
        let mut layers = Vec::new();
        for index in 0..count {
            if tokens.peek().is_none_or(|token| KEYS.contains(token)) {
                return Err(self
                    .error(
                        format!("promises {count} layer indices, {index} follow"),
                        "write the count and then so many layer indices",
                    )
                    .at_line(line)
                    .field(key));
            }
            layers.push(self.small(line, key, tokens)?);
        }
        Ok(layers)
    }
}
