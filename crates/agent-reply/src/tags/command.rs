//! A tag and its body, turned into a typed command.

use std::borrow::Cow;

use agent_protocol::unseen::is_stray;
use agent_protocol::{Command, END_OF_FILE, Edit, PathProblem, RelPath, Selection};

use crate::candidate::BlockTrouble;
use crate::line::first_word;
use crate::tags::attributes::{Attributes, Doubt};
use crate::tags::body::{Around, Body, BodyPlace, FileContent};
use crate::tags::name::Name;
use crate::tags::{damage, harmless};
use crate::{changes, file_name, link, script, workspace_root};

/// A command made of a tag.
#[derive(Debug)]
pub(crate) struct BuiltCommand {
    pub(crate) command: Result<Command, BlockTrouble>,
    /// Attributes that mean nothing to the command.
    pub(crate) unknown: Vec<String>,
    /// How many attributes stood in curly quotes.
    pub(crate) curly: usize,
    /// Repairs in the body, and on how many lines.
    pub(crate) repairs: Vec<(&'static str, usize)>,
    /// Damage to the body that nobody can undo.
    pub(crate) damage: Option<&'static str>,
}

/// An opening tag whose attributes are read, so that its closing mark is known.
#[derive(Debug)]
pub(crate) struct Opening {
    pub(crate) name: Name,
    attributes: Attributes,
    /// The mark that its closing tag carries.
    pub(crate) mark: Option<String>,
}

impl Opening {
    /// Reads the attributes of a tag.
    pub(crate) fn read(name: Name, attributes: &str) -> Self {
        let mut attributes = Attributes::read(attributes);
        let mark = attributes.take("end").filter(|mark| !mark.is_empty());
        Self {
            name,
            attributes,
            mark,
        }
    }

    /// A few words that tell it from its neighbours: `CREATE_FILE src/main.rs`.
    pub(crate) fn subject(&self) -> String {
        match self.attributes.peek(PATH) {
            Some(path) => format!("{} {path}", self.name.as_str()),
            None => self.name.as_str().to_owned(),
        }
    }

    /// Returns true if the lines below it must be its body.
    pub(crate) fn needs_body(&self) -> bool {
        self.name.needs_body()
            && !(self.name == Name::RunCommand && self.attributes.peek(SCRIPT).is_some())
    }

    /// Returns true if several lines below it can be its body, although it can do without.
    pub(crate) fn may_have_lines(&self) -> bool {
        match self.name {
            Name::Done => true,
            Name::ReadFile | Name::Outline => self.attributes.peek(PATHS).is_none(),
            _ => false,
        }
    }

    /// The tag that closes it.
    pub(crate) fn closing(&self) -> String {
        match &self.mark {
            Some(mark) => format!("[/{} {mark}]", self.name.as_str()),
            None => format!("[/{}]", self.name.as_str()),
        }
    }
}

/// Turns a tag and the lines of its body, if it has one, into a command.
pub(crate) fn build(opening: Opening, lines: Option<&[&str]>, around: Around<'_>) -> BuiltCommand {
    let mut tag = Tag {
        name: opening.name,
        attributes: opening.attributes,
        lines,
        around,
        repairs: Vec::new(),
        damage: None,
    };
    let mut command = match tag.doubt() {
        Some(trouble) => Err(trouble),
        None => tag.command(),
    };
    if let (Some(name), Err(_)) = (&tag.attributes.unclosed, &command) {
        command = Err(tag.trouble(format!("the quote after `{name}=` is not closed")));
    }
    if command.is_ok()
        && let Some(trouble) = tag.neglected()
    {
        command = Err(trouble);
    }
    let unknown = match &command {
        Ok(_) => tag.attributes.unknown(),
        Err(_) => Vec::new(),
    };
    BuiltCommand {
        unknown: unknown.into_iter().map(str::to_owned).collect(),
        command,
        curly: tag.attributes.curly,
        repairs: tag.repairs,
        damage: tag.damage,
    }
}

const PATH: &str = "path file filename filepath target";
const SCRIPT: &str = "command cmd script";
const WORKING_DIRECTORY: &str = "cwd workdir workingdirectory workingdir dir directory";
const FROM: &str = "from path source src old oldpath";
const TO: &str = "to destination dest dst new newpath target";
const PATHS: &str = "path paths file files filename filepath target glob";
const DIRECTORY: &str = "path paths dir directory folder file";
const START: &str = "startline start from fromline line";
const END: &str = "endline to toline stop";

struct Tag<'a> {
    name: Name,
    attributes: Attributes,
    lines: Option<&'a [&'a str]>,
    around: Around<'a>,
    repairs: Vec<(&'static str, usize)>,
    damage: Option<&'static str>,
}

