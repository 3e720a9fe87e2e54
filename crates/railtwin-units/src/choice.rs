//! One of a few words: an enum whose variants are the values of a key, declared once with its names.

/// Declares an enum and the name of each variant in scenarios, tables and messages.
///
/// It gets `ALL`, `NAMES`, `name`, `named`, `Display`, and the text in serde; an unknown word is refused with all that
/// are accepted.
///
/// ```
/// railtwin_units::choice! {
///     /// How a letter travels.
///     #[derive(Clone, Copy, PartialEq, Eq, Debug)]
///     pub enum Post {
///         /// By a rider.
///         ByHorse = "by-horse",
///         /// By a bird.
///         Pigeon = "pigeon",
///     }
/// }
/// assert_eq!(Post::NAMES, ["by-horse", "pigeon"]);
/// assert_eq!(Post::named("pigeon"), Some(Post::Pigeon));
/// assert_eq!(Post::ByHorse.to_string(), "by-horse");
/// ```
#[macro_export]
macro_rules! choice {
    (
        $(#[$outer:meta])*
        $visible:vis enum $name:ident {
            $($(#[$inner:meta])* $variant:ident = $text:literal),+ $(,)?
        }
    ) => {
        $(#[$outer])*
        $visible enum $name {
            $($(#[$inner])* $variant),+
        }

        impl $name {
            /// All of them, in the order of [`Self::NAMES`].
            pub const ALL: [Self; [$($text),+].len()] = [$(Self::$variant),+];
            /// The names in scenarios and tables.
            pub const NAMES: [&'static str; Self::ALL.len()] = [$($text),+];

            /// The name in scenarios and tables.
            #[inline]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $text),+
                }
            }

            /// The one of a name; none where there is none.
            pub fn named(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|one| one.name() == name)
            }
        }

        impl ::core::fmt::Display for $name {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.pad(self.name())
            }
        }

        impl $crate::keys::Keyed for $name {
            const KIND: $crate::keys::Kind = $crate::keys::Kind::Choice(&Self::NAMES);

            fn shown(&self) -> Option<String> {
                Some(self.name().to_owned())
            }
        }

        impl $crate::serde::Serialize for $name {
            fn serialize<S: $crate::serde::Serializer>(&self, output: S) -> Result<S::Ok, S::Error> {
                output.serialize_str(self.name())
            }
        }

        impl<'de> $crate::serde::Deserialize<'de> for $name {
            fn deserialize<D: $crate::serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
                let name = <String as $crate::serde::Deserialize>::deserialize(input)?;
                let unknown = || $crate::serde::de::Error::unknown_variant(&name, &Self::NAMES);
                Self::named(&name).ok_or_else(unknown)
            }
        }
    };
}
