//! NCCL's topologies of hosts.
use proptest::prelude::*;
use railtwin_fabric::HostModel;
use railtwin_fabric::host::NicModel;
use railtwin_topology::SourceFile;
use railtwin_topology::nccl::{NcclDeviceKind, NcclHost};
use railtwin_units::Rate;

fn real(name: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/nccl_topology_xml/");
    std::fs::read(format!("{folder}{name}")).expect("a file of data")
}

fn parse(name: &str, bytes: &[u8]) -> Result<NcclHost, railtwin_formats::FormatError> {
    NcclHost::parse(&SourceFile { name, bytes })
}

const REAL: [&str; 7] = [
    "g5.48xl-topo.xml",
    "ncv4-topo.xml",
    "ndv2-topo.xml",
    "ndv4-topo.xml",
    "ndv5-topo.xml",
    "p4d-24xl-topo.xml",
    "p4de-24xl-topo.xml",
];

#[test]
fn real_files_become_host_models() {
    // File, GPUs, NICs, Gbps of a port, Gbps of PCIe, PCIe switches, Gbps of NVLink.
    for (name, gpus, nics, port, pcie, switches, nvlink) in [
        ("ncv4-topo.xml", 4, 1, 100, 252, 0, Some(2_400)),
        ("ndv2-topo.xml", 8, 1, 200, 252, 1, None),
        ("ndv4-topo.xml", 8, 8, 200, 252, 4, None),
        ("ndv5-topo.xml", 8, 8, 400, 504, 0, None),
        ("p4d-24xl-topo.xml", 8, 4, 100, 126, 4, Some(2_400)),
        ("p4de-24xl-topo.xml", 8, 4, 100, 126, 4, Some(2_400)),
    ] {
        let host = parse(name, &real(name)).expect("real");
        let made = host.host_model().expect("a host");
        let model = &made.model;
        assert_eq!((model.gpus, model.nics, model.pcie_switches), (gpus, nics, switches), "{name}");
        assert_eq!(model.nic.port_capacity, Rate::from_gbps(port), "{name}");
        assert_eq!(model.pcie, Rate::from_gbps(pcie), "{name}");
        assert_eq!(model.nvlink, nvlink.map(Rate::from_gbps), "{name}");
        let is_assumed = |field: &str| made.assumed.iter().any(|(assumed, _)| *assumed == field);
        assert_eq!(is_assumed("nic"), name != "ncv4-topo.xml", "{name}: {:?}", made.assumed);
        assert_eq!(is_assumed("nvlink"), name != "ncv4-topo.xml", "{name}: {:?}", made.assumed);
    }
}

#[test]
fn a_file_without_classes_says_so_and_a_graph_is_refused() {
    let host = parse("g5.48xl-topo.xml", &real("g5.48xl-topo.xml")).expect("real");
    assert_eq!((host.devices.len(), host.gpus.len(), host.name.as_str()), (9, 0, "g5"));
    assert_eq!(host.findings.iter().filter(|one| one.kind == "unknown-device").count(), 9);
    let made = host.host_model().expect("kinds are assumed");
    assert_eq!((made.model.gpus, made.model.nics), (8, 1));
    assert_eq!(made.assumed[0].0, "gpus");
    let error = parse("ncv4-graph.xml", &real("ncv4-graph.xml")).expect_err("a graph").to_string();
    assert!(error.contains("is an NCCL graph, not a topology"), "{error}");
    assert!(!NcclHost::is_one(&SourceFile { name: "g", bytes: &real("ncv4-graph.xml") }));
    assert!(REAL.iter().all(|name| NcclHost::is_one(&SourceFile { name, bytes: &real(name) })));
}

#[test]
fn what_is_written_is_read() {
    for name in REAL {
        let host = parse(name, &real(name)).expect("real");
        let xml = host.to_xml();
        let again = parse("again.xml", xml.as_bytes()).expect("what was written");
        assert_eq!(
            (&again.cpus, &again.devices, &again.gpus, &again.nics),
            (&host.cpus, &host.devices, &host.gpus, &host.nics)
        );
        assert_eq!((&again.name, again.version), (&host.name, host.version), "{name}");
        assert_eq!(again.to_xml(), xml);
    }
}

