//! The links that data takes inside a host: over NVLink and its switch, or over PCIe switches and the root complex.
//!
//! A host of PCIe switches is a tree: GPUs and NICs below switches, switches below the root complex (as NVIDIA's DGX A100
//! user guide draws them, two GPUs and their NICs behind a switch). Every link of it is shared by all that crosses it,
//! whichever job that is.
use crate::graph::{DeviceId, Fabric, HostId, LinkId};

impl Fabric {
    /// Links from GPU `source` to GPU `target` of a host, in order: over NVLink where the host has it, else over its PCIe
    /// switches. Empty where nothing joins them inside the host, and from a GPU to itself.
    pub fn inside_path(&self, host: HostId, source: u32, target: u32) -> Vec<LinkId> {
        let model = self.host_model(host);
        if source == target {
            return Vec::new();
        }
        if model.has_nvswitch() {
            let up = |gpu: u32| self.neighbors(self.gpu(host, gpu))[0].0;
            return vec![up(source), up(target).reverse()];
        }
        if model.pcie_switches == 0 {
            return Vec::new();
        }
        self.over_pcie(self.gpu(host, source), self.gpu(host, target))
    }

    /// Links from GPU `gpu` of a host into its NIC `nic`, in order. Where NICs hang on GPUs that is the link into the NIC,
    /// whichever GPU it is: from another one data comes over NVLink, which is told apart.
    pub fn into_nic(&self, host: HostId, gpu: u32, nic: u32) -> Vec<LinkId> {
        let to = self.nic(host, nic);
        if self.host_model(host).pcie_switches > 0 {
            return self.over_pcie(self.gpu(host, gpu), to);
        }
        self.pcie_into(to).into_iter().collect()
    }

    /// The last link into a NIC from the GPUs of its host, which all that leaves by it shares; none for a NIC of the
    /// frontend or of a storage host, which no GPU is beside.
    pub fn pcie_into(&self, nic: DeviceId) -> Option<LinkId> {
        self.first_inside(nic).map(LinkId::reverse)
    }

    /// The PCIe link of a GPU or a NIC, from it; none where it has none.
    fn first_inside(&self, device: DeviceId) -> Option<LinkId> {
        let is_pcie = |link: LinkId| self.cable_class(link.cable()) == crate::CableClass::Pcie;
        self.neighbors(device).iter().map(|&(link, _)| link).find(|&link| is_pcie(link))
    }

    /// Links between two devices below PCIe switches: up to the first switch that both are below, and down again.
    fn over_pcie(&self, source: DeviceId, target: DeviceId) -> Vec<LinkId> {
        let (Some(up), Some(down)) = (self.first_inside(source), self.first_inside(target)) else {
            return Vec::new();
        };
        let (one, other) = (self.target(up), self.target(down));
        if one == other {
            return vec![up, down.reverse()];
        }
        // The last port of a switch is its way to the root complex.
        let root = |switch: DeviceId| self.neighbors(switch).last().map(|&(link, _)| link);
        let (Some(first), Some(second)) = (root(one), root(other)) else { return Vec::new() };
        vec![up, first, second.reverse(), down.reverse()]
    }
}

#[cfg(test)]
mod tests {
    use railtwin_units::Rate;

    use crate::preset::LeafSpine;
    use crate::{Fabric, HostId, HostSpec, LinkId};

    fn fabric(nvlink: Option<Rate>) -> Fabric {
        let host = HostSpec { nics: Some(4), pcie_switches: Some(4), nvlink, ..HostSpec::named("hgx-a100") };
        LeafSpine { leaves: 2, hosts_per_leaf: 2, host, ..LeafSpine::default() }.build().unwrap()
    }

    fn names(fabric: &Fabric, links: &[LinkId]) -> Vec<String> {
        links.iter().map(|&link| fabric.device_name(fabric.target(link))).collect()
    }

    #[test]
    fn pairs_of_gpus_share_a_switch_and_its_nic() {
        let fabric = fabric(Some(Rate::ZERO));
        let host = HostId(1);
        let own = fabric.into_nic(host, 3, 1);
        assert_eq!(names(&fabric, &own), ["host-1/pcie-1", "host-1/nic-1"]);
        let far = fabric.into_nic(host, 3, 0);
        assert_eq!(
            names(&fabric, &far),
            ["host-1/pcie-1", "host-1/pcie-root", "host-1/pcie-0", "host-1/nic-0"]
        );
        assert_eq!(names(&fabric, &fabric.inside_path(host, 4, 5)), ["host-1/pcie-2", "host-1/gpu-5"]);
        assert_eq!(fabric.inside_path(host, 4, 7).len(), 4);
        assert!(fabric.inside_path(host, 4, 4).is_empty());
        // Each link begins where the one before ends, and both directions are other links.
        for links in [own, far, fabric.inside_path(host, 0, 7)] {
            assert!(links.windows(2).all(|two| fabric.target(two[0]) == fabric.source(two[1])));
        }
        assert_eq!(fabric.inside_path(host, 0, 7)[0], fabric.inside_path(host, 7, 0)[3].reverse());
    }

    #[test]
    fn nvlink_is_taken_where_there_is_one_and_nics_keep_their_way_without_switches() {
        let fabric = fabric(None);
        assert_eq!(names(&fabric, &fabric.inside_path(HostId(0), 0, 7)), ["host-0/nvswitch", "host-0/gpu-7"]);
        let plain = LeafSpine::default().build().unwrap();
        let links = plain.into_nic(HostId(0), 5, 5);
        assert_eq!(names(&plain, &links), ["host-0/nic-5"]);
        assert_eq!(plain.into_nic(HostId(0), 2, 5), links);
    }
}
