//! The lines that a search found, each read as a line of its file.

use super::told::{TextPiece, TextVisitor};
use crate::secrets::TextSource;

/// Visits the lines that a search found, those of one file together and without their heads.
pub(super) fn each_hit(text: &mut String, place: &str, visit: &mut TextVisitor<'_>) {
    let lines: Vec<(&str, &str)> = text.split('\n').map(parted).collect();
    let mut visited: Vec<String> = Vec::with_capacity(lines.len());
    for group in lines.chunk_by(|one, next| path_of(one.0) == path_of(next.0)) {
        let contents: Vec<&str> = group.iter().map(|(_, content)| *content).collect();
        let mut contents = contents.join("\n");
        let source = path_of(group[0].0).map_or(TextSource::Text, TextSource::File);
        visit(TextPiece::new(&mut contents, source, place));
        let heads = group.iter().map(|(head, _)| *head);
        let joined = heads.zip(contents.split('\n'));
        visited.extend(joined.map(|(head, content)| format!("{head}{content}")));
    }
    *text = visited.join("\n");
}

/// A line in two: `path:12: ` or `path-12- `, and what stands in the file; all of it if it is none.
fn parted(line: &str) -> (&str, &str) {
    let spaces = line.match_indices(' ').map(|(at, _)| at + 1);
    let mut heads = spaces.filter(|end| path_of(&line[..*end]).is_some());
    line.split_at(heads.next().unwrap_or(0))
}

/// The path in `path:12: ` or `path-12- `.
fn path_of(head: &str) -> Option<&str> {
    [(": ", ':'), ("- ", '-')]
        .into_iter()
        .find_map(|(end, sign)| {
            let (path, number) = head.strip_suffix(end)?.rsplit_once(sign)?;
            let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
            (is_number && !path.is_empty()).then_some(path)
        })
}

#[cfg(test)]
mod tests {
    use super::super::KnownSecrets;
    use super::*;
    use crate::secrets::Scanner;

    #[track_caller]
    fn case(line: &str, head: &str) {
        assert_eq!(parted(line), (head, &line[head.len()..]));
    }

    #[test]
    fn the_head_of_a_line_is_told_from_what_stands_in_the_file() {
        case("a/b.rs:12: let x: 3: y", "a/b.rs:12: ");
        case("a b.rs-7- x", "a b.rs-7- ");
        case("a-b:1: ", "a-b:1: ");
        case("--", "");
        case("no hit: 5: x", "");
    }

    #[test]
    fn a_line_is_read_as_one_of_its_file() {
        let mut text =
            "conf.yml:1: a: b\nconf.yml-2- password: Xk29dkfj39dk\n--\nc.rs:1: x".to_owned();
        let (scanner, mut known) = (Scanner::default(), KnownSecrets::default());
        each_hit(&mut text, "a search", &mut |piece| {
            known.text(&scanner, piece.text, piece.source, piece.place);
        });
        assert_eq!(
            text,
            "conf.yml:1: a: b\nconf.yml-2- password: [SECRET-1 password]\n--\nc.rs:1: x"
        );
    }
}
