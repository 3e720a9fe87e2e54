//! Weeks of jobs against what can be said of them otherwise.
mod queues;
mod shared_hosts;
mod skipping;
