//! A broken rule of a section.

/// A message and its hint.
pub(crate) type Violation = (String, &'static str);
