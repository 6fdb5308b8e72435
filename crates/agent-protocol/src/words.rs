//! Values that have a word each: the same one in settings, flags, the environment and files.

/// A word that names none of the values.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{written}` is not one of `{}`", .allowed.join("`, `"))]
pub struct UnknownWord {
    written: String,
    allowed: &'static [&'static str],
}

impl UnknownWord {
    /// Reports a word that is none of the allowed ones.
    pub fn new(written: &str, allowed: &'static [&'static str]) -> Self {
        Self {
            written: written.to_owned(),
            allowed,
        }
    }
}

/// Enums whose values have words, by which they are parsed, serialised and shown.
///
/// The words stand in the order of the values. An enum whose values permit more or less than others
/// has the strictest first, and derives `Ord`: `one.min(other)` is the stricter one.
#[macro_export]
macro_rules! words {
    ($(
        $(#[$about_type:meta])*
        pub enum $type:ident {
            $($(#[$about:meta])* $value:ident = $word:literal),+ $(,)?
        }
    )+) => {$(
        $(#[$about_type])*
        pub enum $type {
            $($(#[$about])* $value),+
        }

        impl $type {
            /// The words of all values, in their order.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// The word of this value.
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$value => $word),+
                }
            }
        }

        impl ::std::str::FromStr for $type {
            type Err = $crate::UnknownWord;

            /// Takes the word in any letter case.
            fn from_str(text: &str) -> ::std::result::Result<Self, $crate::UnknownWord> {
                $(if text.eq_ignore_ascii_case($word) {
                    return Ok(Self::$value);
                })+
                Err($crate::UnknownWord::new(text, Self::WORDS))
            }
        }

        impl $crate::serde::Serialize for $type {
            fn serialize<S: $crate::serde::Serializer>(
                &self,
                serializer: S,
            ) -> ::std::result::Result<S::Ok, S::Error> {
                serializer.serialize_str(self.word())
            }
        }

        impl<'de> $crate::serde::Deserialize<'de> for $type {
            fn deserialize<D: $crate::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::std::result::Result<Self, D::Error> {
                let text = <String as $crate::serde::Deserialize>::deserialize(deserializer)?;
                text.parse().map_err($crate::serde::de::Error::custom)
            }
        }
    )+};
}

#[cfg(test)]
mod tests {
    use crate::OnFailure;

    #[test]
    fn a_word_is_parsed_and_serialised_alike() {
        for word in OnFailure::WORDS {
            let value: OnFailure = word.to_uppercase().parse().unwrap();
            assert_eq!(value.word(), *word);
            let json = serde_json::to_value(value).unwrap();
            assert_eq!(json, *word);
            assert_eq!(serde_json::from_value::<OnFailure>(json).unwrap(), value);
        }
        let error = "stop".parse::<OnFailure>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "`stop` is not one of `skip-commands`, `continue`"
        );
    }
}
