//! All tests of `railtwin-cli` beside its unit tests: one program, built and linked once.

mod between;
mod calibrate;
mod check_bandwidth;
mod cluster_page;
mod design;
mod diagnose;
mod downtime;
mod engines;
mod harness;
mod import;
mod intranode;
mod limits;
mod outside;
mod paths;
mod placement;
mod reproduce;
mod run;
mod schedule;
mod score;
mod steps;
mod sweep;
mod tune;
mod two_runs;
mod unended;
mod weeks;
mod wrong_scenarios;
