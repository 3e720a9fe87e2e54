//! nccl-tests as JSON (`-J`): the same test, with times of iterations where they were taken.

use super::input;
use super::json::{Node, Place, parse};
use super::nccl_tests::{FORMAT, NcclTest, NcclTestDevice, NcclTestLog, NcclTestMeasure, NcclTestResult};
use super::nccl_tests_failure::{NcclTestEnd, NcclTestFailure};
use super::skipped::Skipped;
use crate::error::FormatError;

/// The test of a JSON file. A result with a missing or wrong field is skipped; where a device has one the hosts of the test
/// are not known.
///
/// # Errors
/// What is not JSON, a file without results in which something is wrong.
pub fn parse_nccl_tests_json(source_name: &str, bytes: &[u8]) -> Result<NcclTestLog, FormatError> {
    let text = input::lossy(FORMAT, source_name, bytes)?;
    let value = parse(FORMAT, source_name, &text)?;
    let root = Node::root(Place { format: FORMAT, source: source_name, line: None }, &value);
    let mut skipped = Skipped::default();
    let mut notes = Vec::new();
    let mut test =
        NcclTest { version: skipped.keep(version(&root)).unwrap_or_default(), ..NcclTest::default() };
    // Devices stand beside config or within it.
    let devices = root.get("devices").or_else(|| root.get("config").and_then(|config| config.get("devices")));
    let before = skipped.count();
    let list = devices.and_then(|list| skipped.keep(list.items())).unwrap_or_default();
    test.devices.extend(list.iter().filter_map(|node| skipped.keep(device(node))));
    if skipped.count() > before {
        test.devices.clear();
        notes.push("a device is wrong: the hosts of the test are not known".to_owned());
    }
    let before = skipped.count();
    for node in root.need("results")?.items()? {
        test.results.extend(skipped.keep(result(&node)));
    }
    if let Some(error) = skipped.all().filter(|_| test.results.is_empty() && skipped.count() > before) {
        return Err(error);
    }
    test.name = skipped.keep(name(&root)).unwrap_or_default();
    let count = root.get("out_of_bounds").and_then(|node| node.get("count"));
    test.out_of_bounds = count.and_then(|node| skipped.keep(node.u64()));
    let average = root.get("average_bus_bandwidth").and_then(|node| node.get("bandwidth"));
    test.complete = average.is_some();
    test.average_bus_gb_per_s = average.and_then(|node| skipped.keep(node.f64()));
    if !test.complete {
        notes.push("the test did not come to its end: it has no average".to_owned());
        test.failure = Some(NcclTestFailure {
            end: NcclTestEnd::CutOff,
            line: String::new(),
            number: text.lines().count() as u64,
            host: None,
            own: false,
            others: Vec::new(),
            after_bytes: test.results.iter().map(|result| result.bytes).max(),
        });
    }
    Ok(NcclTestLog { tests: vec![test], notes, skipped })
}

fn version(root: &Node) -> Result<String, FormatError> {
    let file = root.get("version").map(|node| node.text_or_number()).transpose()?.unwrap_or_default();
    let nccl = root.get("nccl_version").map(|node| node.text_or_number()).transpose()?;
    Ok(nccl.map_or(file.clone(), |nccl| format!("json {file} nccl {nccl}")))
}

/// The experiment's name, or the program that was called.
fn name(root: &Node) -> Result<String, FormatError> {
    if let Some(args) = root.get("args") {
        let args = args.items()?;
        if let Some(program) = args.first() {
            return Ok(super::names::file_name(program.text()?).to_owned());
        }
    }
    let results = root.need("results")?.items()?;
    let name = results.first().and_then(|result| result.get("experiment_name"));
    Ok(name.map(|node| node.text()).transpose()?.unwrap_or_default().to_owned())
}

fn device(node: &Node) -> Result<NcclTestDevice, FormatError> {
    let number = |key: &str| node.get(key).map_or(Ok(0), |node| node.u32());
    let text =
        |key: &str| node.get(key).map_or(Ok(""), |node| node.text()).map(|text| text.trim().to_owned());
    Ok(NcclTestDevice {
        rank: node.need("rank")?.u32()?,
        group: number("group")?,
        pid: node.get("pid").map_or(Ok(0), |node| node.u64())?,
        host: node.need("hostname")?.text()?.to_owned(),
        gpu: number("device")?,
        bus: text("device_hex")?,
        product: text("device_info")?,
    })
}

