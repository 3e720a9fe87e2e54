//! Files that are empty, damaged or of another form, through the registry: each is refused with its name.
use railtwin_fabric::preset::FatTree;
use railtwin_topology::{FORMS, Form, SourceFile, Topology, WriteOptions, named, read_as};

/// Pairs of forms whose files are read by one another: form of the file, form that reads it.
const ALIKE: [(&str, &str); 3] = [("connectivity-map", "cables"), ("simai", "hpcc"), ("hpcc", "simai")];

const LLDP: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/wiring/lldp/compute-001.json"));

fn readers() -> impl Iterator<Item = &'static Form> {
    FORMS.iter().filter(|form| form.read.is_some())
}

/// A file of each form that writes, and of some that are only read.
fn files() -> Vec<(&'static str, String)> {
    let fabric = FatTree { k: 4, ..FatTree::default() }.build().expect("a small fat tree");
    let topology = Topology::of_fabric(&fabric);
    let mut files = Vec::new();
    for form in FORMS {
        let Some(write) = form.write else { continue };
        // Hedgehog has no cores.
        let Ok(written) = write(&topology, &WriteOptions::default()) else { continue };
        files.extend(written.into_iter().take(1).map(|file| (form.name, file.text)));
    }
    files.push(("lldp", LLDP.to_owned()));
    files.push(("sonic-config-db", CONFIG_DB.to_owned()));
    files
}

const CONFIG_DB: &str = r#"{"DEVICE_METADATA": {"localhost": {"hostname": "leaf-1", "type": "ToRRouter"}},
    "PORT": {"Ethernet0": {"alias": "etp1", "speed": "400000", "admin_status": "up"}},
    "DEVICE_NEIGHBOR": {"Ethernet0": {"name": "server-1", "port": "eth0"}}}"#;

#[test]
fn empty_files_are_refused_by_every_form() {
    for form in readers() {
        for bytes in [&b""[..], b" ", b"\n", b" \t\r\n\x0c\n ", b"\xef\xbb\xbf", b"\xef\xbb\xbf\r\n", b"\0\0"]
        {
            let error = read_as(Some(form), &[SourceFile { name: "dir/empty.file", bytes }]);
            let error = error.expect_err(form.name).to_string();
            assert!(error.starts_with("dir/empty.file"), "{}: {error}", form.name);
            assert!(error.contains("is empty") && error.contains(form.title), "{}: {error}", form.name);
        }
        let error = read_as(Some(form), &[]).expect_err(form.name).to_string();
        assert!(error.contains("no file is given"), "{}: {error}", form.name);
    }
    let error = read_as(None, &[SourceFile { name: "x", bytes: b"\n" }]).expect_err("no form").to_string();
    assert!(error.contains("is empty") && error.contains("ibnetdiscover"), "{error}");
}

#[test]
fn files_of_another_form_are_refused_by_every_form() {
    let mut bad = Vec::new();
    for (of, text) in files() {
        for form in readers().filter(|form| form.name != of && !ALIKE.contains(&(of, form.name))) {
            match read_as(Some(form), &[SourceFile { name: "dir/other.file", bytes: text.as_bytes() }]) {
                Ok(topology) => bad.push(format!("{of} read as {}: {:?}", form.name, topology.counts())),
                Err(error) if !error.to_string().starts_with("dir/other.file") => {
                    bad.push(format!("{of} read as {}: {error}", form.name));
                }
                Err(_) => {}
            }
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

#[test]
fn words_and_numbers_are_refused_by_every_form() {
    let texts =
        ["hello\n", "{}", "[]", "null", "0", "a,b,c\n1,2,3\n", "# a comment\n", "---\n", "<a/>", "\"x\""];
    let mut bad = Vec::new();
    for form in readers() {
        for text in texts {
            match read_as(Some(form), &[SourceFile { name: "dir/other.file", bytes: text.as_bytes() }]) {
                Ok(topology) => bad.push(format!("{text:?} as {}: {:?}", form.name, topology.counts())),
                Err(error) if !error.to_string().starts_with("dir/other.file") => {
                    bad.push(format!("{text:?} as {}: {error}", form.name));
                }
                Err(_) => {}
            }
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

#[test]
fn one_damaged_file_of_a_folder_leaves_the_others() {
    let other = CONFIG_DB.replace("leaf-1", "leaf-2").replace("server-1", "server-2");
    let cut = &CONFIG_DB[..60];
    for (form, good, more) in [("lldp", LLDP, LLDP), ("sonic-config-db", CONFIG_DB, &other)] {
        for damaged in [&b""[..], cut.as_bytes(), b"\0\x01\xff", b"\n", b"Connection to leaf-9 refused\n"] {
            let sources = [
                SourceFile { name: "f/leaf-1.json", bytes: good.as_bytes() },
                SourceFile { name: "f/leaf-9.json", bytes: damaged },
                SourceFile { name: "f/leaf-2.json", bytes: more.as_bytes() },
            ];
            let form = named(form).expect("a form");
            let topology = read_as(Some(form), &sources).expect("two files are whole");
            let whole = read_as(Some(form), &[sources[0], sources[2]]).expect("both files are whole");
            assert_eq!(topology.counts(), whole.counts(), "{}: {damaged:?}", form.name);
            let found: Vec<&str> = topology
                .findings
                .iter()
                .filter(|finding| finding.kind == "unreadable-file")
                .map(|finding| finding.device.as_str())
                .collect();
            assert_eq!(found, ["f/leaf-9.json"], "{}: {damaged:?}", form.name);
            let error = read_as(Some(form), &[sources[1]]).expect_err("none is whole").to_string();
            assert!(error.starts_with("f/leaf-9.json"), "{error}");
        }
    }
}
