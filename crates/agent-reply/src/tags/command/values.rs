//! Reads paths, ranges, numbers and words from the attributes and the body of a tag.

use std::borrow::Cow;

use super::super::body::{Body, BodyPlace};
use super::super::content::FileContent;
use super::super::damage;
use super::{DIRECTORY, END, PATH, PATHS, START, Tag, unusable};
use crate::candidate::BlockTrouble;
use crate::{link, workspace_root};
use agent_protocol::unseen::is_stray;
use agent_protocol::{PathProblem, RelPath, Selection};

impl Tag<'_> {
    /// The required path, which may also be all that stands in the body of a command without one.
    pub(super) fn path(&mut self) -> Result<RelPath, BlockTrouble> {
        if !self.name.needs_body()
            && self.attributes.peek(PATH).is_none()
            && let Some(lines) = self.lines
            && let [only] = lines
        {
            let path = self.unlinked(only.trim().trim_matches('`').to_owned());
            return self.checked(&path);
        }
        self.path_named(PATH)
    }

    pub(super) fn path_named(&mut self, names: &[&str]) -> Result<RelPath, BlockTrouble> {
        match self.taken_path(names) {
            Some(text) => self.checked(&text),
            None => Err(self.trouble(format!("`{}` is missing", names[0]))),
        }
    }

    pub(super) fn checked(&mut self, text: &str) -> Result<RelPath, BlockTrouble> {
        let path = RelPath::parse(&workspace_root::relative(text))
            .map_err(|problem| unusable(&problem))?;
        if RelPath::is_escaped(text) {
            self.repairs.push(("read `\\_` in a path as `_`", 1));
        }
        Ok(path)
    }

    /// The required files.
    pub(super) fn files(&mut self) -> Result<Selection, BlockTrouble> {
        let written = self.written_files();
        match Selection::parse(&workspace_root::relative(&written)) {
            Ok(selection) => Ok(selection),
            Err(PathProblem::Empty) if written.trim().is_empty() => {
                Err(self.trouble("`path` is missing"))
            }
            Err(problem) => Err(unusable(&problem)),
        }
    }

    /// Files as they are written: in attributes, or one on a line of the body.
    pub(super) fn written_files(&mut self) -> String {
        let mut lines = self.attributes.take_all(PATHS);
        if lines.is_empty() {
            let body = self.words();
            let line = |line: &str| {
                let line = line.trim();
                let line = line.strip_prefix("- ").unwrap_or(line);
                line.trim().trim_matches('`').to_owned()
            };
            lines.extend(body.lines().map(line));
        }
        self.unlinked(lines.join("\n"))
    }

    /// The value of an attribute that names a place, without what a page made of it.
    pub(super) fn taken_path(&mut self, names: &[&str]) -> Option<String> {
        let text = self.attributes.take(names)?;
        Some(self.unlinked(text))
    }

    /// Paths as they were before a page made links of them, or put what nobody sees around them.
    pub(super) fn unlinked(&mut self, text: String) -> String {
        if text.starts_with(is_stray) || text.ends_with(is_stray) {
            self.repairs
                .push(("removed invisible characters around a path", 1));
        }
        match link::undone(&text) {
            Cow::Borrowed(_) => text,
            Cow::Owned(plain) => {
                self.repairs
                    .push(("read a link as the path that it shows", 1));
                plain
            }
        }
    }

    /// Files and directories, where none means the whole workspace.
    pub(super) fn places(&mut self, names: &[&str]) -> Result<Option<Selection>, BlockTrouble> {
        match self.taken_path(names) {
            Some(text) => Selection::parse_directory(&workspace_root::relative(&text))
                .map_err(|problem| self.trouble(problem.to_string())),
            None => Ok(None),
        }
    }

    /// A directory, where none means the whole workspace.
    pub(super) fn directory(&mut self) -> Result<Option<RelPath>, BlockTrouble> {
        match self.taken_path(DIRECTORY) {
            Some(text) => RelPath::parse_directory(&workspace_root::relative(&text))
                .map_err(|problem| self.trouble(problem.to_string())),
            None => Ok(None),
        }
    }

    /// The lines that are meant, from 1: `start_line` and `end_line`, or `lines="3-7"`.
    pub(super) fn range(&mut self) -> Result<(Option<u32>, Option<u32>), BlockTrouble> {
        let (start, end) = match self.attributes.take(&["lines", "range", "linerange"]) {
            Some(range) => {
                let (start, end) = range
                    .split_once(['-', ':', ','])
                    .unwrap_or((&range, &range));
                let start = self.parsed("lines", start)?;
                let range = (Some(start), Some(self.parsed("lines", end)?));
                let (start, end) = (self.number(START)?, self.number(END)?);
                let differs = |one: Option<u32>, other| one.is_some() && one != other;
                if differs(start, range.0) || differs(end, range.1) {
                    return Err(self.trouble("its attributes name different lines"));
                }
                range
            }
            None => (self.number(START)?, self.number(END)?),
        };
        if start == Some(0) || end == Some(0) {
            return Err(self.trouble("lines are counted from 1"));
        }
        if let (Some(start), Some(end)) = (start, end)
            && end < start
        {
            return Err(self.trouble(format!("line {end} stands before line {start}")));
        }
        Ok((start, end))
    }

    pub(super) fn number(&mut self, names: &[&str]) -> Result<Option<u32>, BlockTrouble> {
        match self.attributes.take(names) {
            Some(text) => self.parsed(names[0], &text).map(Some),
            None => Ok(None),
        }
    }

    pub(super) fn parsed(&self, name: &str, text: &str) -> Result<u32, BlockTrouble> {
        text.trim().parse().map_err(|_| {
            let name = match name {
                "startline" => "start_line",
                "endline" => "end_line",
                other => other,
            };
            self.trouble(format!("`{name}=\"{text}\"` is not a line number"))
        })
    }

    pub(super) fn flag(&mut self, names: &[&str]) -> Result<bool, BlockTrouble> {
        let flag = self.attributes.take_flag(names);
        flag.map_err(|name| self.trouble(format!("`{name}` is `true` or `false`")))
    }

    pub(super) fn text(&mut self, place: BodyPlace) -> String {
        let mut body = Body::new(self.lines.unwrap_or_default(), self.around, place);
        let text = body.text();
        self.repairs.append(&mut body.repairs);
        text
    }

    /// The text for a file, and what a page did to it.
    pub(super) fn lines_of(
        &mut self,
        path: &RelPath,
        place: fn(FileContent) -> BodyPlace,
    ) -> String {
        let name = path.file_name();
        let text = self.text(place(FileContent::of(name)));
        self.damage = damage::seen(name, &text, self.attributes.curly > 0);
        text
    }

    pub(super) fn words(&mut self) -> String {
        self.text(BodyPlace::Words).trim().to_owned()
    }

    /// The body, or what stands in its place in the tag.
    pub(super) fn summary(&mut self) -> String {
        match self.words() {
            words if words.is_empty() => {
                let given = self
                    .attributes
                    .take(&["summary", "message", "text", "output"]);
                given.unwrap_or_default().trim().to_owned()
            }
            words => words,
        }
    }
}