impl Tag<'_> {
    /// The trouble with a command that changes or runs something and is not certain enough.
    fn doubt(&self) -> Option<BlockTrouble> {
        let doubt = self.attributes.doubt.as_ref();
        let message = match doubt.filter(|_| self.name.has_effects())? {
            Doubt::Unquoted(text) => format!("`{text}` can be read in two ways without quotes"),
            Doubt::Unclosed(name) => format!("the quote after `{name}=` is not closed"),
        };
        let hint = format!(
            "Send it again with each value in quotes, as in `{}`.",
            self.name.example()
        );
        Some(BlockTrouble::new(message, hint))
    }

    /// The trouble with unknown attributes of a command that changes or runs something.
    fn neglected(&self) -> Option<BlockTrouble> {
        const MOST_NAMED: usize = 4;
        let mut unknown = harmless::meaningful(self.name, &self.attributes);
        unknown.truncate(MOST_NAMED);
        let named = format!("`{}`", unknown.join("`, `"));
        let (verb, it) = match unknown.len() {
            0 => return None,
            1 => ("is", "it"),
            _ => ("are", "them"),
        };
        let advice = match self.name {
            Name::InsertText => "; the text goes below `line`",
            _ => "",
        };
        Some(BlockTrouble::new(
            format!("{named} {verb} not known here, and without {it} something else might be done"),
            format!("Send it again without {named}{advice}."),
        ))
    }

    fn command(&mut self) -> Result<Command, BlockTrouble> {
        match self.name {
            Name::CreateFile => self.create(),
            Name::EditFile => self.edit(),
            Name::InsertText => self.insert(),
            Name::ApplyPatch => self.patch(),
            Name::DeleteFile => self.path().map(|path| Command::DeleteFile { path }),
            Name::MoveFile => Ok(Command::MoveFile {
                from: self.path_named(FROM)?,
                to: self.path_named(TO)?,
            }),
            Name::ReadFile => self.read(),
            Name::ListFiles => Ok(Command::ListFiles {
                path: self.places(DIRECTORY)?,
                glob: self.attributes.take("glob pattern"),
            }),
            Name::SearchText => self.search(),
            Name::Outline => self.outline(),
            Name::RunCommand => self.run(),
            Name::GitStatus => self.directory().map(|path| Command::GitStatus { path }),
            Name::GitDiff => self.directory().map(|path| Command::GitDiff { path }),
            Name::Plan => Ok(Command::Plan { text: self.words() }),
            Name::Message => Ok(Command::Message { text: self.words() }),
            Name::AskUser => match self.words() {
                question if question.is_empty() => Err(self.trouble("the question is empty")),
                question => Ok(Command::AskUser { question }),
            },
            Name::Done => Ok(Command::Done {
                summary: self.summary(),
            }),
        }
    }

    fn create(&mut self) -> Result<Command, BlockTrouble> {
        let path = self.path()?;
        let content = self.lines_of(&path, BodyPlace::File)?;
        damage::refuse_changes(path.file_name(), &content)?;
        damage::refuse_fences(path.file_name(), &content)?;
        Ok(Command::create_file(path, content))
    }

    fn edit(&mut self) -> Result<Command, BlockTrouble> {
        let path = self.path()?;
        let (start, end) = self.range()?;
        if self.lines.is_some_and(changes::begin_with_edits) || (start, end) == (None, None) {
            let body = self.text(BodyPlace::Changes);
            return changes::edits(path, &body, start);
        }
        let Some(start_line) = start else {
            return Err(self.trouble("`end_line` needs `start_line`"));
        };
        self.around.first_number = start;
        let text = self.lines_of(&path, BodyPlace::Part)?;
        damage::refuse_marked_lines(path.file_name(), &text)?;
        let edit = Edit::Lines {
            start_line,
            end_line: end.unwrap_or(start_line),
            text,
        };
        Ok(Command::EditFile { path, edit })
    }

    fn insert(&mut self) -> Result<Command, BlockTrouble> {
        const LINE: &str = "line afterline after insertline startline at";
        let path = self.path()?;
        let line = match self.attributes.take(LINE) {
            None => return Err(self.trouble("`line` is missing")),
            Some(word) if word.trim().eq_ignore_ascii_case("end") => END_OF_FILE,
            Some(number) => self.parsed("line", &number)?,
        };
        self.around.first_number = line.checked_add(1);
        let text = self.lines_of(&path, BodyPlace::Part)?;
        if text.is_empty() {
            return Err(self.trouble("there is no text to insert"));
        }
        damage::refuse_marked_lines(path.file_name(), &text)?;
        Ok(Command::InsertText { path, line, text })
    }

    fn patch(&mut self) -> Result<Command, BlockTrouble> {
        let path = match self.taken_path(PATH) {
            Some(text) => Some(self.checked(&text)?),
            None => None,
        };
        let body = self.text(BodyPlace::Changes);
        let changes = changes::patch(&body, path.as_ref())?;
        Ok(Command::ApplyPatch { changes })
    }

    fn read(&mut self) -> Result<Command, BlockTrouble> {
        let path = self.files()?;
        let (start_line, end_line) = self.range()?;
        let numbered = self.flag("numbered linenumbers numbers")?;
        Ok(Command::ReadFile {
            path,
            start_line,
            end_line,
            numbered,
        })
    }

    fn search(&mut self) -> Result<Command, BlockTrouble> {
        let pattern = self
            .attributes
            .take("pattern query text search")
            .unwrap_or_else(|| self.words());
        if pattern.is_empty() {
            return Err(self.trouble("`pattern` is missing"));
        }
        Ok(Command::SearchText {
            pattern,
            path: self.places("path paths searchpath dir directory file")?,
            glob: self.attributes.take("glob include files"),
            regex: self.flag("regex isregex regexp")?,
            case_sensitive: self.flag("casesensitive matchcase")?,
            context: self.context()?,
        })
    }

    fn outline(&mut self) -> Result<Command, BlockTrouble> {
        let written = self.written_files();
        let path = Selection::parse_directory(&workspace_root::relative(&written))
            .map_err(|problem| unusable(&problem))?;
        Ok(Command::Outline { path })
    }

    fn context(&mut self) -> Result<u32, BlockTrouble> {
        let Some(text) = (self.attributes).take("context contextlines c") else {
            return Ok(0);
        };
        let number = text.trim().parse();
        number.map_err(|_| self.trouble(format!("`context=\"{text}\"` is not a number of lines")))
    }

    fn run(&mut self) -> Result<Command, BlockTrouble> {
        let timeout = match self.attributes.take("timeout timeoutseconds") {
            Some(text) => Some(seconds(&text).ok_or_else(|| {
                self.trouble(format!("`timeout=\"{text}\"` is not a number of seconds"))
            })?),
            None => None,
        };
        let given = self.attributes.take(SCRIPT);
        let mut script = self.text(BodyPlace::Script);
        if let Some(given) = &given
            && ![given.trim(), ""].contains(&script.trim())
        {
            return Err(self.trouble("its attribute and its body say different things"));
        }
        if script.trim().is_empty() {
            script = given.unwrap_or_default();
        }
        if script.trim().is_empty() {
            return Err(self.trouble("there is nothing to run"));
        }
        script.truncate(script.trim_end().len());
        if let Some(straight) = script::straightened(&script) {
            script = straight;
            self.repairs
                .push(("straightened curly quotes in a script", 1));
        } else if script::has_only_curly_quotes(&script) {
            self.damage = Some("its quotes are curly, which a shell does not take for quotes");
        }
        if let Some(directory) = self.attributes.take(WORKING_DIRECTORY) {
            script = script::in_directory(&directory, script);
        }
        Ok(Command::RunCommand { script, timeout })
    }

    fn trouble(&self, message: impl Into<String>) -> BlockTrouble {
        BlockTrouble::new(message, format!("Write it as `{}`.", self.name.example()))
    }
}

