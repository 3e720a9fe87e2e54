//! Tables whose keys depend on one of them, as enums.

/// Declares an enum that is a table whose keys depend on one of them: each variant is a value of that key, alone or with
/// the keys of the [`section!`](crate::section) that it holds.
///
/// It gets serde, `NAMES`, `name`, and `TABLE` with its `VARIANTS`. With `or alone` the value of the key may also stand
/// for a table of all defaults; the example is for messages.
///
/// ```
/// railtwin_units::section! {
///     /// A rider.
///     #[derive(Clone, PartialEq, Debug)]
///     pub struct Rider "`post`" {
///         /// Horses.
///         pub horses: u32 = 1,
///     }
/// }
/// railtwin_units::variants! {
///     /// How a letter travels.
///     #[derive(Clone, PartialEq, Debug)]
///     pub enum Post "`post`" by "by", "Who carries it." {
///         /// By a rider.
///         Horse(Rider) = "horse",
///         /// By a bird.
///         Pigeon = "pigeon",
///     }
/// }
/// assert_eq!(Post::NAMES, ["horse", "pigeon"]);
/// assert_eq!(Post::VARIANTS[0].keys[0].name, "horses");
///
/// railtwin_units::variants! {
///     /// The same, for short.
///     #[derive(Clone, PartialEq, Debug)]
///     pub enum Letter "`letter`" by "by", "Who carries it.", or alone, else as "{ by = \"horse\", horses = 2 }" {
///         /// By a rider.
///         Horse(Rider) = "horse",
///         /// By a bird.
///         Pigeon = "pigeon",
///     }
/// }
/// use railtwin_units::serde::de::{Deserialize as _, IntoDeserializer as _, value};
/// let horse: value::StrDeserializer<'_, value::Error> = "horse".into_deserializer();
/// assert_eq!(Letter::deserialize(horse), Ok(Letter::Horse(Rider { horses: 1 })));
/// let bird = value::MapDeserializer::<_, value::Error>::new([("by", "pigeon")].into_iter());
/// assert_eq!(Letter::deserialize(bird), Ok(Letter::Pigeon));
/// ```
#[macro_export]
macro_rules! variants {
    (
        $(#[$outer:meta])*
        $visible:vis enum $name:ident $title:literal by $key:literal, $about:literal {
            $($body:tt)*
        }
    ) => {
        $crate::variants! {
            @declare
            $(#[$outer])*
            #[derive($crate::serde::Serialize, $crate::serde::Deserialize)]
            #[serde(tag = $key, crate = "railtwin_units::serde")]
            $visible enum $name $title by $key, $about { $($body)* }
        }
    };
    (
        $(#[$outer:meta])*
        $visible:vis enum $name:ident $title:literal by $key:literal, $about:literal,
        or alone, else as $example:literal {
            $($(#[$inner:meta])* $variant:ident $(($section:ty))? = $text:literal),+ $(,)?
        }
    ) => {
        $crate::variants! {
            @declare
            $(#[$outer])*
            #[derive($crate::serde::Serialize)]
            #[serde(tag = $key, crate = "railtwin_units::serde")]
            $visible enum $name $title by $key, $about {
                $($(#[$inner])* $variant $(($section))? = $text),+
            }
        }

        impl<'de> $crate::serde::Deserialize<'de> for $name {
            fn deserialize<D: $crate::serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
                #[derive($crate::serde::Deserialize)]
                #[serde(tag = $key, crate = "railtwin_units::serde")]
                enum Written {
                    $(#[serde(rename = $text)] $variant $(($section))?),+
                }
                Ok(match $crate::keys::alone_or_table::<D, Written>(input, $key)? {
                    $(Written::$variant $(($crate::first_of!(keys $section)))? => {
                        Self::$variant $(($crate::first_of!(keys $section)))?
                    })+
                })
            }
        }

        impl $crate::keys::Keyed for $name {
            const KIND: $crate::keys::Kind =
                $crate::keys::Kind::ChoiceOrValue(&Self::NAMES, &Self::TABLE, $example);

            fn shown(&self) -> Option<String> {
                Some(self.name().to_owned())
            }
        }
    };
    (
        @declare
        $(#[$outer:meta])*
        $visible:vis enum $name:ident $title:literal by $key:literal, $about:literal {
            $($(#[$inner:meta])* $variant:ident $(($section:ty))? = $text:literal),+ $(,)?
        }
    ) => {
        $(#[$outer])*
        $visible enum $name {
            $($(#[$inner])* #[serde(rename = $text)] $variant $(($section))?),+
        }

        impl $name {
            /// The names in scenarios.
            pub const NAMES: [&'static str; [$($text),+].len()] = [$($text),+];
            /// The keys of each.
            pub const VARIANTS: &'static [$crate::keys::Variant] = &[$($crate::keys::Variant {
                key: $key,
                value: Some($text),
                keys: $crate::keys_of!($($section)?),
            }),+];
            /// How it is described.
            pub const TABLE: $crate::keys::Table = $crate::keys::Table {
                title: $title,
                keys: &[
                    $crate::keys::key($key, $crate::keys::Kind::Choice(&Self::NAMES), $about).required(),
                ],
                variants: &[Self::VARIANTS],
                ..$crate::keys::Table::EMPTY
            };

            /// The name in scenarios.
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant { .. } => $text),+
                }
            }
        }
    };
}

/// The first of two: a name for each section that is repeated over.
#[doc(hidden)]
#[macro_export]
macro_rules! first_of {
    ($first:ident $second:ty) => {
        $first
    };
}

/// The keys of a section; none of nothing.
#[doc(hidden)]
#[macro_export]
macro_rules! keys_of {
    () => {
        &[]
    };
    ($section:ty) => {
        <$section>::TABLE.keys
    };
}
