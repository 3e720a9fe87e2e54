//! Reports of real clusters about devices: tables, kernel logs and counters, each with near misses.
mod kit;
mod port_counters;
