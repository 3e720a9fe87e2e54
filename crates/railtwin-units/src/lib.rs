//! Ground of railtwin.
