//! Weeks of jobs against what can be said of them otherwise.
mod queues;
mod ranks;
mod shared_hosts;
mod skipping;
