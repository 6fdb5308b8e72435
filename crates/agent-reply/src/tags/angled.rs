//! Tags in angle brackets, as XML has them: `<CREATE_FILE path="a">`.

use std::borrow::Cow;

use super::{Damage, Kind, Name, TagLine, outside_quotes, word};
use crate::line::Decoration;
use crate::trim::trim;

/// Reads a line as an opening tag in angle brackets, in the protocol's own letters.
///
/// The body and the closing tag may stand on the same line.
pub(crate) fn read_angled(line: usize, text: &str) -> Option<TagLine<'_>> {
    let text = trim(text);
    let inner = text.strip_prefix('<')?.strip_suffix('>')?;
    let inner_end = inner.find('>').unwrap_or(inner.len());
    let (written, _) = word(inner[..inner_end].trim_end_matches('/'))?;
    let name = Name::exact(written)?;
    let rest = &inner[written.len()..];
    let (attributes, inline) = match outside_quotes(rest, |byte| byte == b'>') {
        None => (rest, None),
        Some(end) => {
            let body = rest[end + 1..].strip_suffix(name.as_str())?;
            (&rest[..end], Some(body.strip_suffix("</")?))
        }
    };
    let attributes = attributes.trim_end();
    Some(TagLine {
        line,
        kind: Kind::Open {
            name,
            attributes: Cow::Borrowed(attributes.strip_suffix('/').unwrap_or(attributes)),
            inline: inline.map(Cow::Borrowed),
        },
        before: "",
        decoration: Decoration::Indented(0),
        damage: Damage::None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn case(text: &str, expected: Option<(Name, &str, Option<&str>)>) {
        let tag = read_angled(0, text);
        let got = tag.as_ref().map(|tag| match &tag.kind {
            Kind::Open {
                name,
                attributes,
                inline,
            } => (*name, attributes.trim(), inline.as_deref()),
            other => panic!("{other:?}"),
        });
        assert_eq!(got, expected, "{text}");
    }

    #[test]
    fn reads_tags_as_xml_has_them() {
        let path = r#"path="a""#;
        case(
            r#"<CREATE_FILE path="a">"#,
            Some((Name::CreateFile, path, None)),
        );
        case(
            r#"  <READ_FILE path="a" />"#,
            Some((Name::ReadFile, path, None)),
        );
        case("<GIT_STATUS/>", Some((Name::GitStatus, "", None)));
        case(
            "<RUN_COMMAND>a > b</RUN_COMMAND>",
            Some((Name::RunCommand, "", Some("a > b"))),
        );
        case(
            r#"<SEARCH_TEXT pattern="->"/>"#,
            Some((Name::SearchText, r#"pattern="->""#, None)),
        );
    }

    #[test]
    fn leaves_everything_else_alone() {
        for text in [
            "<create_file>",
            "<CREATE_FILES>",
            "</CREATE_FILE>",
            "<CREATE_FILE> is a tag <b>",
            "<>",
            "<PLAN",
            "Vec<PLAN>",
        ] {
            case(text, None);
        }
    }
}
