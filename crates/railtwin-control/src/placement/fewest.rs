//! The fewest groups that hold a number of GPUs.

/// Keys of the fewest groups that hold `wanted` together, ascending. Groups are given by key and capacity; one that holds
/// all alone is the tightest such. Otherwise all but one are the largest, and the last is the tightest that completes
/// them. All groups where they do not hold as much.
pub(super) fn fewest(groups: &[(u32, u32)], wanted: u32) -> Vec<u32> {
    let mut by_size: Vec<(u32, u32)> = groups.to_vec();
    by_size.sort_unstable_by_key(|&(key, capacity)| (std::cmp::Reverse(capacity), key));
    let (mut held, mut count) = (0_u64, 0);
    while count < by_size.len() && held < u64::from(wanted) {
        held += u64::from(by_size[count].1);
        count += 1;
    }
    let mut chosen: Vec<u32> = by_size[..count].iter().map(|group| group.0).collect();
    if held >= u64::from(wanted) && count > 0 {
        let rest = u64::from(wanted) - (held - u64::from(by_size[count - 1].1));
        let fits = by_size[count - 1..].iter().filter(|group| u64::from(group.1) >= rest);
        if let Some(&(key, _)) = fits.min_by_key(|&&(key, capacity)| (capacity, key)) {
            chosen[count - 1] = key;
        }
    }
    chosen.sort_unstable();
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_tightest_that_holds_all_is_taken() {
        let groups = [(0, 9), (1, 4), (2, 6), (3, 6)];
        assert_eq!(fewest(&groups, 4), [1]);
        assert_eq!(fewest(&groups, 5), [2]);
        // 9 and the tightest of those that hold the rest.
        assert_eq!(fewest(&groups, 12), [0, 1]);
        assert_eq!(fewest(&groups, 26), [0, 1, 2, 3]);
        assert_eq!(fewest(&groups, 0), [0; 0]);
    }

    proptest! {
        #[test]
        fn no_smaller_set_holds_as_much(sizes in prop::collection::vec(0u32..12, 1..9), wanted in 1u32..60) {
            let groups: Vec<(u32, u32)> = (0..).zip(sizes.iter().copied()).collect();
            let held = |set: u32| -> u32 { groups.iter().filter(|g| set >> g.0 & 1 == 1).map(|g| g.1).sum() };
            let least = (0..1_u32 << sizes.len()).filter(|&set| held(set) >= wanted).map(u32::count_ones).min();
            let chosen = fewest(&groups, wanted);
            prop_assert_eq!(chosen.len() as u32, least.unwrap_or(sizes.len() as u32));
            let sum: u32 = chosen.iter().map(|key| sizes[*key as usize]).sum();
            prop_assert!(least.is_none() || sum >= wanted);
        }
    }
}
