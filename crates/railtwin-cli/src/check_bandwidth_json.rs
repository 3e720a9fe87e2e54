//! `railtwin check bandwidth --json`: all rows, under names that stay.
use railtwin_calibration::bandwidth::{Bounds, Group, HostCount, LowTest, SizeRow};
use serde_json::{Value, json};

use crate::check_bandwidth_answer::Answer;
use crate::check_bandwidth_text::sentence;

/// The answer as data; bandwidths are in GB/s, of the bus where nothing else is said.
pub(crate) fn data(answer: &Answer) -> Value {
    let checked = &answer.checked;
    json!({
        "answer": sentence(answer),
        "causes": answer.causes,
        "tests": checked.tests,
        "files": answer.files.len(),
        "hosts_are": checked.assumed.iter().map(|one| json!({
            "product": one.product,
            "model": one.host.as_ref().map(|host| &host.model),
            "by": if one.by_product { "product" } else { "fabric" },
            "gpus": one.host.as_ref().map(|host| host.gpus),
            "nics": one.host.as_ref().map(|host| host.nics),
            "nic_gb_per_s": one.host.as_ref().map(|host| host.nic_gb_per_s),
            "nvlink_gb_per_s": one.host.as_ref().and_then(|host| host.nvlink_gb_per_s),
        })).collect::<Vec<_>>(),
        "collectives": checked.groups.iter().map(group).collect::<Vec<_>>(),
        "low": checked.low.iter().map(|test| low(test, &checked.groups)).collect::<Vec<_>>(),
        "ended_without_result": checked.ended.iter().map(|test| json!({
            "file": test.file, "line": test.line, "collective": test.kind.collective, "shape": test.kind.shape(),
            "hosts": test.hosts, "end": test.end.name(), "said": test.said, "after_bytes": test.after_bytes,
        })).collect::<Vec<_>>(),
        "whole_runs": answer.whole.iter().map(|run| json!({
            "collective": run.collective.name(), "setting": run.setting, "hosts": run.hosts, "gpus": run.hosts * run.local,
            "fitted_gpus": run.fitted, "measured_over_predicted": run.ratio, "slow": run.is_slow(),
            "bytes": run.typical.0, "measured_us": run.typical.1 * 1e6, "predicted_us": run.typical.2 * 1e6,
        })).collect::<Vec<_>>(),
        "hosts_in_common": checked.hosts.iter().map(host).collect::<Vec<_>>(),
        "wrong_results": checked.wrong.iter().map(|(file, number)| json!({ "file": file, "test": number }))
            .collect::<Vec<_>>(),
        "skipped": answer.files.iter().filter(|file| file.skipped.count() > 0).map(|file| json!({
            "file": file.source, "count": file.skipped.count(), "first": file.skipped.first().collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "unread": answer.unread.iter().map(|file| json!({
            "file": file.source, "reason": file.reason, "recognized": file.known,
        })).collect::<Vec<_>>(),
    })
}

fn group(group: &Group) -> Value {
    let bound = |of: fn(&Bounds) -> Value| group.bounds.as_ref().map_or(Value::Null, of);
    json!({
        "collective": group.kind.collective,
        "shape": group.kind.shape(),
        "hosts": group.kind.hosts,
        "gpus_per_host": group.kind.gpus,
        "ranks": group.kind.ranks,
        "groups": group.kind.groups,
        "product": group.kind.product,
        "tests": group.tests.len(),
        "verdict": group.verdict.name(),
        "large_median_gb_per_s": group.large,
        "large_share_of_line_rate": group.share(),
        "line_rate_gb_per_s": bound(|bounds| json!(bounds.line_rate.gb_per_s)),
        "line_rate_by": bound(|bounds| json!(bounds.line_rate.by.name())),
        "bound_gb_per_s": bound(|bounds| json!(bounds.most.gb_per_s)),
        "bound_by": bound(|bounds| json!(bounds.most.by.name())),
        "no_bound": group.bounds.as_ref().err(),
        "sizes": group.sizes.iter().map(size).collect::<Vec<_>>(),
    })
}

fn size(row: &SizeRow) -> Value {
    json!({
        "bytes": row.bytes,
        "measurements": row.measurements,
        "median_gb_per_s": row.median,
        "median_algorithm_gb_per_s": row.algorithm,
        "worst_gb_per_s": row.worst.gb_per_s,
        "worst_file": row.worst.file,
        "worst_hosts": row.worst.hosts,
        "share_of_line_rate": row.share,
        "latency": row.latency,
    })
}

fn low(test: &LowTest, groups: &[Group]) -> Value {
    let kind = &groups[test.group].kind;
    json!({
        "file": test.file,
        "test": test.number,
        "collective": kind.collective,
        "shape": kind.shape(),
        "hosts": test.hosts,
        "large_median_gb_per_s": test.gb_per_s,
        "peers_gb_per_s": test.peers_gb_per_s,
        "share_of_peers": test.share,
        "below_peers": test.below_peers,
        "falls_from_gb_per_s": test.falls.map(|(best, _)| best),
        "falls_to_gb_per_s": test.falls.map(|(_, last)| last),
    })
}

fn host(count: &HostCount) -> Value {
    json!({
        "host": count.host,
        "host_sets": count.of,
        "low": count.low.0,
        "of_low": count.low.1,
        "ended_without_result": count.ended.0,
        "of_ended_without_result": count.ended.1,
    })
}
