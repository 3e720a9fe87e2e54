//! From an intent to the fabrics that meet it.
