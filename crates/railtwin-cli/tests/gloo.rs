//! `railtwin diagnose` on dumps of jobs that ran under PyTorch's Gloo.
#![allow(clippy::unwrap_used, reason = "a test may fail")]
use std::path::Path;

use serde_json::json;

use crate::diagnose::{accused, diagnose, ours};
use crate::harness::shown;

/// Jobs that hung under PyTorch's Gloo, and what was wrong with them (`make_dumps.py` there). No operation ran out of its time
/// in them: only that the pickles, which were written after the texts, are equal shows that they stood still.
#[test]
fn jobs_that_hang_under_gloo_tell_who_stopped_or_called_something_else() {
    let tells = |name: &str, later: bool| {
        let folder = ours("flight_recorder_gloo").join(name);
        let files = |form: &str| -> Vec<String> {
            let files = (0..8).map(|rank| shown(&folder.join(format!("rank_{rank}{form}"))));
            files.filter(|file| Path::new(file).is_file()).collect()
        };
        let mut all = files(".json");
        if later {
            all.extend(["--later".to_owned()].into_iter().chain(files("")));
        }
        let (_, answer) = diagnose(&all.iter().map(String::as_str).collect::<Vec<_>>());
        let findings = answer["findings"].as_array().unwrap().clone();
        let suspects = findings.iter().flat_map(|finding| finding["suspects"].as_array().unwrap());
        let mut ranks: Vec<String> =
            suspects.map(|suspect| suspect["component"]["name"].as_str().unwrap().to_owned()).collect();
        ranks.sort();
        (ranks, accused(&answer), answer)
    };
    for later in [false, true] {
        for (name, broken) in [
            ("world", vec!["job/5"]),
            ("pairs", vec!["job/3"]),
            ("two", vec!["job/2", "job/5"]),
            ("skip", vec!["job/4"]),
            ("experts", vec!["job/2"]),
            ("root", vec!["job/3"]),
            ("killed", vec!["job/1"]),
        ] {
            let (told, mut accused, answer) = tells(name, later);
            let broken: Vec<String> = broken.iter().map(|&rank| rank.to_owned()).collect();
            assert_eq!(told, broken, "{name}: {answer}");
            accused.sort();
            // Whoever left no dump may only not have been given, and of two with nothing pending one may wait in a receive
            // for the other.
            let proved = later && !["killed", "two"].contains(&name);
            assert_eq!(accused, if proved { broken } else { vec![] }, "{name}: {answer}");
        }
        let (told, accused, answer) = tells("healthy", later);
        assert_eq!(accused, Vec::<String>::new(), "{answer}");
        assert!(told.is_empty() || !later, "{answer}");
        // Different calls under one number show by themselves that something is wrong.
        for (name, rank, aborted, words) in [
            ("other", "job/7", None, "calls broadcast of 16384 B float32 as operation 4 of"),
            // Gloo ended the process of rank 5 because of it: there is no dump of it, and others wait.
            ("size", "job/6", Some("job/5"), "calls all-reduce of 32768 B float32 as operation 4 of"),
        ] {
            let (told, accused, answer) = tells(name, later);
            let all: Vec<String> = aborted.into_iter().chain([rank]).map(str::to_owned).collect();
            assert_eq!((told, accused), (all, vec![rank.to_owned()]), "{name}: {answer}");
            assert_eq!(answer["findings"][0]["syndrome"], json!("mismatch"), "{answer}");
            assert!(answer["findings"][0]["evidence"].to_string().contains(words), "{answer}");
        }
    }
}
