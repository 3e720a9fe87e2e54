//! Reads SimAI / AICB workload text.

use crate::error::{FormatError, text_of};
use crate::simai::{
    CollectiveKind, FORMAT, Group, Phase, PhaseColumns, SimaiCollective, SimaiLayer, SimaiPolicy,
    SimaiWorkload,
};
use crate::simai_warn::warn_of_contradictions;

impl SimaiWorkload {
    /// Reads a workload; `source_name` appears in errors.
    ///
    /// Accepts keys with or without colon, any run of blanks or tabs, blank lines, a byte-order
    /// mark, and whole numbers written with a zero fraction (`25165824.0`, as AICB does for
    /// `pp_comm`). A wrong layer count, an unknown or repeated key, and numbers that contradict
    /// each other become [`SimaiWorkload::warnings`].
    ///
    /// # Errors
    /// The first line that cannot be understood, with its column.
    pub fn parse(source_name: &str, bytes: &[u8]) -> Result<Self, FormatError> {
        let text = text_of(FORMAT, source_name, bytes)?;
        let reader = Reader { source_name };
        let mut lines = (1_u64..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());

        let (header_line, header) = lines.next().ok_or_else(|| {
            reader.error(
                "the file is empty",
                "begin it with a policy name such as HYBRID_TRANSFORMER_FWD_IN_BCKWD",
            )
        })?;
        let mut workload = reader.header(header_line, header)?;

        let (count_line, count) = lines.next().ok_or_else(|| {
            reader.error("ends after the header", "write the number of layer lines on the second line")
        })?;
        let stated = reader.number(count_line, "number of layers", count.trim(), Unit::Count)?;

        for (number, line) in lines {
            let layer = reader.layer(number, line, workload.policy)?;
            workload.layers.push(layer);
        }
        let counted = workload.layers.len() as u64;
        if stated != counted {
            workload.warnings.push(format!(
                "line {count_line} promises {stated} layers, the file has {counted}; all {counted} are used"
            ));
        }
        warn_of_contradictions(&mut workload);
        Ok(workload)
    }
}

/// What a number counts, for the message about a bad one.
#[derive(Clone, Copy)]
pub(crate) enum Unit {
    Count,
    Bytes,
    Nanoseconds,
}

impl Unit {
    fn complaint(self) -> (&'static str, &'static str) {
        match self {
            Self::Count => ("is not a whole number", "write an integer such as 8"),
            Self::Bytes => ("is not a whole number of bytes", "write an integer such as 50331648"),
            Self::Nanoseconds => ("is not a whole number of nanoseconds", "write an integer such as 1750840"),
        }
    }
}

pub(crate) struct Reader<'a> {
    pub(crate) source_name: &'a str,
}

impl Reader<'_> {
    pub(crate) fn error(&self, problem: impl Into<String>, accepted: impl Into<String>) -> FormatError {
        FormatError::new(FORMAT, self.source_name, problem, accepted)
    }

    pub(crate) fn number(&self, line: u64, field: &str, text: &str, unit: Unit) -> Result<u64, FormatError> {
        whole_number(text).ok_or_else(|| {
            let (problem, accepted) = unit.complaint();
            self.error(problem, accepted).at_line(line).field(field).found(text)
        })
    }

    pub(crate) fn policy(&self, line: u64, field: &str, name: &str) -> Result<SimaiPolicy, FormatError> {
        SimaiPolicy::from_name(name).ok_or_else(|| {
            self.error("is not a known policy", format!("write one of {}", names_of(SimaiPolicy::ALL)))
                .at_line(line)
                .field(field)
                .found(name)
        })
    }

    fn layer(&self, line: u64, text: &str, policy: SimaiPolicy) -> Result<SimaiLayer, FormatError> {
        let columns: Vec<&str> = text.split_whitespace().collect();
        let custom = policy == SimaiPolicy::HybridCustomized;
        let wanted = if custom { 13 } else { 12 };
        if columns.len() != wanted {
            return Err(self
                .error(
                    format!("has {} columns", columns.len()),
                    format!("a layer line under {policy} has {wanted} columns"),
                )
                .at_line(line)
                .found(text.trim()));
        }
        let dependency = columns[1].parse().map_err(|_| {
            self.error("is not a whole number", "write an integer such as -1")
                .at_line(line)
                .field("column 2 (dependency)")
                .found(columns[1])
        })?;
        let custom_policy =
            columns.get(12).map(|name| self.policy(line, "column 13 (policy)", name)).transpose()?;
        Ok(SimaiLayer {
            name: columns[0].to_owned(),
            line,
            dependency,
            forward: self.phase(line, &columns, PhaseColumns::Forward)?,
            input_gradient: self.phase(line, &columns, PhaseColumns::InputGradient)?,
            weight_gradient: self.phase(line, &columns, PhaseColumns::WeightGradient)?,
            update_ns: self.number(line, "column 12 (weight update time)", columns[11], Unit::Nanoseconds)?,
            custom_policy,
        })
    }

    /// Three columns; the caller has checked that there are 12.
    fn phase(&self, line: u64, columns: &[&str], which: PhaseColumns) -> Result<Phase, FormatError> {
        let first = which.first();
        let field =
            |offset: usize, what: &str| format!("column {} ({} {what})", first + offset + 1, which.name());
        Ok(Phase {
            compute_ns: self.number(line, &field(0, "compute time"), columns[first], Unit::Nanoseconds)?,
            collective: self.collective(
                line,
                &field(1, "collective"),
                columns[first + 1],
                which.implicit_group(),
            )?,
            bytes: self.number(line, &field(2, "bytes"), columns[first + 2], Unit::Bytes)?,
        })
    }

    fn collective(
        &self,
        line: u64,
        field: &str,
        text: &str,
        implicit: Group,
    ) -> Result<Option<SimaiCollective>, FormatError> {
        if text == "NONE" {
            return Ok(None);
        }
        // `_DP_EP` first: it also ends in `_EP`.
        let (name, group) = if let Some(name) = text.strip_suffix("_DP_EP") {
            (name, Group::DpEp)
        } else if let Some(name) = text.strip_suffix("_EP") {
            (name, Group::Ep)
        } else {
            (text, implicit)
        };
        let kind = CollectiveKind::from_name(name).ok_or_else(|| {
            self.error(
                "is not a known collective",
                format!(
                    "write NONE or one of {}, with suffix _EP or _DP_EP if it runs in that group",
                    names_of(CollectiveKind::ALL)
                ),
            )
            .at_line(line)
            .field(field)
            .found(text)
        })?;
        Ok(Some(SimaiCollective { kind, group }))
    }
}

/// Digits, or digits with a fraction of zeros, which Python writes after a division.
fn whole_number(text: &str) -> Option<u64> {
    let digits = match text.split_once('.') {
        Some((digits, zeros)) if zeros.bytes().all(|byte| byte == b'0') => digits,
        Some(_) => return None,
        None => text,
    };
    // `parse` alone would take a leading plus.
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok()
}

fn names_of<T: std::fmt::Display>(all: &[T]) -> String {
    let names: Vec<String> = all.iter().map(ToString::to_string).collect();
    names.join(", ")
}
