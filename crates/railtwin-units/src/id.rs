//! Dense typed ids: a `u32` that knows what it counts.

/// Defines a dense id type: `Copy`, ordered, convertible to an index.
#[macro_export]
macro_rules! dense_id {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(pub u32);

        impl $name {
            /// The id as an index into a column.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// The id of a column's row.
            ///
            /// # Panics
            /// When the row does not fit 32 bits; no table of ours is that long.
            #[inline]
            pub fn from_index(index: usize) -> Self {
                Self(u32::try_from(index).expect("ids are dense and fit 32 bits"))
            }
        }
    };
}
