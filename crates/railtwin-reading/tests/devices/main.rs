//! Reports of real clusters about devices: tables, kernel logs and counters, each with near misses.
mod clocks;
mod kernel_logs;
mod kit;
mod port_counters;
mod states;
mod tables;
