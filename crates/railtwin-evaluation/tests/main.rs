//! All tests of the evaluation beside its unit tests: one program, built and linked once.

mod failover;
mod packet_card;
mod probe_rounds;
mod reproduction;
mod score;
