//! Orders what waits for each other, or finds the circle that has no order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// All items so that each follows what it waits for; of those free at once the lowest key comes first.
///
/// # Errors
/// A circle: each item waits for the next, the last for the first.
pub(crate) fn ordered(waits_for: &[Vec<u32>], key: impl Fn(u32) -> u64) -> Result<Vec<u32>, Vec<u32>> {
    let mut waiting: Vec<u32> = waits_for.iter().map(|list| list.len() as u32).collect();
    let mut start = vec![0_u32; waits_for.len() + 1];
    for &dependency in waits_for.iter().flatten() {
        start[dependency as usize + 1] += 1;
    }
    for item in 0..waits_for.len() {
        start[item + 1] += start[item];
    }
    let mut fill = start.clone();
    let mut followers = vec![0_u32; start[waits_for.len()] as usize];
    for (item, list) in waits_for.iter().enumerate() {
        for &dependency in list {
            let slot = &mut fill[dependency as usize];
            followers[*slot as usize] = item as u32;
            *slot += 1;
        }
    }
    let free = (0..waits_for.len() as u32).filter(|&item| waiting[item as usize] == 0);
    let mut free: BinaryHeap<Reverse<(u64, u32)>> = free.map(|item| Reverse((key(item), item))).collect();
    let mut order = Vec::with_capacity(waits_for.len());
    while let Some(Reverse((_, item))) = free.pop() {
        order.push(item);
        for &follower in &followers[start[item as usize] as usize..start[item as usize + 1] as usize] {
            waiting[follower as usize] -= 1;
            if waiting[follower as usize] == 0 {
                free.push(Reverse((key(follower), follower)));
            }
        }
    }
    if order.len() == waits_for.len() { Ok(order) } else { Err(circle(waits_for, &waiting)) }
}

/// A circle among the items that still wait: each of them waits for another one, so a walk along the
/// dependencies comes back to where it was.
fn circle(waits_for: &[Vec<u32>], waiting: &[u32]) -> Vec<u32> {
    let stuck = |&item: &u32| waiting[item as usize] > 0;
    let mut step_of = vec![u32::MAX; waits_for.len()];
    let mut walk: Vec<u32> = Vec::new();
    let mut at = (0..waits_for.len() as u32).find(stuck);
    while let Some(item) = at {
        if step_of[item as usize] != u32::MAX {
            return walk.split_off(step_of[item as usize] as usize);
        }
        step_of[item as usize] = walk.len() as u32;
        walk.push(item);
        at = waits_for[item as usize].iter().copied().find(stuck);
    }
    walk
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lowest_key_first_among_the_free() {
        let waits_for = [vec![2], vec![], vec![], vec![0, 1]];
        assert_eq!(ordered(&waits_for, u64::from), Ok(vec![1, 2, 0, 3]));
        assert_eq!(ordered(&waits_for, |item| 9 - u64::from(item)), Ok(vec![2, 1, 0, 3]));
        assert_eq!(ordered(&[], u64::from), Ok(vec![]));
    }

    #[test]
    fn a_circle_is_named_without_what_hangs_on_it() {
        let waits_for = [vec![1], vec![2], vec![3, 4], vec![1], vec![]];
        assert_eq!(ordered(&waits_for, u64::from), Err(vec![1, 2, 3]));
        assert_eq!(ordered(&[vec![0]], u64::from), Err(vec![0]));
    }
}
