//! DCGM exporter: Prometheus metrics of GPUs, by the names of all its generations.

use railtwin_records::{Component, Counter};

use super::nic_counters::{Join, Readings};
use super::prometheus::{FORMAT, PrometheusSample, parse_prometheus};
use super::{Hints, Telemetry};
use crate::error::FormatError;

/// Foreign name, our counter, what one unit is, how it joins. Names in lower case are of exporter 1.x, `DCGM_FI_DEV_*`
/// are of 2.x to 4.8, and those with a unit at their end, `XID_ERROR` and errors without `COUNT` are of 4.9 and later.
const NAMES: &[(&str, Counter, f64, Join)] = &[
    ("dcgm_xid_errors", Counter::Xid, 1.0, Join::Largest),
    ("DCGM_FI_DEV_XID_ERRORS", Counter::Xid, 1.0, Join::Largest),
    ("DCGM_FI_DEV_XID_ERROR", Counter::Xid, 1.0, Join::Largest),
    // Aggregate counts hold volatile ones too: the larger of both.
    ("dcgm_ecc_dbe_volatile_total", Counter::EccErrors, 1.0, Join::Largest),
    ("dcgm_ecc_dbe_aggregate_total", Counter::EccErrors, 1.0, Join::Largest),
    ("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", Counter::EccErrors, 1.0, Join::Largest),
    ("DCGM_FI_DEV_ECC_DBE_AGG_TOTAL", Counter::EccErrors, 1.0, Join::Largest),
    ("dcgm_nvlink_flit_crc_error_count_total", Counter::NvlinkErrors, 1.0, Join::Sum),
    ("dcgm_nvlink_data_crc_error_count_total", Counter::NvlinkErrors, 1.0, Join::Sum),
    ("dcgm_nvlink_replay_error_count_total", Counter::NvlinkErrors, 1.0, Join::Sum),
    ("dcgm_nvlink_recovery_error_count_total", Counter::NvlinkErrors, 1.0, Join::Sum),
    ("DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", Counter::NvlinkErrors, 1.0, Join::Sum),
    ("DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL", Counter::NvlinkErrors, 1.0, Join::Sum),
    ("DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL", Counter::NvlinkErrors, 1.0, Join::Sum),
    ("DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL", Counter::NvlinkErrors, 1.0, Join::Sum),
    ("DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_TOTAL", Counter::NvlinkErrors, 1.0, Join::Sum),
    ("DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_TOTAL", Counter::NvlinkErrors, 1.0, Join::Sum),
    ("DCGM_FI_DEV_NVLINK_REPLAY_ERROR_TOTAL", Counter::NvlinkErrors, 1.0, Join::Sum),
    ("DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_TOTAL", Counter::NvlinkErrors, 1.0, Join::Sum),
    ("DCGM_FI_DEV_NVLINK_CRC_ERROR_TOTAL", Counter::NvlinkErrors, 1.0, Join::Sum),
    ("dcgm_sm_clock", Counter::GpuClockMhz, 1.0, Join::Largest),
    ("DCGM_FI_DEV_SM_CLOCK", Counter::GpuClockMhz, 1.0, Join::Largest),
    ("DCGM_FI_DEV_SM_CLOCK_HERTZ", Counter::GpuClockMhz, 1e-6, Join::Largest),
    ("dcgm_clock_throttle_reasons", Counter::ClockReasons, 1.0, Join::Largest),
    ("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", Counter::ClockReasons, 1.0, Join::Largest),
    ("DCGM_FI_DEV_CLOCKS_EVENT_REASONS", Counter::ClockReasons, 1.0, Join::Largest),
    ("dcgm_gpu_temp", Counter::GpuTemperature, 1.0, Join::Largest),
    ("DCGM_FI_DEV_GPU_TEMP", Counter::GpuTemperature, 1.0, Join::Largest),
    ("DCGM_FI_DEV_GPU_TEMP_CELSIUS", Counter::GpuTemperature, 1.0, Join::Largest),
];

/// Values from here up, and this band of 32 bits, are DCGM's words for "not known".
const BLANK_64: f64 = 9_223_372_036_854_775_792.0;
const BLANK_32: std::ops::RangeInclusive<f64> = 2_147_483_632.0..=2_147_483_647.0;
const BLANK_FLOAT: std::ops::RangeInclusive<f64> = 140_737_488_355_328.0..=140_737_488_355_343.0;

/// Whether a metric is DCGM's.
pub(crate) fn is_dcgm(name: &str) -> bool {
    name.starts_with("DCGM_") || name.starts_with("dcgm_")
}

