//! Tests of forms over real files and random bytes.
mod cables;
mod hedgehog;
mod lldp;
mod netbox;
mod sonic_config_db;
mod sonic_minigraph;
mod wiring;
