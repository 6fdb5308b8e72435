//! Links that a chat page made of paths.
//!
//! `main.py`, `README.md` and `lib.rs` look like the names of sites, so that pages make links of
//! them, and copying gives `[main.py](http://main.py)`. Only a link to its own words is undone.

use std::borrow::Cow;

/// The words of a link that leads to them, if the text is such a link and nothing else.
pub(super) fn to_itself(text: &str) -> Option<&str> {
    let (words, target) = text
        .strip_prefix('[')?
        .strip_suffix(')')?
        .split_once("](")?;
    let site = target
        .strip_prefix("http://")
        .or_else(|| target.strip_prefix("https://"))
        .unwrap_or(target);
    let site = site.strip_suffix('/').unwrap_or(site);
    (!words.is_empty() && site.eq_ignore_ascii_case(words)).then_some(words)
}

/// A text with the words of each link to itself in its place.
pub(super) fn undone(text: &str) -> Cow<'_, str> {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(middle) = rest.find("](") {
        let link = rest[..middle].rfind('[').zip(rest[middle..].find(')'));
        let words = link.and_then(|(start, end)| {
            let words = to_itself(&rest[start..=middle + end])?;
            Some((start, words, middle + end + 1))
        });
        let Some((start, words, end)) = words else {
            break;
        };
        plain.push_str(&rest[..start]);
        plain.push_str(words);
        rest = &rest[end..];
    }
    if plain.is_empty() {
        return Cow::Borrowed(text);
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_to_its_own_words_is_undone() {
        for (text, plain) in [
            ("[main.py](http://main.py)", "main.py"),
            ("[README.md](https://readme.md/)", "README.md"),
            ("src/[lib.rs](http://lib.rs)", "src/lib.rs"),
            ("[a.py](http://a.py), [b.py](b.py)", "a.py, b.py"),
        ] {
            assert_eq!(undone(text), plain);
        }
        for text in [
            "app/[id]/page.tsx",
            "[main.py](http://example.org)",
            "[](http://)",
            "a](b",
            "](",
            "(a)[b]",
        ] {
            assert_eq!(undone(text), text);
        }
    }
}
