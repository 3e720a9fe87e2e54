//! Clocks of GPUs that are held down: report 48, with near misses.
use super::kit::{accused, assert_silent, of_text, read, report, report_text};

const NAME: &str = "48-dcgm-throttle.prom";

#[test]
fn report_48_a_gpu_slowed_by_heat() {
    let sentence = read(&report(NAME)).sentence();
    let wanted = "gpu node9/gpu-0: slowed by heat (345 of 1980 MHz, 91 °C), confidence 0.85";
    assert!(sentence.starts_with(wanted), "{sentence}");
    let other = report_text(NAME)
        .replace("CLOCK_THROTTLE_REASONS", "CLOCKS_EVENT_REASONS")
        .replace("node9", "gpu-b200-4");
    assert_eq!(accused(&of_text("m.prom", &other)), ["gpu-b200-4/gpu-0"]);
}

#[test]
fn normal_reasons_and_idle_gpus_accuse_nobody() {
    let text = report_text(NAME);
    for (reasons, mhz, celsius) in
        [("0", "1980", "61"), ("4", "1700", "70"), ("1", "345", "38"), ("2", "1410", "60")]
    {
        let healthy = text
            .replace("} 72\n", &format!("}} {reasons}\n"))
            .replace("} 345\n", &format!("}} {mhz}\n"))
            .replace("} 91\n", &format!("}} {celsius}\n"));
        assert_silent(&of_text("m.prom", &healthy));
    }
}

#[test]
fn all_gpus_of_a_host_that_overheat_are_the_host() {
    let text = report_text(NAME).replace("} 0\n", "} 64\n");
    let line = |gpu: u32, metric: &str, value: u32| {
        format!("DCGM_FI_DEV_{metric}{{gpu=\"{gpu}\",Hostname=\"node9\"}} {value}\n")
    };
    let more: String = (2..4).map(|gpu| line(gpu, "CLOCK_THROTTLE_REASONS", 64)).collect();
    let peers: String = (0..8)
        .map(|gpu| format!("DCGM_FI_DEV_SM_CLOCK{{gpu=\"{gpu}\",Hostname=\"node8\"}} 1980\n"))
        .collect();
    let hot = text.replace("} 1980\n", "} 500\n");
    assert_eq!(accused(&of_text("m.prom", &format!("{hot}{more}{peers}"))), ["node9"]);
}
