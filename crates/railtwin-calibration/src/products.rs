//! The host model of a GPU, by its product name in a log.
use railtwin_fabric::HostModel;

/// Products as CUDA names them, in small letters and without `nvidia`, and the host model that they stand in.
///
/// PCIe cards and NVL pairs have no NVSwitch, so that their names are not among these. An H200 has the NVLink of an H100,
/// and its usual host the same NICs.
const PRODUCTS: [(&str, &str); 5] = [
    ("h100 80gb hbm3", "hgx-h100"),
    ("h200", "hgx-h100"),
    ("h800", "hgx-h800"),
    ("a100-sxm4-80gb", "hgx-a100"),
    ("a100-sxm4-40gb", "hgx-a100"),
];

/// The host model of a GPU by its name in a log, such as `NVIDIA H100 80GB HBM3`; none where it is not clear.
pub fn model_of_product(product: &str) -> Option<HostModel> {
    let small = product.trim().to_ascii_lowercase();
    let bare = small.strip_prefix("nvidia").unwrap_or(&small).trim();
    let (_, model) = PRODUCTS.into_iter().find(|(name, _)| *name == bare)?;
    HostModel::named(model)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(product: &str) -> Option<String> {
        model_of_product(product).map(|model| model.name)
    }

    #[test]
    fn products_without_an_nvswitch_have_no_model() {
        assert_eq!(name("NVIDIA H100 80GB HBM3").as_deref(), Some("hgx-h100"));
        assert_eq!(name("NVIDIA A100-SXM4-40GB").as_deref(), Some("hgx-a100"));
        assert_eq!(name("NVIDIA H200").as_deref(), Some("hgx-h100"));
        for other in ["NVIDIA H100 PCIe", "NVIDIA H100 NVL", "Tesla V100", "H100", ""] {
            assert_eq!(name(other), None, "{other}");
        }
    }
}
