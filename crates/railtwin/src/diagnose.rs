//! Diagnosis of files of a cluster or of a run folder, beside the site that a scenario describes.
pub use railtwin_reading::*;

pub use crate::site::diagnose;
