//! A network cable by cable: where each end stands, how long it is, which optic sits at it.
