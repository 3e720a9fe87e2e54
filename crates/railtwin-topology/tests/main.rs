//! Tests of forms over real files and random bytes.
mod graph_cases;
mod graphs;
mod ibnetdiscover;
