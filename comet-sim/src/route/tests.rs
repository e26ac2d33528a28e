//! Routes against naive ones that go from node to node.

use std::collections::HashMap;

use comet_core::topology::{Mesh, Topology};
use proptest::prelude::*;

use super::*;

/// A switch or a rank, by whatever names it in its shape.
type Node = Vec<usize>;

/// A link: where it starts, where it ends, and which of several between the two it is.
type Link = (Node, Node, usize);

#[test]
fn a_crossbar_has_one_link_to_each_rank() {
    let routes = Routes::new(&Shape::Flat, 5).unwrap();
    assert_eq!(routes.n_links(), 5);
    assert_eq!(route(&routes, 1, 4), [4]);
    assert_eq!(route(&routes, 4, 4), []);
}

#[test]
fn a_hypercube_takes_the_lowest_dimension_first() {
    let routes = Routes::new(&Shape::Hypercube, 8).unwrap();
    assert_eq!(routes.n_links(), 24);
    // Corners 1, 0 and 4 are left by the dimensions 0, 2 and 1.
    assert_eq!(route(&routes, 1, 6), [3, 1, 2 * 3 + 2]);
}

#[test]
fn a_torus_takes_the_shorter_way_and_ties_go_upwards() {
    let check = |from, to, expected: &[usize]| {
        let routes = Routes::new(&Shape::Torus(TorusDims::Given(vec![4, 3])), 12).unwrap();
        assert_eq!(route(&routes, from, to), expected, "from {from} to {to}");
    };
    check(0, 2, &[0, 4]);
    check(2, 0, &[8, 12]);
    check(0, 3, &[1]);
    check(1, 8, &[5, 3]);
}

#[test]
fn a_fat_tree_goes_up_by_the_digits_of_the_destination() {
    let check = |from, to, expected: &[usize]| {
        let routes = Routes::new(&Shape::FatTree { radix: 2 }, 8).unwrap();
        assert_eq!(routes.n_links(), 5 * 8);
        assert_eq!(route(&routes, from, to), expected, "from {from} to {to}");
    };
    check(2, 3, &[16 + 3]);
    check(0, 3, &[1, 24 + 3, 16 + 3]);
    check(1, 6, &[0, 8 + 2, 32 + 6, 24 + 6, 16 + 6]);
}

#[test]
fn dimensions_are_as_equal_as_the_factors_allow() {
    let check = |n_ranks, expected: &[usize]| {
        assert_eq!(near_equal(n_ranks, expected.len()), expected, "{n_ranks} ranks");
    };
    check(1, &[1, 1]);
    check(7, &[7, 1]);
    check(12, &[4, 3]);
    check(24, &[4, 3, 2]);
    check(64, &[4, 4, 4]);
    check(65_536, &[64, 32, 32]);
    check(65_537, &[65_537, 1, 1]);
    check(1 << 20, &[1024, 1024]);
}

#[test]
fn networks_that_the_ranks_do_not_fill_are_refused() {
    let check = |shape: Shape, expected: &str| {
        assert_eq!(Routes::new(&shape, 12).unwrap_err(), expected);
    };
    check(
        Shape::Torus(TorusDims::Given(vec![4, 4])),
        "a torus of 4 x 4 does not hold 12 ranks exactly (give dimensions whose product is 12)",
    );
    check(Shape::FatTree { radix: 0 }, "a fat tree needs switches of at least 2 children, got 0");
}

#[test]
fn links_are_few_enough_for_many_ranks() {
    let check = |shape: Shape, n_ranks: usize, expected| {
        assert_eq!(Routes::new(&shape, n_ranks).unwrap().n_links(), expected, "{shape:?}");
    };
    check(Shape::Hypercube, 65_536, 16 * 65_536);
    check(Shape::Torus(TorusDims::Auto(3)), 65_536, 6 * 65_536);
    check(Shape::FatTree { radix: 16 }, 65_536, 7 * 65_536);
    // A fifth level with one switch more than there are ranks to fill: not 16 times as many links.
    check(Shape::FatTree { radix: 16 }, 65_537, 9 * 2 * 65_536);
}

proptest! {
    #[test]
    fn routes_are_those_that_go_from_node_to_node_and_as_long_as_the_topology_says(
        (shape, n_ranks) in networks(),
    ) {
        let routes = Routes::new(&shape, n_ranks).unwrap();
        let topology = Topology::with_metric(Mesh::gray(n_ranks), routes.metric().clone()).unwrap();
        let mut by_number: HashMap<usize, Link> = HashMap::new();
        let mut by_link: HashMap<Link, usize> = HashMap::new();
        for (from, to) in pairs(n_ranks) {
            let links = walk(routes.metric(), n_ranks, from, to);
            prop_assert!(links.windows(2).all(|pair| pair[0].1 == pair[1].0));
            prop_assert!(links.last().is_none_or(|link| link.1 == rank_node(to)));
            let numbers = route(&routes, from, to);
            let hops = topology.hops(from, to);
            prop_assert_eq!((numbers.len(), links.len()), (hops, hops));
            prop_assert_eq!((routes.hops(from, to), routes.hops(to, from)), (hops, hops));
            for (number, link) in numbers.into_iter().zip(links) {
                prop_assert!(number < routes.n_links());
                prop_assert_eq!(by_number.entry(number).or_insert_with(|| link.clone()), &link);
                prop_assert_eq!(*by_link.entry(link).or_insert(number), number);
            }
        }
    }

    #[test]
    fn circuits_on_a_hypercube_cannot_wait_in_a_circle(n_ranks in 1usize..70) {
        let routes = Routes::new(&Shape::Hypercube, n_ranks).unwrap();
        let n_dims = n_ranks.next_power_of_two().ilog2() as usize;
        for (from, to) in pairs(n_ranks) {
            let dims: Vec<_> = route(&routes, from, to).iter().map(|link| link % n_dims).collect();
            prop_assert!(dims.is_sorted_by(|a, b| a < b), "{:?}", dims);
        }
    }
}