/// Two GPUs and a NIC of two functions below one bridge, a slow one at the other CPU, as a dump has them.
const DUMP: &str = r#"<system version="1">
  <cpu host_hash="0x16fe256e956b115c" numaid="0" affinity="00ff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="207">
    <pci busid="0000:16:00.0" class="0x060400" vendor="0x1000" device="0xc030" link_speed="32.0 GT/s PCIe" link_width="16">
      <pci busid="0000:18:00.0" class="0x030200" vendor="0x10de" device="0x2330" link_speed="32.0 GT/s PCIe" link_width="16">
        <gpu dev="1" sm="90" rank="1" gdr="1">
          <nvlink target="0000:07:00.0" count="9" tclass="0x068000"/>
          <nvlink target="0000:06:00.0" count="9" tclass="0x068000"/>
        </gpu>
      </pci>
      <pci busid="0000:17:00.0" class="0x030200" vendor="0x10de" device="0x2330" link_speed="32.0 GT/s PCIe" link_width="8">
        <gpu dev="0" sm="90" rank="0" gdr="1">
          <nvlink target="0000:07:00.0" count="9" tclass="0x068000"/>
          <nvlink target="0000:06:00.0" count="8" tclass="0x068000"/>
          <c2c bw="32000" count="4"/>
        </gpu>
      </pci>
      <pci busid="0000:19:00.0" class="0x020700" link_speed="16.0 GT/s PCIe" link_width="16">
        <nic>
          <net name="mlx5_0" dev="0" speed="200000" port="1" latency="0.000000" guid="0xa8" maxconn="131072" gdr="1"/>
        </nic>
      </pci>
      <pci busid="0000:19:00.1" class="0x020700" link_speed="16.0 GT/s PCIe" link_width="16">
        <nic>
          <net name="mlx5_1" dev="1" speed="200000" port="1" latency="0.000000" guid="0xa8" maxconn="131072" gdr="1"/>
        </nic>
      </pci>
    </pci>
  </cpu>
  <cpu numaid="1" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="207">
    <pci busid="0000:a4:00.0" class="0x030200" vendor="0x10de" device="0x2330" link_speed="32.0 GT/s PCIe" link_width="16">
      <gpu dev="2" sm="90" rank="2" gdr="1">
        <nvlink target="0000:07:00.0" count="18" tclass="0x068000"/>
      </gpu>
    </pci>
  </cpu>
</system>
"#;

#[test]
fn findings_of_a_dump() {
    let host = parse("node.xml", DUMP.as_bytes()).expect("a dump");
    let found: Vec<(&str, &str)> = host.findings.iter().map(|one| (one.kind, one.device.as_str())).collect();
    assert_eq!(
        found,
        [
            ("gpu-without-near-nic", "0000:a4:00.0"),
            ("pcie-below-nic", "mlx5_0"),
            ("mixed-generations", "node"),
            ("equal-guids", "mlx5_0"),
            ("link-down", "node"),
        ]
    );
    assert_eq!((host.nvswitches(), host.nics.len(), host.nics[0].nets.len()), (2, 1, 2));
    let bus = |gpu: usize| host.devices[host.gpus[gpu].device as usize].bus.as_str();
    assert_eq!((bus(0), bus(1)), ("0000:17:00.0", "0000:18:00.0"), "GPUs are in the order of their numbers");
    assert_eq!(host.gpus[0].c2c, Some((32_000, 4)));
    let model = host.host_model().expect("a host").model;
    assert_eq!((model.nic.ports, model.nic.port_capacity), (2, Rate::from_gbps(200)));
    assert_eq!(model.nvlink, Some(Rate::from_gbps(17 * 200)), "the GPU with the fewest links");
}

#[test]
fn chip_to_chip_links_stand_for_pcie() {
    let gpu = "<pci busid=\"000f:01:00.0\" class=\"0x030200\" link_speed=\"2.5 GT/s PCIe\" link_width=\"16\">\
        <gpu dev=\"0\" sm=\"90\" rank=\"0\" gdr=\"1\"><c2c bw=\"44712\" count=\"10\"/></gpu></pci>";
    let nic = "<pci busid=\"0000:01:00.0\" class=\"0x020000\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\"><nic>\
        <net name=\"mlx5_0\" dev=\"0\" speed=\"400000\" port=\"1\" guid=\"0x1\" gdr=\"1\"/></nic></pci>";
    let cpu = |hash: u32, inside: &str| {
        format!("<cpu numaid=\"0\" host_hash=\"{hash:#x}\" arch=\"arm64\">{inside}</cpu>")
    };
    let xml = format!("<system version=\"1\">{}{}</system>", cpu(1, &format!("{gpu}{nic}")), cpu(2, ""));
    let host = parse("grace.xml", xml.as_bytes()).expect("a dump");
    assert_eq!(host.findings.iter().map(|one| one.kind).collect::<Vec<_>>(), ["several-hosts"]);
    let model = host.host_model().expect("a host").model;
    assert_eq!(model.pcie, Rate::from_bits_per_s(44_712 * 10 * 8_000_000));
}

