//! Sections and tables of a scenario, declared as the types that they become.

/// Declares a struct that is a section of a scenario, or a table in one: fields are keys, with help, type, range and
/// default.
///
/// The documentation of a field is the help of its key. The kind of value follows from the type
/// ([`Keyed`](crate::keys::Keyed)), or stands in brackets. A key that is not called as its field says so by `as`.
/// `#[key(…)]` names methods of [`Key`](crate::keys::Key), such as `fixed` or `packet`. A field without a default is
/// required, and a struct without one has `Default`. A field that is `[flat]` holds keys of the same table: those of
/// another section, or of [`one_of!`](crate::one_of), which an `Option` makes one at most.
///
/// It gets serde under the names of the keys, and `TABLE`, the description that checks, sweeps, JSON Schema, reference
/// and property tests read. What is absent is not written; of a key that is `sparse`, or a struct all of whose keys are,
/// what is the default is not written either.
///
/// ```
/// use railtwin_units::{SimTime, keys::whole};
/// railtwin_units::one_of! {
///     /// What moves it.
///     #[derive(Clone, Copy, PartialEq, Debug)]
///     pub enum Mover {
///         /// A spring of so many turns.
///         Spring(u32) = "spring",
///         /// Whether a motor does.
///         Motor(bool) = "motor",
///     }
/// }
/// railtwin_units::section! {
///     /// Timers of a door.
///     #[derive(Clone, Copy, PartialEq, Debug)]
///     pub struct Door "[door]" {
///         /// How long it stays open.
///         pub open: SimTime = SimTime::from_ns(1_500),
///         /// How often it is tried.
///         #[key(fixed)]
///         pub attempts as "tries": u32 [whole(1..=7)] = 3,
///         /// What moves it.
///         pub mover: Option<Mover> [flat] = None,
///     }
/// }
/// assert_eq!(Door::default().attempts, 3);
/// assert_eq!(Door::TABLE.keys[0].help(), "How long it stays open; default 1500 ns.");
/// let names: Vec<&str> = Door::TABLE.keys.iter().map(|key| key.name).collect();
/// assert_eq!(names, ["open", "tries", "spring", "motor"]);
/// assert_eq!(Door::TABLE.at_most_one, ["spring", "motor"]);
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
                $field_visible:vis $field:ident $(as $key:literal)? : $type:ty $([$($kind:tt)+])? $(= $default:expr)?
            ),+ $(,)?
        }
    ) => {
        $(#[$outer])*
        $visible struct $name {
            $($(#[doc = $about])+ $field_visible $field: $type),+
        }

        const _: () = {
            struct Parts;

            #[allow(non_upper_case_globals, reason = "one for each field, by its name")]
            impl Parts {
                $(const $field: &'static [$crate::keys::Key] = $crate::part_of!(
                    @keys [$($($kind)+)?] $type,
                    $crate::keys::Key {
                        name: $crate::name_of!($field $(, $key)?),
                        kind: $crate::kind_of!([$($($kind)+)?] $type),
                        required: $crate::is_required!($($default)?),
                        axis: true,
                        sparse: $crate::is_sparse!($sparse),
                        reader: $crate::keys::Reader::All,
                        about: concat!($($about),+),
                        default: $crate::default_of!($type $(, $default)?),
                    }$($(.$flag())+)?
                );)+
                const ALL: &'static [&'static [$crate::keys::Key]] = &[$(Parts::$field),+];
                const GROUPS: &'static [($crate::keys::Names, $crate::keys::Names)] =
                    &[$($crate::part_of!(@groups [$($($kind)+)?] $type)),+];
            }

            impl $name {
                /// How it is described.
                pub const TABLE: $crate::keys::Table = $crate::keys::Table {
                    title: $title,
                    keys: &$crate::keys::joined::<{ $crate::keys::length(Parts::ALL) }>(Parts::ALL),
                    exactly_one: $crate::keys::group(Parts::GROUPS).0,
                    at_most_one: $crate::keys::group(Parts::GROUPS).1,
                    ..$crate::keys::Table::EMPTY
                };
                /// The keys that stand beside the first, where that one chooses the section.
                pub const VARIANTS: &'static [$crate::keys::Variant] =
                    &[$crate::keys::Variant::beside_first(&Self::TABLE)];
            }

            impl $crate::keys::Keyed for $name {
                const KIND: $crate::keys::Kind = $crate::keys::table(&Self::TABLE);

                fn shown(&self) -> Option<String> {
                    None
                }

                fn is_absent(&self) -> bool {
                    $crate::keys::Group::is_unwritten(self)
                }
            }

            pub struct Partial {
                $($field: $crate::part_of!(@partial [$($($kind)+)?] $type)),+
            }

            impl Default for Partial {
                fn default() -> Self {
                    Self { $($field: Default::default()),+ }
                }
            }

            impl $crate::keys::Group for $name {
                type Partial = Partial;
                const KEYS: &'static [$crate::keys::Key] = Self::TABLE.keys;
                const EXACTLY_ONE: $crate::keys::Names = Self::TABLE.exactly_one;
                const AT_MOST_ONE: $crate::keys::Names = Self::TABLE.at_most_one;

                fn take<'de, A: $crate::serde::de::MapAccess<'de>>(
                    partial: &mut Partial,
                    key: &str,
                    table: &mut A,
                ) -> Result<bool, A::Error> {
                    $(
                        if $crate::part_of!(
                            @take [$($($kind)+)?] $type, partial.$field, Parts::$field, key, table
                        ) {
                            return Ok(true);
                        }
                    )+
                    Ok(false)
                }

                fn finish<E: $crate::serde::de::Error>(partial: Partial) -> Result<Self, E> {
                    Ok(Self { $($field: $crate::part_of!(
                        @finish [$($($kind)+)?] $type, partial.$field, Parts::$field $(, $default)?
                    )),+ })
                }

                fn write<M: $crate::serde::ser::SerializeMap>(&self, table: &mut M) -> Result<(), M::Error> {
                    $($crate::part_of!(
                        @write [$($($kind)+)?] $type, self.$field, Parts::$field, table $(, $default)?
                    );)+
                    Ok(())
                }

                fn is_unwritten(&self) -> bool {
                    true $(&& $crate::part_of!(
                        @unwritten [$($($kind)+)?] $type, self.$field, Parts::$field $(, $default)?
                    ))+
                }
            }

            impl $crate::serde::Serialize for $name {
                fn serialize<S: $crate::serde::Serializer>(&self, output: S) -> Result<S::Ok, S::Error> {
                    $crate::keys::write_group(self, output)
                }
            }

            impl<'de> $crate::serde::Deserialize<'de> for $name {
                fn deserialize<D: $crate::serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
                    $crate::keys::read_group(input)
                }
            }
        };
    };
    (
        $(#[$outer:meta])*
        $visible:vis struct $name:ident $title:literal $($sparse:ident)? {
            $(
                $(#[doc = $about:literal])+
                $(#[key($($flag:ident),+)])?
                $field_visible:vis $field:ident $(as $key:literal)? : $type:ty $([$($kind:tt)+])? = $default:expr
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
                    $field_visible $field $(as $key)? : $type $([$($kind)+])? = $default
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

/// What a field is to its section: a key, or several that are `[flat]`.
#[doc(hidden)]
#[macro_export]
macro_rules! part_of {
    (@keys [flat] $type:ty, $key:expr) => {
        <$type as $crate::keys::Group>::KEYS
    };
    (@keys [$($kind:tt)*] $type:ty, $key:expr) => {
        &[$key]
    };
    (@groups [flat] $type:ty) => {
        (<$type as $crate::keys::Group>::EXACTLY_ONE, <$type as $crate::keys::Group>::AT_MOST_ONE)
    };
    (@groups [$($kind:tt)*] $type:ty) => {
        (&[], &[])
    };
    (@partial [flat] $type:ty) => {
        <$type as $crate::keys::Group>::Partial
    };
    (@partial [$($kind:tt)*] $type:ty) => {
        Option<$type>
    };
    (@take [flat] $type:ty, $partial:expr, $keys:expr, $key:ident, $table:ident) => {
        <$type as $crate::keys::Group>::take(&mut $partial, $key, $table)?
    };
    (@take [$($kind:tt)*] $type:ty, $partial:expr, $keys:expr, $key:ident, $table:ident) => {
        $keys[0].name == $key && {
            $partial = Some($crate::keys::next_value($table)?);
            true
        }
    };
    (@finish [flat] $type:ty, $partial:expr, $keys:expr $(, $default:expr)?) => {
        <$type as $crate::keys::Group>::finish($partial)?
    };
    (@finish [$($kind:tt)*] $type:ty, $partial:expr, $keys:expr, $default:expr) => {
        $partial.unwrap_or_else(|| $default)
    };
    (@finish [$($kind:tt)*] $type:ty, $partial:expr, $keys:expr) => {
        $partial.ok_or_else(|| E::missing_field($keys[0].name))?
    };
    (@write [flat] $type:ty, $value:expr, $keys:expr, $table:ident $(, $default:expr)?) => {
        $crate::keys::Group::write(&$value, $table)?
    };
    (@write [$($kind:tt)*] $type:ty, $value:expr, $keys:expr, $table:ident $(, $default:expr)?) => {
        if !$crate::part_of!(@unwritten [] $type, $value, $keys $(, $default)?) {
            $table.serialize_entry($keys[0].name, &$value)?;
        }
    };
    (@unwritten [flat] $type:ty, $value:expr, $keys:expr $(, $default:expr)?) => {
        $crate::keys::Group::is_unwritten(&$value)
    };
    (@unwritten [$($kind:tt)*] $type:ty, $value:expr, $keys:expr, $default:expr) => {
        ($crate::keys::Keyed::is_absent(&$value) || $keys[0].sparse && $value == $default)
    };
    (@unwritten [$($kind:tt)*] $type:ty, $value:expr, $keys:expr) => {
        $crate::keys::Keyed::is_absent(&$value)
    };
}

/// The kind of a key: as it is written, else as its type says.
#[doc(hidden)]
#[macro_export]
macro_rules! kind_of {
    ([] $type:ty) => {
        <$type as $crate::keys::Keyed>::KIND
    };
    ([$($kind:tt)+] $type:ty) => {
        $($kind)+
    };
}

/// The name of a key: as it is written, else that of its field.
#[doc(hidden)]
#[macro_export]
macro_rules! name_of {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident, $key:literal) => {
        $key
    };
}

/// Whether all keys of a section are sparse.
#[doc(hidden)]
#[macro_export]
macro_rules! is_sparse {
    ([]) => {
        false
    };
    ([sparse]) => {
        true
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