/// Shapes, and numbers of ranks that they hold.
fn networks() -> impl Strategy<Value = (Shape, usize)> {
    let dims = prop::collection::vec(1usize..6, 1..4);
    let given = |dims: Vec<usize>| {
        let n_ranks = dims.iter().product();
        (Shape::Torus(TorusDims::Given(dims)), n_ranks)
    };
    let auto = (1usize..4, 1usize..70);
    let tree = (2usize..6, 1usize..70);
    prop_oneof![
        (1usize..70).prop_map(|n_ranks| (Shape::Flat, n_ranks)),
        (1usize..70).prop_map(|n_ranks| (Shape::Hypercube, n_ranks)),
        dims.prop_map(given),
        auto.prop_map(|(n_dims, n_ranks)| (Shape::Torus(TorusDims::Auto(n_dims)), n_ranks)),
        tree.prop_map(|(radix, n_ranks)| (Shape::FatTree { radix }, n_ranks)),
    ]
}

fn pairs(n_ranks: usize) -> impl Iterator<Item = (Rank, Rank)> {
    (0..n_ranks).flat_map(move |from| (0..n_ranks).map(move |to| (from, to)))
}

fn route(routes: &Routes, from: Rank, to: Rank) -> Vec<usize> {
    (0..).map_while(|step| routes.next(from, to, step)).collect()
}

/// The links of a route as one would follow them with a finger.
fn walk(metric: &Metric, n_ranks: usize, from: Rank, to: Rank) -> Vec<Link> {
    match metric {
        Metric::Hypercube => walk_hypercube(from, to),
        Metric::Torus(dims) => walk_torus(dims, from, to),
        Metric::FatTree { radix } => walk_fat_tree(*radix, n_ranks, from, to),
        _ if from == to => vec![],
        _ => vec![(vec![], rank_node(to), 0)],
    }
}

fn rank_node(rank: Rank) -> Node {
    vec![rank]
}

fn walk_hypercube(from: Rank, to: Rank) -> Vec<Link> {
    let mut at = from;
    let mut links = vec![];
    for bit in (0..usize::BITS).filter(|bit| (from ^ to) >> bit & 1 == 1) {
        links.push((rank_node(at), rank_node(at ^ 1 << bit), 0));
        at ^= 1 << bit;
    }
    links
}

fn walk_torus(dims: &[usize], from: Rank, to: Rank) -> Vec<Link> {
    let goal = digits(to, dims);
    let mut at = digits(from, dims);
    let mut links = vec![];
    for (index, &dim) in dims.iter().enumerate() {
        let ahead = (0..dim).find(|steps| (at[index] + steps) % dim == goal[index]).unwrap();
        let step = if ahead <= dim - ahead { 1 } else { dim - 1 };
        while at[index] != goal[index] {
            let start = rank_node(rank_of(&at, dims));
            at[index] = (at[index] + step) % dim;
            // Where a dimension has two places only, two links lie between them.
            links.push((start, rank_node(rank_of(&at, dims)), usize::from(step == 1)));
        }
    }
    links
}

/// A switch is its level and digits; a link between `l` and `l + 1` changes digit `l` alone.
fn walk_fat_tree(radix: usize, n_ranks: usize, from: Rank, to: Rank) -> Vec<Link> {
    let n_levels = (1..).find(|n| radix.pow(*n) >= n_ranks).unwrap() as usize;
    let dims = vec![radix; n_levels];
    let (start, goal) = (digits(from, &dims), digits(to, &dims));
    let Some(top) = (0..n_levels).rev().find(|digit| start[*digit] != goal[*digit]) else {
        return vec![];
    };
    let mut at = [vec![0], start[1..].to_vec()].concat();
    let mut links = vec![];
    for level in (0..top).chain((0..top).rev()) {
        let before = at.clone();
        let is_up = before[0] == level;
        at[0] = if is_up { level + 1 } else { level };
        at[level + 1] = if is_up { goal[level] } else { goal[level + 1] };
        links.push((before, at.clone(), 0));
    }
    links.push((at, rank_node(to), 0));
    links
}

fn digits(number: usize, bases: &[usize]) -> Vec<usize> {
    let mut rest = number;
    let digit = |base: &usize| {
        let digit = rest % base;
        rest /= base;
        digit
    };
    bases.iter().map(digit).collect()
}

fn rank_of(digits: &[usize], bases: &[usize]) -> Rank {
    digits.iter().zip(bases).rev().fold(0, |rank, (digit, base)| rank * base + digit)
}
