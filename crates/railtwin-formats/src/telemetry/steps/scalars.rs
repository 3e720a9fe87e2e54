//! Scalars as TensorBoard exports them: `Wall time,Step,Value`, of which the head does not name the value.
use super::column::{Of, Told, counts_steps, told, words};
use crate::error::FormatError;

/// Where in a row its wall time, its step and its value are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scalars {
    pub wall: usize,
    step: Option<usize>,
    value: Option<usize>,
}

/// Columns of scalars; none where no column is a wall time, or neither a step nor a value stands beside it.
pub(super) fn scalars(head: &[String]) -> Option<Scalars> {
    let at = |is: &dyn Fn(&str) -> bool| head.iter().position(|name| is(name));
    let wall = at(&|name| matches!(words(name).join(" ").as_str(), "wall time" | "walltime"))?;
    let (step, value) = (at(&counts_steps), at(&|name| name.trim().eq_ignore_ascii_case("value")));
    (step.is_some() || value.is_some()).then_some(Scalars { wall, step, value })
}

impl Scalars {
    /// The column of values, where the name of the file says that they are times of steps: TensorBoard names files
    /// `run-RUN-tag-TAG.csv`.
    pub(super) fn named(self, source_name: &str) -> Option<(usize, Told)> {
        let file = source_name.rsplit(['/', '\\']).next().unwrap_or(source_name);
        let file = file.strip_suffix(".gz").unwrap_or(file);
        let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
        let tag = stem.rsplit_once("-tag-").map_or(stem, |(_, tag)| tag);
        Some((self.value?, told(tag).filter(|told| !told.needs_steps())?))
    }

    /// What would do where nothing tells a time.
    pub(super) const WANTED: &str = "wall times that rise over steps, or a file whose name says that its values are times of steps, \
                                     such as run-a-tag-step_time.csv";

    /// The column that tells times: values, or else wall times.
    ///
    /// # Errors
    /// Neither: no column numbers steps.
    pub(super) fn taken(self, source_name: &str, format: &'static str) -> Result<(usize, Told), FormatError> {
        if let Some(named) = self.named(source_name) {
            return Ok(named);
        }
        if self.step.is_none() {
            let problem =
                "has wall times and values, and neither its name nor a column of steps tells times of steps";
            return Err(FormatError::new(format, source_name, problem, Self::WANTED));
        }
        let told = Told { unit: 1.0, names_unit: true, inverse: false, of: Of::Clock, plain: true };
        Ok((self.wall, told))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{names_columns, parse_steps_csv};

    fn seconds(name: &str, text: &str) -> (Vec<f64>, String) {
        let log = parse_steps_csv(name, text.as_bytes()).expect("scalars");
        (log.series[0].steps.iter().map(|step| step.seconds).collect(), log.taken)
    }

    #[test]
    fn scalars_are_times_of_steps_by_their_name_or_by_wall_times() {
        let text = "Wall time,Step,Value\n1758610000.5,0,11.5\n1758610012.5,1,2.5\n1758610036.5,3,2.25\n";
        assert!(names_columns("Wall time,Step,Value"));
        let (took, taken) = seconds("a/loss.csv", text);
        assert_eq!(took, [12.0, 12.0]);
        assert!(taken.contains("differences of column \"Wall time\" over those of \"Step\""), "{taken}");
        for name in ["run-train-tag-perf_step_time.csv", "out/iteration_time_s.csv", "step_time.csv.gz"] {
            let (took, taken) = seconds(name, text);
            assert_eq!(took, [11.5, 2.5, 2.25], "{name}");
            assert!(taken.contains("column \"Value\""), "{taken}");
        }
        assert_eq!(seconds("run-a-tag-step_time_ms.csv", text).0, [0.0115, 0.0025, 0.00225]);
        assert_eq!(seconds("a.csv", "step;Wall time\n0;1,5\n1;3,5\n").0, [2.0]);
        // A job that began again: the step before it and the first after it are beside something else.
        let again = "Wall time,Step,Value\n0,1,2\n10,2,2\n20,3,2\n500,2,2\n510,3,2\n520,4,2\n";
        let log = parse_steps_csv("a.csv", again.as_bytes()).expect("scalars");
        let told: Vec<(f64, bool)> =
            log.series[0].steps.iter().map(|step| (step.seconds, step.beside)).collect();
        assert_eq!(told, [(10.0, true), (10.0, true), (10.0, true), (10.0, false)]);
        assert_eq!(log.skipped.count(), 0);
    }

    #[test]
    fn scalars_that_tell_no_time_are_refused_with_what_would_do() {
        let wrong = |name: &str, text: &str| {
            parse_steps_csv(name, text.as_bytes()).expect_err("no times of steps").to_string()
        };
        assert!(names_columns("Wall time,Value"));
        let told = wrong("loss.csv", "Wall time,Value\n1,2\n2,2\n");
        assert!(told.contains("neither its name nor a column of steps tells times of steps"), "{told}");
        let told = wrong("loss.csv", "Wall time,Step,Value\n5,1,2\n5,2,2\n5,3,2\n");
        assert!(told.contains("no wall times that rise over steps"), "{told}");
        // One wrong row is skipped and counted.
        let log = parse_steps_csv("a.csv", b"Wall time,Step,Value\n1,1,2\nx,2,2\n5,3,2\n").expect("scalars");
        assert_eq!((log.series[0].steps[0].seconds, log.skipped.count()), (2.0, 1));
    }
}
