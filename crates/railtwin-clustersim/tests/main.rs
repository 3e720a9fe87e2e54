//! Weeks of jobs against what can be said of them otherwise.
mod checkpoints;
mod grid;
mod queues;
mod ranks;
mod reads;
mod serving;
mod shared_hosts;
mod skipping;
