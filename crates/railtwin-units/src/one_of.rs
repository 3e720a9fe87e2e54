//! Keys that exclude each other, as enums.

/// Declares an enum whose variants are keys of a table that exclude each other, each with one value: a `[flat]` field of
/// a [`section!`](crate::section), of which there is one key, or with `Option` one at most.
///
/// It gets `KEYS` and `key`.
#[macro_export]
macro_rules! one_of {
    (
        $(#[$outer:meta])*
        $visible:vis enum $name:ident {
            $(
                $(#[doc = $about:literal])+
                $(#[key($($flag:ident),+)])?
                $variant:ident($type:ty) $([$($kind:tt)+])? = $text:literal
            ),+ $(,)?
        }
    ) => {
        $(#[$outer])*
        $visible enum $name {
            $($(#[doc = $about])+ $variant($type)),+
        }

        impl $name {
            /// The keys, of which there is one.
            pub const KEYS: [&'static str; [$($text),+].len()] = [$($text),+];

            /// The key that it is.
            pub const fn key(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $text),+
                }
            }
        }

        impl $crate::keys::Group for $name {
            type Partial = Option<Self>;
            const KEYS: &'static [$crate::keys::Key] = &[$(
                $crate::keys::key($text, $crate::kind_of!([$($($kind)+)?] $type), concat!($($about),+))
                    $($(.$flag())+)?
            ),+];
            const EXACTLY_ONE: $crate::keys::Names = &Self::KEYS;
            const AT_MOST_ONE: $crate::keys::Names = &[];

            fn take<'de, A: $crate::serde::de::MapAccess<'de>>(
                partial: &mut Self::Partial,
                key: &str,
                table: &mut A,
            ) -> Result<bool, A::Error> {
                match key {
                    $($text => *partial = Some(Self::$variant($crate::keys::next_value(table)?)),)+
                    _ => return Ok(false),
                }
                Ok(true)
            }

            fn finish<E: $crate::serde::de::Error>(partial: Self::Partial) -> Result<Self, E> {
                partial.ok_or_else(|| E::custom(concat!("none of" $(, " ", $text)+)))
            }

            fn write<M: $crate::serde::ser::SerializeMap>(&self, table: &mut M) -> Result<(), M::Error> {
                match self {
                    $(Self::$variant(value) => table.serialize_entry($text, value)),+
                }
            }

            fn is_unwritten(&self) -> bool {
                false
            }
        }
    };
}

/// Declares an enum whose variants are sections that exclude each other in one table, each chosen by its first key.
///
/// It gets serde, `TABLE`, and is [`Keyed`](crate::keys::Keyed).
///
/// ```
/// railtwin_units::section! {
///     /// A rider.
///     #[derive(Clone, PartialEq, Debug)]
///     pub struct Rider "a rider" {
///         /// Their name.
///         pub rider: String,
///         /// Horses.
///         pub horses: u32 = 1,
///     }
/// }
/// railtwin_units::section! {
///     /// A bird.
///     #[derive(Clone, PartialEq, Debug)]
///     pub struct Bird "a bird" {
///         /// What is around its foot.
///         pub ring: String,
///     }
/// }
/// railtwin_units::either! {
///     /// How a letter travels.
///     #[derive(Clone, PartialEq, Debug)]
///     pub enum Post "`post`" {
///         /// By a rider.
///         Rider(Rider),
///         /// By a bird.
///         Bird(Bird),
///     }
/// }
/// assert_eq!(Post::TABLE.exactly_one, ["rider", "ring"]);
/// assert_eq!(Post::TABLE.variants().next().unwrap().keys[0].name, "horses");
/// ```
#[macro_export]
macro_rules! either {
    (
        $(#[$outer:meta])*
        $visible:vis enum $name:ident $title:literal {
            $($(#[$inner:meta])* $variant:ident($section:ty)),+ $(,)?
        }
    ) => {
        $(#[$outer])*
        #[derive($crate::serde::Serialize, $crate::serde::Deserialize)]
        #[serde(untagged, crate = "railtwin_units::serde")]
        $visible enum $name {
            $($(#[$inner])* $variant($section)),+
        }

        impl $name {
            /// How it is described.
            pub const TABLE: $crate::keys::Table = $crate::keys::Table {
                title: $title,
                keys: &[$($crate::keys::Key { required: false, ..<$section>::TABLE.keys[0] }),+],
                variants: &[$(<$section>::VARIANTS),+],
                exactly_one: &[$(<$section>::TABLE.keys[0].name),+],
                ..$crate::keys::Table::EMPTY
            };
        }

        impl $crate::keys::Keyed for $name {
            const KIND: $crate::keys::Kind = $crate::keys::table(&Self::TABLE);

            fn shown(&self) -> Option<String> {
                None
            }
        }
    };
}
