//! Labels of the points of a sweep.
use railtwin_store::one_line;

/// The label of a point as one text: `fabric.planes=true job.0.hosts=4`.
pub(crate) fn label_text(label: &[(String, String)]) -> String {
    label.iter().map(|(key, value)| format!("{key}={}", one_line(value))).collect::<Vec<_>>().join(" ")
}