fn result(node: &Node) -> Result<NcclTestResult, FormatError> {
    let text =
        |key: &str| node.get(key).map_or(Ok(""), |node| node.text()).map(|text| text.trim().to_owned());
    let measure = |key: &str| -> Result<Option<NcclTestMeasure>, FormatError> {
        let per_iteration = node.get(&format!("{key}_per_iter"));
        node.get(key).map(|told| measured(&told, per_iteration.as_ref())).transpose()
    };
    Ok(NcclTestResult {
        bytes: node.need("size")?.u64()?,
        elements: node.get("count").map_or(Ok(0), |node| node.u64())?,
        data_type: text("type")?,
        reduction: text("redop")?,
        out_of_place: measure("out_of_place")?,
        in_place: measure("in_place")?,
        line: 0,
    })
}

fn measured(node: &Node, per_iteration: Option<&Node>) -> Result<NcclTestMeasure, FormatError> {
    let time = node.get("time").or_else(|| node.get("cpu_time"));
    let time = time.map_or_else(|| node.need("time").map(|_| 0.0), |time| time.f64())?;
    let mut measure = NcclTestMeasure {
        time_us: time,
        algorithm_gb_per_s: node.need("alg_bw")?.f64()?,
        bus_gb_per_s: node.need("bus_bw")?.f64()?,
        // Counts are written as floats.
        wrong: node.get("nwrong").map(|node| node.u64()).transpose()?,
        ..NcclTestMeasure::default()
    };
    let list = |node: Node| node.items()?.iter().map(Node::f64).collect::<Result<Vec<_>, _>>();
    if let Some(times) = per_iteration.and_then(|told| told.get("times_us")) {
        measure.iterations_us = list(times)?;
    }
    if let Some(processes) = per_iteration.and_then(|told| told.get("per_process_max_times_us")) {
        measure.process_iterations_us =
            processes.items()?.into_iter().map(list).collect::<Result<Vec<_>, _>>()?;
    }
    Ok(measure)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Written after the schema that nccl-tests' writer shows: counts as floats, roots as text.
    const TEXT: &str = r#"{"version":3,"start_time":"2026-01-01 10:00:00","args":["/opt/all_reduce_perf","-b","8"],
        "env":["A=b"],"nccl_version":22902,"config":{"nthreads":1,"devices":[
        {"rank":0,"group":0,"pid":11,"hostname":"h0","device":0,"device_hex":"0000:1b:00","device_info":"H100"},
        {"rank":1,"group":0,"pid":12,"hostname":"h1","device":0,"device_hex":"0000:1b:00","device_info":"H100"}]},
        "results":[{"size":1024,"count":256,"type":"float","redop":"sum","root":"    -1",
        "out_of_place":{"time":10.5,"alg_bw":0.1,"bus_bw":0.15,"nwrong":0.000000},
        "out_of_place_per_iter":{"skipped_iterations":0,"times_us":[10.0,11.0],
        "per_process_max_times_us":[[9.0,9.5],[10.0,11.0]]},
        "in_place":{"cpu_time":9.5,"alg_bw":0.1,"bus_bw":0.15,"nwrong":null},
        "actual_iterations":2,"experiment_name":""}],
        "out_of_bounds":{"count":0,"okay":"true"},"average_bus_bandwidth":{"bandwidth":0.15,"okay":"true"}}"#;

    #[test]
    fn a_test_with_times_of_iterations() {
        let log = parse_nccl_tests_json("t.json", TEXT.as_bytes()).expect("a file");
        let (test, notes) = (&log.tests[0], &log.notes);
        assert_eq!((test.name.as_str(), test.devices.len(), notes.len()), ("all_reduce_perf", 2, 0));
        assert_eq!(test.version, "json 3 nccl 22902");
        let out = test.results[0].out_of_place.as_ref().expect("out of place");
        assert_eq!((out.wrong, out.iterations_us.len(), out.process_iterations_us[1][1]), (Some(0), 2, 11.0));
        let within = test.results[0].in_place.as_ref().expect("in place");
        assert_eq!((within.wrong, within.time_us), (None, 9.5));
        let error = parse_nccl_tests_json("t.json", TEXT.replace("10.5", "\"fast\"").as_bytes());
        assert_eq!(
            error.expect_err("no time").to_string(),
            "t.json: results[0].out_of_place.time: \"fast\" is not a number; write a finite number"
        );
    }
}
