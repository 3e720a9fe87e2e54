//! Double binary trees among hosts, as NCCL lays them (Sanders, Speck, Träff 2009: two trees in which every
//! member but one is a leaf of one tree and inside the other, so that each carries half of the data).

/// Parent of `member` in an in-order binary tree of `members`; none for the root, which is member 0.
///
/// The lowest set bit of a member's number tells its height; its parent has the next bit instead.
pub fn parent(member: u32, members: u32) -> Option<u32> {
    if member == 0 {
        return None;
    }
    let bit = member & member.wrapping_neg();
    let up = (member ^ bit) | (bit << 1);
    Some(if up < members { up } else { member ^ bit })
}

/// Child and parent of every edge of the two trees. The second is the first shifted by one for an odd number of
/// members and mirrored for an even one.
pub fn double_binary_tree(members: u32) -> [Vec<(u32, u32)>; 2] {
    let edges = |rename: &dyn Fn(u32) -> u32| -> Vec<(u32, u32)> {
        let all = (0..members).filter_map(|member| Some((member, parent(member, members)?)));
        all.map(|(child, parent)| (rename(child), rename(parent))).collect()
    };
    let other = |member: u32| match members % 2 {
        0 => members - 1 - member,
        _ => (member + 1) % members,
    };
    [edges(&|member| member), edges(&other)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn both_trees_span_all_members(members in 2u32..200) {
            for tree in double_binary_tree(members) {
                prop_assert_eq!(tree.len() as u32, members - 1);
                for &(mut member, _) in &tree {
                    // Every way up ends at the one member without a parent.
                    for _ in 0..members {
                        match tree.iter().find(|edge| edge.0 == member) {
                            Some(&(_, up)) => member = up,
                            None => break,
                        }
                    }
                    prop_assert!(tree.iter().all(|edge| edge.0 != member));
                }
            }
        }

        #[test]
        fn no_member_carries_more_than_twice_its_data(members in 2u32..200) {
            // Half of the data on each edge, up and down: at most four halves out of any member.
            let trees = double_binary_tree(members);
            for member in 0..members {
                let edges = trees.iter().flatten().filter(|&&(a, b)| a == member || b == member).count();
                prop_assert!(edges <= 5, "{} edges at {}", edges, member);
            }
            let edges: usize = trees.iter().map(Vec::len).sum();
            prop_assert_eq!(edges as u32, 2 * (members - 1));
        }

        #[test]
        fn every_member_is_a_leaf_of_one_tree_and_inside_the_other(members in 2u32..200) {
            let trees = double_binary_tree(members);
            let inside = |tree: &Vec<(u32, u32)>, member| tree.iter().any(|edge| edge.1 == member);
            let both = (0..members).filter(|&m| inside(&trees[0], m) && inside(&trees[1], m)).count();
            let none = (0..members).filter(|&m| !inside(&trees[0], m) && !inside(&trees[1], m)).count();
            // An odd number leaves one member inside both.
            prop_assert_eq!((both as u32, none), (members % 2, 0));
        }

        #[test]
        fn no_way_up_is_longer_than_the_logarithm_of_the_members(members in 2u32..2_000) {
            let depth = members.next_power_of_two().trailing_zeros();
            for member in 0..members {
                let way = std::iter::successors(Some(member), |&at| parent(at, members)).count() as u32 - 1;
                prop_assert!(way <= depth, "{} of {}", member, members);
            }
        }
    }
}