/// Counters and gauges of GPUs. The host is the one of the hints, else the label `Hostname`, `hostname`, `node` or
/// `instance`; the GPU is the label `gpu`.
///
/// # Errors
/// A text without any metric of DCGM, or in which all of them are wrong.
pub fn parse_dcgm(source_name: &str, bytes: &[u8], hints: &Hints) -> Result<Telemetry, FormatError> {
    let read = parse_prometheus(source_name, bytes)?;
    let mut readings = Readings::default();
    readings.wrong_lines(&read);
    let sums = || NAMES.iter().map(|&(name, counter, _, join)| (name, counter, join));
    for line in &read.wrong {
        readings.lose(line, sums());
    }
    let (mut known, mut blank) = (false, 0_u64);
    for sample in read.samples() {
        let sample = &sample;
        if !is_dcgm(sample.name) {
            readings.skip();
            continue;
        }
        known = true;
        if unknown_value(sample.value) {
            blank += 1;
            continue;
        }
        let found = match reading(source_name, sample) {
            Ok(found) => found,
            Err(error) => {
                readings.wrong(error, "");
                continue;
            }
        };
        let Some((counter, unit, join, value)) = found else {
            readings.skip();
            continue;
        };
        let Some(gpu) = sample.label("gpu") else {
            // Metrics of switches and CPUs have no GPU.
            readings.skip();
            continue;
        };
        let Ok(gpu) = gpu.parse::<u32>() else {
            let error = sample.error(source_name, "label gpu", gpu, "write the number of a GPU");
            readings.wrong(error, "");
            readings.lose(sample.name, sums());
            continue;
        };
        let labels = ["Hostname", "hostname", "node", "instance"];
        let host = match hints.host.as_deref().or_else(|| sample.first_label(&labels)) {
            Some(host) => host.to_owned(),
            None => super::nic_counters::host_of(source_name, hints, &mut readings),
        };
        let component = Component::Gpu(format!("{host}/gpu-{gpu}"));
        readings.take(&component, counter, value * unit, join, sample.time_ns(hints.time_ns));
    }
    if !known {
        let accepted = "their names begin with DCGM_ or dcgm_";
        return Err(FormatError::new(FORMAT, source_name, "has no metric of DCGM", accepted));
    }
    if let Some(error) = readings.first_wrong().filter(|_| readings.is_empty() && blank == 0) {
        return Err(error);
    }
    if blank > 0 {
        readings.note(format!("{blank} values are DCGM's words for not known, and were skipped"));
    }
    if readings.is_empty() {
        readings.note(
            "none of its metrics says anything of faults: the exporter's default set has no ECC and NVLink errors"
                .to_owned(),
        );
    }
    Ok(readings.finish())
}

fn unknown_value(value: f64) -> bool {
    !value.is_finite() || value >= BLANK_64 || BLANK_32.contains(&value) || BLANK_FLOAT.contains(&value)
}

/// Labels of clock events with their bits in NVML's masks.
const EVENTS: [(&str, f64); 9] = [
    ("gpu_idle", 1.0),
    ("clocks_setting", 2.0),
    ("power_cap", 4.0),
    ("hw_slowdown", 8.0),
    ("sync_boost", 16.0),
    ("sw_thermal", 32.0),
    ("hw_thermal", 64.0),
    ("hw_power_brake", 128.0),
    ("display_clocks", 256.0),
];

type Reading = (Counter, f64, Join, f64);

fn reading(source_name: &str, sample: &PrometheusSample) -> Result<Option<Reading>, FormatError> {
    if matches!(sample.name, "DCGM_EXP_XID_ERRORS_COUNT" | "DCGM_EXP_XID_ERRORS_TOTAL") {
        // Counts by Xid: the code stands in a label.
        let Some(xid) = sample.label("xid").filter(|_| sample.value > 0.0) else { return Ok(None) };
        let code: u32 = xid
            .parse()
            .map_err(|_| sample.error(source_name, "label xid", xid, "write the code of an Xid"))?;
        return Ok(Some((Counter::Xid, 1.0, Join::Largest, f64::from(code))));
    }
    if sample.name == "DCGM_EXP_CLOCK_EVENTS_COUNT" {
        // Events by reason, lately: the reason stands in a label.
        let reason = sample.label("clock_event").filter(|_| sample.value > 0.0);
        let bit = reason.and_then(|reason| EVENTS.iter().find(|(name, _)| *name == reason));
        return Ok(bit.map(|(_, bit)| (Counter::ClockReasons, 1.0, Join::Sum, *bit)));
    }
    let found = NAMES.iter().find(|(name, ..)| *name == sample.name);
    Ok(found.map(|&(_, counter, unit, join)| (counter, unit, join, sample.value)))
}