#[test]
fn amd_has_xgmi_and_nics_of_two_switches() {
    let gpu = |bus: &str, other: &str, dev: u32| {
        format!(
            "<pci busid=\"0000:{bus}:00.0\" class=\"0x038000\" link_speed=\"16 GT/s\" link_width=\"16\">\
             <gpu dev=\"{dev}\" sm=\"96\" gcn=\"906\" arch=\"38911\" rank=\"{dev}\" gdr=\"1\">\
             <xgmi target=\"0000:{other}:00.0\" count=\"1\" tclass=\"0x038000\"/></gpu></pci>"
        )
    };
    let switch = |number: u32| {
        let (a, b) = (format!("{number}d"), format!("{number}e"));
        let gpus = gpu(&a, &b, 2 * number) + &gpu(&b, &a, 2 * number + 1);
        format!(
            "<pci busid=\"0000:{number}8:00.0\" class=\"0x060400\" link_speed=\"8 GT/s\" link_width=\"16\">{gpus}\
             <pci busid=\"0000:{number}a:00.0\" class=\"0x020000\" link_speed=\"8 GT/s\" link_width=\"16\"><nic>\
             <net name=\"mlx5_{number}\" dev=\"{number}\" speed=\"100000\" port=\"1\" guid=\"0x{number}f\" gdr=\"1\"/></nic></pci></pci>"
        )
    };
    let xml = format!(
        "<system version=\"2\"><cpu numaid=\"0\" arch=\"x86_64\">{}{}</cpu></system>",
        switch(0),
        switch(1)
    );
    let host = parse("amd.xml", xml.as_bytes()).expect("RCCL's");
    let made = host.host_model().expect("a host");
    assert_eq!(made.model.nvlink, Some(Rate::from_gbps(24 * 8)));
    assert_eq!((made.model.pcie_switches, made.model.nics, made.model.gpus), (2, 2, 4));
    assert!(host.findings.is_empty(), "{:?}", host.findings);
}

#[test]
fn host_models_of_a_name_come_back() {
    for name in HostModel::NAMES {
        let model = HostModel::named(name).expect("known");
        let host = NcclHost::of_model(&model);
        // Links of other makers have no NVLink or PCIe of their rate, which a note says.
        if !host.notes.is_empty() {
            assert!(["mi300x", "tpu-v4"].contains(&name), "{name}: {:?}", host.notes);
            continue;
        }
        let again = parse("x.xml", host.to_xml().as_bytes()).expect("what was written");
        assert_eq!(again.host_model().expect("a host").model, model);
        assert!(
            again.findings.iter().all(|one| one.kind == "nic-below-pcie"),
            "{name}: {:?}",
            again.findings
        );
        assert_eq!(
            again.devices.iter().filter(|one| one.kind == NcclDeviceKind::Gpu).count() as u32,
            model.gpus
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn host_models_come_back(
        switches in 0_u32..=4,
        each in (2_u32..=4, 1_u32..=4),
        ports in 1_u32..=2,
        port in prop::sample::select(vec![100_u64, 200, 400]),
        pcie in prop::sample::select(vec![126_u64, 252, 504, 968]),
        links in 0_u64..=18,
        frontend in 0_u32..=2,
    ) {
        let count = switches.max(1);
        let nvlink = (links > 0).then(|| Rate::from_gbps(200 * links));
        let nic = NicModel { ports, port_capacity: Rate::from_gbps(port) };
        let model = HostModel {
            gpus: each.0 * count,
            nics: each.1 * count,
            nic,
            nvlink,
            pcie: Rate::from_gbps(pcie),
            pcie_switches: switches,
            frontend_nics: frontend,
            frontend: if frontend > 0 { NicModel { ports: 1, port_capacity: Rate::from_gbps(25) } } else { nic },
            ..HostModel::hgx_h800()
        };
        prop_assume!(model.check().is_ok());
        let again = parse("x.xml", NcclHost::of_model(&model).to_xml().as_bytes()).expect("what was written");
        prop_assert_eq!(again.host_model().expect("a host").model, model);
    }
}
