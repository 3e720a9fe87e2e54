//! Tests of forms over real files and random bytes.
