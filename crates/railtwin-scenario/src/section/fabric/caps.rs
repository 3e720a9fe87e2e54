//! The intra-host caps of a case: those of the scenario, and those of the host model where it asks for them.
use railtwin_engine::IntraHostCap;
use railtwin_fabric::Fabric;

use super::host_caps::{models, of_model};
use crate::{CapSpec, HostCaps, Scenario, ScenarioError, Source};

impl From<&CapSpec> for IntraHostCap {
    fn from(spec: &CapSpec) -> Self {
        Self {
            collective: spec.collective,
            algorithm: spec.algorithm,
            host_model: spec.host.clone(),
            busbw: spec.busbw.bytes_per_s(),
        }
    }
}

impl Scenario {
    /// All caps; a `[[cap]]` that holds for a host model replaces what is known of that model.
    pub(crate) fn all_caps(
        &self,
        fabric: &Fabric,
        source: Source<'_>,
    ) -> Result<Vec<CapSpec>, ScenarioError> {
        let host = self.fabric.host().filter(|host| host.caps == Some(HostCaps::Measured));
        let Some(host) = host else {
            return Ok(self.caps.clone());
        };
        let refuse = |message: String| Err(source.error("fabric.host.caps", message, Some("write [[cap]]")));
        let changed = [("gpus", host.gpus.is_some()), ("nvlink", host.nvlink.is_some())];
        if let Some((key, _)) = changed.into_iter().find(|(_, changed)| *changed) {
            return refuse(format!("the caps of a host model do not hold for one with other {key}"));
        }
        let mut caps = self.caps.clone();
        for model in fabric.host_models() {
            let known = of_model(&model.name);
            if known.is_empty() {
                let names = models().join(", ");
                return refuse(format!("no caps are known of {}, but of {names}", model.name));
            }
            caps.extend(known.into_iter().filter(|known| {
                !self.caps.iter().any(|own| {
                    (own.collective, own.algorithm) == (known.collective, known.algorithm)
                        && own.host.as_ref().is_none_or(|name| *name == model.name)
                })
            }));
        }
        Ok(caps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expand;

    fn caps(text: &str) -> Result<Vec<(String, u64)>, String> {
        let text = format!("schema = 1\nname = \"caps\"\n{text}");
        let points = expand("caps.toml", &text).unwrap();
        let source = Source { file: "caps.toml", text: &text };
        let case = points[0].scenario.resolve(source, &|path| Err(path.to_owned()));
        let case = case.map_err(|error| error.to_string())?;
        let name = |cap: &IntraHostCap| {
            (format!("{} {}", cap.collective.name(), cap.algorithm.name()), (cap.busbw / 1e9) as u64)
        };
        Ok(case.caps.iter().map(name).collect())
    }

    const FABRIC: &str = "[fabric]\npreset = \"leaf-spine\"\nleaves = 2\nhosts_per_leaf = 2\nuplinks = 2\n";
    const CAP: &str = "[[cap]]\ncollective = \"all-reduce\"\nalgorithm = \"nvls\"\nbusbw = \"100 GB/s\"\n";

    #[test]
    fn the_caps_of_the_model_are_added_only_when_asked_for() {
        assert_eq!(caps(FABRIC), Ok(vec![]));
        assert_eq!(caps(&format!("{FABRIC}[fabric.host]\ncaps = \"none\"\n")), Ok(vec![]));
        let measured = caps(&format!("{FABRIC}[fabric.host]\ncaps = \"measured\"\n")).unwrap();
        assert!(measured.contains(&("all-reduce nvls".to_owned(), 362)));
        assert!(measured.contains(&("all-gather ring".to_owned(), 200)));
    }

    #[test]
    fn a_cap_of_the_scenario_replaces_that_of_the_model() {
        let own = caps(&format!("{FABRIC}[fabric.host]\ncaps = \"measured\"\n{CAP}")).unwrap();
        let nvls: Vec<u64> = own.iter().filter(|cap| cap.0 == "all-reduce nvls").map(|cap| cap.1).collect();
        assert_eq!(nvls, [100]);
        let other = caps(&format!("{FABRIC}[fabric.host]\ncaps = \"measured\"\n{CAP}host = \"hgx-a100\"\n"));
        assert!(other.unwrap().contains(&("all-reduce nvls".to_owned(), 362)));
    }

    #[test]
    fn caps_of_what_nobody_measured_are_refused() {
        let plain = caps(&format!("{FABRIC}[fabric.host]\nmodel = \"plain\"\ncaps = \"measured\"\n"));
        assert!(plain.unwrap_err().contains("no caps are known of plain"));
        let changed = caps(&format!("{FABRIC}[fabric.host]\nnvlink = \"900 Gbps\"\ncaps = \"measured\"\n"));
        assert!(changed.unwrap_err().contains("other nvlink"));
    }
}
