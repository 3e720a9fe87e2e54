//! Names of figures: the job and the figure of an only job.

/// The job that a figure is of, or [`TOTALS`](super::TOTALS), and what the figure of an only job would be called.
pub fn parts_of(name: &str) -> (Option<&str>, &str) {
    name.rsplit_once('.').map_or((None, name), |(job, figure)| (Some(job), figure))
}

#[cfg(test)]
mod tests {
    use super::parts_of;

    #[test]
    fn names_tell_the_job() {
        assert_eq!(parts_of("step_time"), (None, "step_time"));
        assert_eq!(parts_of("a.step_time"), (Some("a"), "step_time"));
        assert_eq!(parts_of("v1.2.exposed_dp"), (Some("v1.2"), "exposed_dp"));
    }
}
