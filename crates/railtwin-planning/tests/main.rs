//! Judges of the planner: known designs, graphs counted and cut by brute force, sizes and times.
mod brute;
mod counts;
mod goals;
mod loss;
mod page;
mod presets;
mod prices;
mod search;
mod smallest;
