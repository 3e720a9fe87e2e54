//! Sections and tables of a scenario, declared as the types that they become.

/// Declares a struct that is a section of a scenario, or a table in one: fields are keys, with help, type, range and
/// default.
///
/// The documentation of a field is the help of its key. The kind of value follows from the type
/// ([`Keyed`](crate::keys::Keyed)), or stands in brackets. `#[key(…)]` names methods of [`Key`](crate::keys::Key), such
/// as `fixed` or `packet`. A field without a default is required, and a struct without one has `Default`. It gets serde
/// under the names of the fields, and `TABLE`, the description that checks, sweeps, JSON Schema, reference and property
/// tests read. What is absent is not written; of a struct that is `sparse`, what is the default is not written either.
///
/// ```
/// use railtwin_units::{SimTime, keys::whole};
/// railtwin_units::section! {
///     /// Timers of a door.
///     #[derive(Clone, Copy, PartialEq, Debug)]
///     pub struct Door "[door]" {
///         /// How long it stays open.
///         pub open: SimTime = SimTime::from_ns(1_500),
///         /// How often it is tried.
///         #[key(fixed)]
///         pub tries: u32 [whole(1..=7)] = 3,
///     }
/// }
/// assert_eq!(Door::default().tries, 3);
/// assert_eq!(Door::TABLE.keys[0].help(), "How long it stays open; default 1500 ns.");
/// assert!(!Door::TABLE.keys[1].axis);
/// ```
#[macro_export]
macro_rules! section {
    (
        @declare
        $(#[$outer:meta])*
        $visible:vis struct $name:ident $title:literal $sparse:tt {
            $(
                $(#[doc = $about:literal])+
                $(#[key($($flag:ident),+)])?
                $field_visible:vis $field:ident : $type:ty $([$kind:expr])? $(= $default:expr)?
            ),+ $(,)?
        }
    ) => {
        $(#[$outer])*
        $visible struct $name {
            $($(#[doc = $about])+ $field_visible $field: $type),+
        }

        impl $name {
            /// How it is described.
            pub const TABLE: $crate::keys::Table = $crate::keys::Table {
                title: $title,
                keys: &[$($crate::keys::Key {
                    name: stringify!($field),
                    kind: $crate::kind_of!($type $(, $kind)?),
                    required: $crate::is_required!($($default)?),
                    axis: true,
                    reader: $crate::keys::Reader::All,
                    about: concat!($($about),+),
                    default: $crate::default_of!($type $(, $default)?),
                }$($(.$flag())+)?),+],
                ..$crate::keys::Table::EMPTY
            };
        }

        impl $crate::keys::Keyed for $name {
            const KIND: $crate::keys::Kind = $crate::keys::table(&Self::TABLE);

            fn shown(&self) -> Option<String> {
                None
            }

            fn is_absent(&self) -> bool {
                true $(&& ($crate::is_unwritten!(self.$field, $sparse $(, $default)?)))+
            }
        }

        impl $crate::serde::Serialize for $name {
            fn serialize<S: $crate::serde::Serializer>(&self, output: S) -> Result<S::Ok, S::Error> {
                use $crate::serde::ser::SerializeMap as _;
                let mut written = output.serialize_map(None)?;
                $(
                    if !$crate::is_unwritten!(self.$field, $sparse $(, $default)?) {
                        written.serialize_entry(stringify!($field), &self.$field)?;
                    }
                )+
                written.end()
            }
        }

        impl<'de> $crate::serde::Deserialize<'de> for $name {
            fn deserialize<D: $crate::serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
                #[derive($crate::serde::Deserialize)]
                #[serde(crate = "railtwin_units::serde")]
                struct Written {
                    $(
                        #[serde(default, deserialize_with = "railtwin_units::keys::written")]
                        $field: Option<$type>
                    ),+
                }
                let written = <Written as $crate::serde::Deserialize>::deserialize(input)?;
                Ok(Self { $($field: $crate::or_default!(D, written.$field, $field $(, $default)?)),+ })
            }
        }
    };
    (
        $(#[$outer:meta])*
        $visible:vis struct $name:ident $title:literal $($sparse:ident)? {
            $(
                $(#[doc = $about:literal])+
                $(#[key($($flag:ident),+)])?
                $field_visible:vis $field:ident : $type:ty $([$kind:expr])? = $default:expr
            ),+ $(,)?
        }
    ) => {
        $crate::section! {
            @declare
            $(#[$outer])*
            $visible struct $name $title [$($sparse)?] {
                $(
                    $(#[doc = $about])+
                    $(#[key($($flag),+)])?
                    $field_visible $field: $type $([$kind])? = $default
                ),+
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default),+ }
            }
        }
    };
    (
        $(#[$outer:meta])*
        $visible:vis struct $name:ident $title:literal $($sparse:ident)? {
            $($rest:tt)*
        }
    ) => {
        $crate::section! { @declare $(#[$outer])* $visible struct $name $title [$($sparse)?] { $($rest)* } }
    };
}

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

/// The kind of a key: as it is written, else as its type says.
#[doc(hidden)]
#[macro_export]
macro_rules! kind_of {
    ($type:ty) => {
        <$type as $crate::keys::Keyed>::KIND
    };
    ($type:ty, $kind:expr) => {
        $kind
    };
}

/// Whether a key has no default.
#[doc(hidden)]
#[macro_export]
macro_rules! is_required {
    () => {
        true
    };
    ($default:expr) => {
        false
    };
}

/// The text of a default.
#[doc(hidden)]
#[macro_export]
macro_rules! default_of {
    ($type:ty) => {
        None
    };
    ($type:ty, $default:expr) => {
        Some(|| <$type as $crate::keys::Keyed>::shown(&$default))
    };
}

/// The value that is written, else the default, else an error.
#[doc(hidden)]
#[macro_export]
macro_rules! or_default {
    ($input:ident, $written:expr, $field:ident, $default:expr) => {
        $written.unwrap_or_else(|| $default)
    };
    ($input:ident, $written:expr, $field:ident) => {
        $written
            .ok_or_else(|| <$input::Error as $crate::serde::de::Error>::missing_field(stringify!($field)))?
    };
}

/// Whether a value is left out of a text.
#[doc(hidden)]
#[macro_export]
macro_rules! is_unwritten {
    ($value:expr, [sparse], $default:expr) => {
        $crate::keys::Keyed::is_absent(&$value) || $value == $default
    };
    ($value:expr, $sparse:tt $(, $default:expr)?) => {
        $crate::keys::Keyed::is_absent(&$value)
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