fn unusable(problem: &PathProblem) -> BlockTrouble {
    BlockTrouble::new(
        problem.to_string(),
        "Name a file by its path relative to the workspace, as in `src/main.rs`.",
    )
}

/// `60`, `60s` or `2m`, in seconds.
fn seconds(text: &str) -> Option<u32> {
    let text = text.trim();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number: u32 = text[..digits].parse().ok()?;
    let unit = match text[digits..].trim().to_ascii_lowercase().as_str() {
        "" | "s" | "sec" | "secs" | "second" | "seconds" => 1,
        "m" | "min" | "mins" | "minute" | "minutes" => 60,
        "h" | "hour" | "hours" => 3600,
        _ => return None,
    };
    number.checked_mul(unit)
}

impl Tag<'_> {
    /// The required path, which may also be all that stands in the body of a command without one.
    fn path(&mut self) -> Result<RelPath, BlockTrouble> {
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

    fn path_named(&mut self, names: &str) -> Result<RelPath, BlockTrouble> {
        match self.taken_path(names) {
            Some(text) => self.checked(&text),
            None => Err(self.trouble(format!("`{}` is missing", first_word(names)))),
        }
    }

    fn checked(&mut self, text: &str) -> Result<RelPath, BlockTrouble> {
        let plain = file_name::without_marks(text);
        let path = workspace_root::path(plain).map_err(|problem| unusable(&problem))?;
        if plain.len() < text.len() {
            self.repairs.push(("removed the marks around a path", 1));
        }
        if RelPath::is_escaped(text) {
            self.repairs.push(("read `\\_` in a path as `_`", 1));
        }
        Ok(path)
    }

    /// The required files.
    fn files(&mut self) -> Result<Selection, BlockTrouble> {
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
    fn written_files(&mut self) -> String {
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
    fn taken_path(&mut self, names: &str) -> Option<String> {
        let text = self.attributes.take(names)?;
        Some(self.unlinked(text))
    }

    /// Paths as they were before a page made links of them, or put what nobody sees around them.
    fn unlinked(&mut self, text: String) -> String {
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
    fn places(&mut self, names: &str) -> Result<Option<Selection>, BlockTrouble> {
        match self.taken_path(names) {
            Some(text) => Selection::parse_directory(&workspace_root::relative(&text))
                .map_err(|problem| self.trouble(problem.to_string())),
            None => Ok(None),
        }
    }

    /// A directory, where none means the whole workspace.
    fn directory(&mut self) -> Result<Option<RelPath>, BlockTrouble> {
        match self.taken_path(DIRECTORY) {
            Some(text) => RelPath::parse_directory(&workspace_root::relative(&text))
                .map_err(|problem| self.trouble(problem.to_string())),
            None => Ok(None),
        }
    }

    /// The lines that are meant, from 1: `start_line` and `end_line`, or `lines="3-7"`.
    fn range(&mut self) -> Result<(Option<u32>, Option<u32>), BlockTrouble> {
        let (start, end) = match self.attributes.take("lines range linerange") {
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

    fn number(&mut self, names: &str) -> Result<Option<u32>, BlockTrouble> {
        match self.attributes.take(names) {
            Some(text) => self.parsed(first_word(names), &text).map(Some),
            None => Ok(None),
        }
    }

    fn parsed(&self, name: &str, text: &str) -> Result<u32, BlockTrouble> {
        text.trim().parse().map_err(|_| {
            let name = match name {
                "startline" => "start_line",
                "endline" => "end_line",
                other => other,
            };
            self.trouble(format!("`{name}=\"{text}\"` is not a line number"))
        })
    }

    fn flag(&mut self, names: &str) -> Result<bool, BlockTrouble> {
        let flag = self.attributes.take_flag(names);
        flag.map_err(|name| self.trouble(format!("`{name}` is `true` or `false`")))
    }

    fn text(&mut self, place: BodyPlace) -> String {
        let mut body = Body::new(self.lines.unwrap_or_default(), self.around, place);
        let text = body.text();
        self.repairs.append(&mut body.repairs);
        text
    }

    /// The text for a file, and what a page did to it.
    fn lines_of(
        &mut self,
        path: &RelPath,
        place: fn(FileContent) -> BodyPlace,
    ) -> Result<String, BlockTrouble> {
        let name = path.file_name();
        let text = self.text(place(FileContent::of(name)));
        damage::refuse_lost_indentation(name, &text)?;
        self.damage = damage::seen(name, &text, self.attributes.curly > 0);
        Ok(text)
    }

    fn words(&mut self) -> String {
        self.text(BodyPlace::Words).trim().to_owned()
    }

    /// The body, or what stands in its place in the tag.
    fn summary(&mut self) -> String {
        match self.words() {
            words if words.is_empty() => {
                let given = self.attributes.take("summary message text output");
                given.unwrap_or_default().trim().to_owned()
            }
            words => words,
        }
    }
}
