//! Kernel logs: reports 11, 12, 31 and 42, with near misses.
use super::kit::{accused, assert_silent, of_text, read, report, report_text};

#[track_caller]
fn says(name: &str, wanted: &str) {
    let sentence = read(&report(name)).sentence();
    assert!(sentence.starts_with(wanted), "{sentence}");
}

#[test]
fn report_11_memory_that_cannot_be_registered() {
    let name = "11-efa-registration_dmesg_node11.txt";
    says(name, "nic node11/efa_0: cannot register memory (error -12, out of memory), confidence 0.70");
    let other = report_text(name).replace("efa_0", "rdmap16s27");
    assert_eq!(accused(&of_text("dmesg_p5-host-3.txt", &other)), ["p5-host-3/rdmap16s27"]);
    let well = "[7.1] infiniband efa_0: efa device registered\n[8.1] efa 0000:00:06.0: Setup irq:35 name:efa-mgmnt\n\
                [9.0] mlx5_core 0000:b3:00.0 ib0: Link up\n";
    assert_silent(&of_text("dmesg_node11.txt", well));
}

#[test]
fn report_12_a_nic_behind_half_a_link() {
    let name = "12-pcie-x8-link_dmesg_node12.txt";
    let wanted = "nic node12/0000:b3:00.1: its PCIe link carries 63 of 252 Gb/s (8 GT/s x8 at 0000:b2:00), confidence 0.80";
    says(name, wanted);
    let text = report_text(name);
    let alone: String = text.lines().take(1).map(|line| format!("{line}\n")).collect();
    let answer = of_text("dmesg_gpu-3.txt", &alone);
    assert_eq!(accused(&answer), ["gpu-3/0000:b3:00.1"]);
    assert!(answer.findings[0].confidence < 0.8);
    // All of its kind sit in such slots: the host is built so.
    let both = format!("{alone}{}", alone.replace("b3:00.1", "63:00.0").replace("b2:00.0", "62:00.0"));
    let answer = of_text("dmesg_gpu-3.txt", &both);
    assert_silent(&answer);
    assert!(answer.notes.iter().any(|note| note.contains("like those of its kind")), "{:?}", answer.notes);
    // At the next start the card was reseated.
    let boot = "[    0.000000] Linux version 6.8.0-45-generic (buildd@lcy02) (gcc)\n";
    let full = text.lines().last().unwrap_or_default().replace("4b:00.0", "b3:00.1");
    assert_silent(&of_text("dmesg_gpu-3.txt", &format!("{boot}{full}\n")));
}

#[test]
fn report_31_a_fatal_nvlink_and_its_victims() {
    let name = "31-nvlink-fatal_dmesg_node31.txt";
    says(name, "gpu node31/0000:dc:00: fatal error of its NVLink 0 (Xid 149), confidence 0.85");
    let answer = read(&report(name));
    assert_eq!(accused(&answer), ["node31/0000:dc:00"]);
    let all = answer.findings.iter().flat_map(|finding| &finding.evidence);
    let victims = all.map(railtwin_records::Evidence::words).find(|words| words.contains("victims"));
    let victims = victims.expect("victims are told");
    for gpu in ["97:00", "ba:00", "dc:00", "ed:00"] {
        assert!(victims.contains(gpu), "{victims}");
    }
    let harmless: String = report_text(name)
        .lines()
        .filter(|line| !line.contains(": 45,"))
        .map(|line| format!("{}\n", line.replace(" Fatal ", " Nonfatal ")))
        .collect();
    let answer = of_text("dmesg_node31.txt", &harmless);
    assert!(accused(&answer).is_empty(), "{}", answer.sentence());
}

#[test]
fn report_42_a_gpu_that_its_driver_gave_up() {
    let name = "42-amdgpu-init_dmesg_node42.txt";
    says(name, "gpu node42/0000:1b:00: fatal error at its start: amdgpu gave it up, confidence 0.85");
    let nvidia = "[   15.1] NVRM: GPU 0000:1b:00.0: RmInitAdapter failed! (0x62:0x40:2393)\n";
    assert_eq!(accused(&of_text("dmesg_h100-9.txt", nvidia)), ["h100-9/0000:1b:00"]);
    let well = "[   15.1] amdgpu: Virtual CRAT table created for CPU\n\
                [   16.1] [drm] Initialized amdgpu 3.54.0 20150101 for 0000:1b:00.0 on minor 1\n\
                [   17.1] mlx5_core 0000:29:00.0: firmware version: 28.39.1002\n";
    assert_silent(&of_text("dmesg_node42.txt", well));
    // A second attempt of the driver came through.
    let again = format!("{}{}", report_text(name), well.lines().nth(1).unwrap_or_default());
    assert_silent(&of_text("dmesg_node42.txt", &format!("{again}\n")));
}
