//! All tests of `railtwin` beside its unit tests: one program, built and linked once.

mod bandwidth;
mod calibrate;
mod control;
mod control_page;
mod crux;
mod declared;
mod determinism;
mod diagnose;
mod engines_agree;
mod extent;
mod figures;
mod golden;
mod hash_odds;
mod headline;
mod kit;
mod life;
mod partial;
mod payload;
mod relay;
mod scale;
mod scenarios;
mod score;
mod silent_keys;
mod telemetry;
