//! Names that differ only by numbers: `page1.md`, `page2.md` and so on.

/// So many of them side by side are told together.
pub(super) const RUN: usize = 20;

/// Returns true if two names contain numbers and differ only by them.
pub(super) fn is_alike(a: &str, b: &str) -> bool {
    a.bytes().any(|byte| byte.is_ascii_digit()) && shape(a).eq(shape(b))
}

/// The bytes of a name, one for all digits of a number.
fn shape(name: &str) -> impl Iterator<Item = u8> {
    let mut was_digit = false;
    name.bytes().filter_map(move |byte| {
        let is_digit = byte.is_ascii_digit();
        let is_more = is_digit && was_digit;
        was_digit = is_digit;
        (!is_more).then_some(if is_digit { b'0' } else { byte })
    })
}

/// The names with the least and the largest number.
pub(super) fn ends<'a>(names: impl Iterator<Item = &'a str> + Clone) -> Option<(&'a str, &'a str)> {
    // Of two numbers the shorter is the smaller; those with zeros before them are of one length.
    let number = |name: &&'a str| (name.len(), *name);
    Some((names.clone().min_by_key(number)?, names.max_by_key(number)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_alone_make_no_difference() {
        for (a, b, expected) in [
            ("page1.md", "page40.md", true),
            ("2024-01-31.log", "2025-11-01.log", true),
            ("page1.md", "page1.txt", false),
            ("page.md", "page1.md", false),
            ("a.rs", "a.rs", false),
            ("x1y", "x1y2", false),
        ] {
            assert_eq!(is_alike(a, b), expected, "{a} {b}");
        }
    }

    #[test]
    fn the_ends_go_by_the_number() {
        let names = ["page1.md", "page10.md", "page2.md", "page9.md"];
        assert_eq!(ends(names.into_iter()), Some(("page1.md", "page10.md")));
        assert_eq!(ends(std::iter::empty()), None);
    }
}
