//! Switches under SONiC: one folder for each.
//!
//! `config_db.json` has tables and keys as SONiC's published examples and YANG models have them; all values are texts. No
//! SONiC has run with these files. `lanes` of ports belong to the platform and are left out: merge the file over the
//! platform's own by `sonic-cfggen`.
//!
//! Two files hold the rest. `switch.json` sets the hash seed, which SONiC keeps in its application database and not in the
//! configuration. `beyond-sonic.json` holds what no table says: port ids of LACP, host routes learned from ARP, BFD of
//! sessions, and the remedy for a dead control plane.

mod names;
mod qos;
mod read;
mod write;

use super::ConfigFile;
use super::plan::FabricPlan;

pub use read::{SonicQos, SonicSwitch, read};

/// The configuration database.
const DATABASE: &str = "config_db.json";
/// The hash seed.
const SEED: &str = "switch.json";
/// What SONiC has no table for.
const BEYOND: &str = "beyond-sonic.json";

/// Folders of all switches: `leaf-0/config_db.json` and so on.
pub fn files(plan: &FabricPlan) -> Vec<ConfigFile> {
    let mut files = Vec::new();
    for switch in &plan.switches {
        let texts = [
            (DATABASE, write::database(switch, &plan.lossless)),
            (SEED, write::seed(switch)),
            (BEYOND, write::beyond(switch)),
        ];
        for (name, value) in texts {
            files.push(ConfigFile::new(format!("{}/{name}", switch.name), format!("{value:#}\n")));
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use railtwin_fabric::Fabric;
    use railtwin_fabric::preset::{FatTree, Hpn, LeafSpine};
    use serde_json::Value;

    use super::*;
    use crate::switch_config::{BgpTimers, PlanOptions};

    fn of_switch(files: &[ConfigFile], name: &str) -> Vec<(String, Vec<u8>)> {
        let own = files.iter().filter_map(|file| {
            let (folder, file_name) = file.path.split_once('/')?;
            (folder == name).then(|| (file_name.to_owned(), file.text.clone().into_bytes()))
        });
        own.collect()
    }

    fn fabrics() -> Vec<Fabric> {
        let hpn = Hpn { segments: Some(2), hosts: Some(2), spines: Some(3), ..Hpn::default() };
        let fabrics = [
            hpn.build(),
            Hpn { dual_tor: false, ..hpn.clone() }.build(),
            Hpn { pods: 2, segments: Some(1), spines: Some(4), cores: Some(4), ..hpn }.build(),
            LeafSpine { leaves: 4, hosts_per_leaf: 2, uplinks: 2, ..LeafSpine::default() }.build(),
            FatTree { k: 4, ..FatTree::default() }.build(),
        ];
        fabrics.into_iter().map(|fabric| fabric.expect("valid")).collect()
    }

    #[test]
    fn what_is_written_reads_back_as_an_equal_plan() {
        let usual = PlanOptions::default();
        let bfd = BgpTimers { bfd: Some((100, 3)), ..BgpTimers::default() };
        for fabric in fabrics() {
            for options in [usual, PlanOptions { timers: bfd, pinned: true, ..usual }] {
                let plan = FabricPlan::new(&fabric, &options).expect("small");
                let files = files(&plan);
                for switch in &plan.switches {
                    let read = read(&switch.name, &of_switch(&files, &switch.name)).expect("it is ours");
                    assert_eq!(read.switch, *switch);
                    assert_eq!(read.qos.class(), Some(plan.lossless));
                }
            }
        }
    }

    /// Every value of a table is a text, a list of texts, or a record of these, as SONiC has it.
    #[test]
    fn all_values_are_texts() {
        let plan = FabricPlan::new(&fabrics()[0], &PlanOptions::default()).expect("small");
        for file in files(&plan).iter().filter(|file| file.path.ends_with(DATABASE)) {
            let database: Value = serde_json::from_str(&file.text).expect("JSON");
            for (table, rows) in database.as_object().expect("tables") {
                for (key, fields) in rows.as_object().expect("rows") {
                    for (field, value) in fields.as_object().expect("fields") {
                        let is_list = value.as_array().is_some_and(|list| list.iter().all(Value::is_string));
                        assert!(value.is_string() || is_list, "{table}|{key} {field}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_damaged_value_is_refused_with_its_place() {
        let plan = FabricPlan::new(&fabrics()[0], &PlanOptions::default()).expect("small");
        let mut own = of_switch(&files(&plan), "leaf-0");
        let text = String::from_utf8(own[0].1.clone()).expect("text").replace("\"64512\"", "\"x\"");
        own[0].1 = text.into_bytes();
        let error = read("leaf-0", &own).expect_err("no AS number").to_string();
        assert_eq!(
            error,
            "leaf-0/config_db.json: DEVICE_METADATA|localhost bgp_asn: \"x\" is not a number that fits; write a whole number as text"
        );
        let missing = read("leaf-0", &own[1..]).expect_err("no database").to_string();
        assert!(missing.contains("has no config_db.json"), "{missing}");
    }

    proptest! {
        #[test]
        fn no_bytes_panic(at in 0..40_000_usize, byte: u8, cut in 0..40_000_usize) {
            let fabric = Hpn { segments: Some(1), hosts: Some(1), spines: Some(1), ..Hpn::default() }.build().expect("small");
            let plan = FabricPlan::new(&fabric, &PlanOptions::default()).expect("small");
            let own = of_switch(&files(&plan), "leaf-0");
            for file in 0..own.len() {
                let mut damaged = own.clone();
                let length = damaged[file].1.len();
                damaged[file].1[at % length] = byte;
                let _ = read("leaf-0", &damaged);
                damaged[file].1.truncate(cut % length);
                let _ = read("leaf-0", &damaged);
            }
        }
    }
}
