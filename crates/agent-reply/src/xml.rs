//! Tool calls in XML, as Claude, Cline, Roo, Qwen, GLM, `OpenHands` and bolt write them.
//!
//! ```text
//! call   = "<invoke name=" name ">" ("<parameter name=" key ">" value "</parameter>")* "</invoke>"
//!        | "<tool name=" name ">" ("<param name=" key ">" value "</param>")* "</tool>"
//!        | "<xai:function_call name=" name ">" the same as in invoke "</xai:function_call>"
//!        | "<tool_call>" (json | name ("<arg_key>" key "</arg_key><arg_value>" value "</arg_value>")*
//!          | function) "</tool_call>"
//! function = "<function=" name ">" (json | ("<parameter=" key ">" value "</parameter>")*) "</function>"
//! element = "<" tool ">" ("<" key ">" value "</" key ">")* "</" tool ">"
//! script = "<execute_bash>" text "</execute_bash>"
//! file   = "<file path=" name ">" text "</file>"       and the elements of `ARTIFACTS`
//!        | name, on its own line, "<source>" text "</source>"
//!        | "<boltAction type=" ("file" | "shell") ["filePath=" name] ">" text "</boltAction>"
//! ```
//!
//! Each begins its line. An element is a call only if its name is of two words and in the table of
//! tools: `<run>` and `<message>` are elements of other formats. All that stands in a call is its
//! own. A call without an end is cut off, one whose parameters cannot be told apart is a problem.

use std::cell::OnceCell;
use std::collections::HashMap;

use serde_json::{Map, Value};

use agent_protocol::{Command, ContentSource};

use super::candidate::{BlockCandidate, BlockCertainty, BlockTrouble, CandidateItem};
use super::tools::{self, Call};
use super::{code_fence, file_name, json, search_replace, workspace_root};
use crate::line::has_word;
use crate::trim::trim;
use crate::work;

/// Where elements are closed: of each name the lines.
#[derive(Default)]
pub(super) struct XmlEnds {
    lines: HashMap<String, Vec<usize>>,
}

impl XmlEnds {
    /// Looks for the ends of all elements of a reply.
    pub(super) fn of(lines: &[&str]) -> Self {
        let mut ends = Self::default();
        for (at, line) in lines.iter().enumerate() {
            let text = trim(line);
            if let Some(name) = last_closed(text) {
                ends.lines.entry(name.to_owned()).or_default().push(at);
            }
        }
        ends
    }

    /// The first line from `at` on that ends with the end of this element.
    pub(super) fn next(&self, name: &str, at: usize) -> Option<usize> {
        let lines = self.lines.get(name)?;
        lines.get(lines.partition_point(|line| *line < at)).copied()
    }
}

/// The element that a line closes at its end.
fn last_closed(text: &str) -> Option<&str> {
    let inner = text.strip_suffix('>')?;
    let start = inner.rfind("</")?;
    let name = &inner[start + 2..];
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_-:".contains(&byte);
    (!name.is_empty() && name.bytes().all(is_name)).then_some(name)
}

/// The opening tag of an element.
struct Element<'a> {
    name: &'a str,
    /// Everything between its name and `>`.
    attributes: &'a str,
    /// The rest of its line.
    rest: &'a str,
    /// It closes itself: `<lov-delete file_path="a" />`.
    is_empty: bool,
}

impl<'a> Element<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let text = trim(line).strip_prefix('<')?;
        let (tag, rest) = text.split_once('>')?;
        let end = tag
            .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ':')))
            .unwrap_or(tag.len());
        let (name, attributes) = tag.split_at(end);
        let divided = attributes.is_empty() || attributes.starts_with([' ', '=']);
        (!name.is_empty() && divided).then_some(Self {
            name,
            attributes,
            rest,
            is_empty: attributes.ends_with('/'),
        })
    }

    /// Its name without a prefix.
    fn local_name(&self) -> &'a str {
        self.name.rsplit(':').next().unwrap_or_default()
    }

    /// Returns true if it is a call, or shows the file of this path.
    fn is_call(&self, path: Option<&str>) -> bool {
        match self.local_name() {
            "function_calls" | "tool_calls" | "invoke" | "tool_call" | "boltArtifact"
            | "boltAction" => true,
            "function" => self.attributes.starts_with('='),
            "tool" | "function_call" => self.attribute("name").is_some_and(tools::is_known),
            "file" | "antArtifact" | "artifact" | "source" => path.is_some(),
            _ if artifact(self, "").is_some() => true,
            name => name.contains('_') && tools::is_known(name) && self.attributes.is_empty(),
        }
    }

    fn attribute(&self, key: &str) -> Option<&'a str> {
        let (_, rest) = self.attributes.split_once(&format!(" {key}="))?;
        let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        rest[1..].split_once(quote).map(|(value, _)| value)
    }
}

/// The name of an element, the tool that it is, and its attributes with their parameters.
type Artifact = (
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);

/// Elements with which pages that build programs write, delete and rename files.
const ARTIFACTS: [Artifact; 8] = [
    ("dyad-write", "create_file", &[("path", "path")]),
    ("dyad-delete", "delete_file", &[("path", "path")]),
    (
        "dyad-rename",
        "move_file",
        &[("from", "source"), ("to", "destination")],
    ),
    ("lov-write", "create_file", &[("file_path", "path")]),
    ("lov-delete", "delete_file", &[("file_path", "path")]),
    (
        "lov-rename",
        "move_file",
        &[
            ("original_file_path", "source"),
            ("new_file_path", "destination"),
        ],
    ),
    ("write_file", "create_file", &[("path", "path")]),
    ("create_file", "create_file", &[("path", "path")]),
];

/// The call of an element of `ARTIFACTS`, if it has all of its attributes.
fn artifact(element: &Element<'_>, inner: &str) -> Option<CandidateItem> {
    let artifacts = ARTIFACTS.iter();
    let (_, tool, attributes) = artifacts
        .copied()
        .find(|(name, ..)| *name == element.name)?;
    let mut parameters = Map::new();
    for (attribute, parameter) in attributes {
        let value = Value::from(element.attribute(attribute)?);
        parameters.insert((*parameter).to_owned(), value);
    }
    // A value in quotes breaks at the first quote of the content.
    let mut texts = ["content", "contents", "text", "code"].iter();
    if texts.any(|key| element.attribute(key).is_some()) {
        return Some(problem("its content stands in an attribute"));
    }
    if tool == "create_file" {
        parameters.insert("content".to_owned(), Value::from(value_text(inner)));
    }
    Some(tools::certain(tool, parameters))
}

/// The file that an element shows: an attribute names it, or the line above.
fn shown_path<'a>(lines: &[&'a str], at: usize, element: &Element<'a>) -> Option<&'a str> {
    let named = match element.name {
        "file" => element.attribute("path").or(element.attribute("name")),
        "antArtifact" | "artifact" => element.attribute("path").or(element.attribute("title")),
        "source" if element.attributes.is_empty() => {
            let is_edit = lines
                .get(at + 1)
                .is_some_and(|line| search_replace::is_head(line));
            at.checked_sub(1)
                .filter(|_| !is_edit)
                .and_then(|above| file_name::alone(lines[above]))
        }
        _ => None,
    };
    named.filter(|name| file_name::is_unmistakable(name))
}

/// The last line of the call that begins on a line, if one does.
pub(super) fn last_line(lines: &[&str], at: usize, ends: &OnceCell<XmlEnds>) -> Option<usize> {
    let element = Element::read(lines[at]).filter(|element| !element.is_empty)?;
    let is_call = element.is_call(shown_path(lines, at, &element));
    is_call.then(|| {
        ends.get_or_init(|| XmlEnds::of(lines))
            .next(element.name, at)
    })?
}

/// The call that begins on the line `at`; `above` lines stand over these in the reply.
pub(super) fn find<'e>(
    lines: &[&str],
    at: usize,
    above: usize,
    ends: impl FnOnce() -> &'e XmlEnds,
) -> Option<BlockCandidate> {
    let element = Element::read(lines[at])?;
    if element.is_empty {
        let item = artifact(&element, "");
        return item.map(|item| BlockCandidate::whole(at..at + 1, vec![item]));
    }
    let path = shown_path(lines, at, &element);
    if !element.is_call(path) {
        return None;
    }
    let name = element.local_name();
    let last = ends()
        .next(element.name, at + above)
        .map(|last| last - above);
    let Some(last) = last.filter(|last| *last < lines.len()) else {
        return unclosed(lines, at, &element);
    };
    let inner = inner_text(lines, at, last, &element);
    work::count(last - at);
    // What holds no call is passed over as a whole, so that nothing in it is looked at twice.
    let items = match path {
        Some(path) => Some(vec![file(path, &inner, ContentSource::CodeBlock)]),
        None => artifact(&element, &inner)
            .map(|item| vec![item])
            .or_else(|| items(name, &element, &inner)),
    };
    let items = items.unwrap_or_else(|| vec![problem("it holds no call that can be read")]);
    let start = at - usize::from(name == "source");
    let block = code_fence::with_fences(lines, start..last + 1);
    Some(BlockCandidate::whole(block, items))
}

/// Text between the tags of an element, which ends on the line `last`.
fn inner_text(lines: &[&str], at: usize, last: usize, element: &Element<'_>) -> String {
    let closing = format!("</{}>", element.name);
    let mut inner = element.rest.to_owned();
    for line in &lines[at + 1..=last] {
        inner.push('\n');
        inner.push_str(line);
    }
    let end = inner.rfind(&closing).unwrap_or(inner.len());
    inner.truncate(end);
    inner
}

/// A call that has no end: cut off, if it can be nothing else.
fn unclosed(lines: &[&str], at: usize, element: &Element<'_>) -> Option<BlockCandidate> {
    let is_certain = matches!(
        element.name,
        "invoke" | "function_calls" | "tool_call" | "boltAction"
    ) || tools::is_known(element.name);
    if !is_certain {
        return None;
    }
    let end = (at + 1..lines.len())
        .find(|line| code_fence::is_bare(lines[*line]) || code_fence::is_tag(lines[*line]))
        .unwrap_or(lines.len());
    Some(BlockCandidate {
        span: at..end,
        items: vec![problem(&format!("`</{}>` is missing", element.name))],
        certainty: BlockCertainty::open_if(code_fence::skip_blank(lines, end) == lines.len()),
    })
}

fn items(name: &str, element: &Element<'_>, inner: &str) -> Option<Vec<CandidateItem>> {
    Some(match name {
        "function_calls" | "tool_calls" => invocations(inner)?,
        "invoke" => vec![invocation(element.attribute("name")?, inner)],
        "tool" | "function_call" => {
            let whole = inner.replace("<param name=", "<parameter name=");
            let whole = whole.replace("</param>", "</parameter>");
            vec![invocation(element.attribute("name")?, &whole)]
        }
        "tool_call" => tool_call(inner)?,
        "function" => {
            let name = element.attributes.trim_start_matches('=').trim_matches('"');
            vec![function(name, inner)]
        }
        "boltArtifact" => bolt_actions(inner),
        "boltAction" => vec![bolt_action(element, inner)],
        "execute_bash" | "bash_command" if !inner.trim_start().starts_with('<') => {
            vec![run(&value_text(inner))]
        }
        tool => vec![called(tool, elements(inner))],
    })
}

/// All calls in `<function_calls>`.
fn invocations(inner: &str) -> Option<Vec<CandidateItem>> {
    let mut items = Vec::new();
    let mut rest = inner;
    while let Some(start) = rest.find("invoke name=") {
        let tag = rest[..start].rfind('<')?;
        let prefix = &rest[tag + 1..start];
        let (head, body) = rest[start..].split_once('>')?;
        let name = head["invoke name=".len()..].trim_matches(['"', '\'']);
        let closing = format!("</{prefix}invoke>");
        let Some((body, below)) = body.split_once(&closing) else {
            items.push(problem("`</invoke>` is missing"));
            break;
        };
        items.push(invocation(name, body));
        rest = below;
    }
    (!items.is_empty()).then_some(items)
}

fn invocation(name: &str, inner: &str) -> CandidateItem {
    called(name, parameters(inner, "parameter name="))
}

/// A call in `<tool_call>`: JSON, the name over keys and values, or a function.
fn tool_call(inner: &str) -> Option<Vec<CandidateItem>> {
    let text = trim(inner);
    if let Some(rest) = text.strip_prefix("<function=") {
        let (name, body) = rest.split_once('>')?;
        return Some(vec![function(name, body)]);
    }
    if text.starts_with(['{', '[']) {
        let Some(value) = json::read_value(text) else {
            return Some(vec![problem("the JSON in it cannot be read")]);
        };
        return Call::in_value(&value).map(|call| vec![tools::item(&call)]);
    }
    let (name, body) = text.split_once("<arg_key>").unwrap_or((text, ""));
    if name.trim().contains(char::is_whitespace) || name.trim().is_empty() {
        return None;
    }
    let mut parameters = Ok(Map::new());
    for pair in body
        .split("<arg_key>")
        .filter(|pair| !pair.trim().is_empty())
    {
        let read = pair.split_once("</arg_key>").and_then(|(key, rest)| {
            let (_, value) = rest.split_once("<arg_value>")?;
            Some((key, value.rsplit_once("</arg_value>")?.0))
        });
        parameters = match (parameters, read) {
            (Ok(map), Some((key, value))) => insert(map, key, value),
            _ => Err("its keys and values cannot be told apart".to_owned()),
        };
    }
    Some(vec![called(name, parameters)])
}

/// `<function=name>` with JSON or with parameters in it.
fn function(name: &str, inner: &str) -> CandidateItem {
    let inner = inner
        .rsplit_once("</function>")
        .map_or(inner, |(inner, _)| inner);
    if trim(inner).starts_with('{') {
        return match json::read_value(trim(inner)) {
            Some(Value::Object(parameters)) => tools::certain(name, parameters),
            _ => problem("the JSON in it cannot be read"),
        };
    }
    called(name, parameters(inner, "parameter="))
}

/// Parameters that each begin with this tag, `<` and the key aside.
fn parameters(inner: &str, tag: &str) -> Result<Map<String, Value>, String> {
    let mut map = Map::new();
    let mut parts = inner.split(tag);
    let mut prefix = last_tag_prefix(parts.next().unwrap_or_default());
    for part in parts {
        let unclear = || "its parameters cannot be told apart".to_owned();
        let (key, rest) = part.split_once('>').ok_or_else(unclear)?;
        let closing = format!("</{prefix}parameter>");
        let (value, below) = rest.rsplit_once(&closing).ok_or_else(unclear)?;
        map = insert(map, key.trim().trim_matches(['"', '\'']), value)?;
        prefix = last_tag_prefix(below);
    }
    Ok(map)
}

/// The prefix of the tag that follows: the text behind the last `<`.
fn last_tag_prefix(text: &str) -> &str {
    text.rsplit_once('<').map_or("", |(_, prefix)| prefix)
}

/// Keys as elements, as Cline and Roo write them.
fn elements(inner: &str) -> Result<Map<String, Value>, String> {
    /// Elements that only hold others.
    const ROOMS: [&str; 5] = ["args", "file", "files", "parameters", "arguments"];
    let mut map = Map::new();
    let mut rest = inner;
    while let Some(start) = rest.find('<') {
        let Some((key, body)) = rest[start + 1..].split_once('>') else {
            break;
        };
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if key.starts_with('/') || ROOMS.contains(&key) {
            rest = body;
            continue;
        }
        if key.is_empty() || !key.bytes().all(is_name) {
            return Err("its parameters cannot be told apart".to_owned());
        }
        let closing = format!("</{key}>");
        // A file may hold the closing tag: the last one counts where the text of a file stands.
        let is_text = matches!(key, "content" | "diff" | "file_text" | "text" | "patch");
        let ends = if is_text {
            body.rfind(&closing)
        } else {
            body.find(&closing)
        };
        let end = ends.ok_or_else(|| format!("`{closing}` is missing"))?;
        map = insert_again(map, key, &body[..end]);
        rest = &body[end + closing.len()..];
    }
    Ok(map)
}

/// A value without the mark of XML around text that is not escaped: `<![CDATA[ ... ]]>`.
fn without_cdata(value: &str) -> &str {
    let inner = trim(value).strip_prefix("<![CDATA[");
    inner
        .and_then(|inner| inner.strip_suffix("]]>"))
        .unwrap_or(value)
}

/// Adds a parameter; the same one twice is nobody's call.
fn insert(
    mut map: Map<String, Value>,
    key: &str,
    value: &str,
) -> Result<Map<String, Value>, String> {
    match map.insert(key.trim().to_owned(), Value::from(without_cdata(value))) {
        None => Ok(map),
        Some(_) => Err(format!("it has `{key}` twice")),
    }
}

/// Adds a parameter that may come again, as the paths of several files.
fn insert_again(mut map: Map<String, Value>, key: &str, value: &str) -> Map<String, Value> {
    let value = Value::from(without_cdata(value));
    match map.get_mut(key) {
        Some(Value::Array(values)) => values.push(value),
        Some(first) => *first = Value::Array(vec![first.take(), value]),
        None => {
            map.insert(key.to_owned(), value);
        }
    }
    map
}

/// The parameters as the elements mean them: lists and objects where a parameter is one, else texts.
///
/// Of the two texts of an edit, one may begin with a line end that is none of the element: the other has
/// none there. Such texts are taken as they stand.
fn as_meant(parameters: Map<String, Value>) -> Map<String, Value> {
    let is_framed = |keys: &str| {
        let value = parameters
            .iter()
            .find(|(key, _)| tools::is_among(keys, key));
        let text = value.and_then(|(_, value)| value.as_str());
        text.filter(|text| !text.is_empty())
            .map(|text| text.starts_with('\n'))
    };
    let framed = is_framed(tools::OLD).zip(is_framed(tools::NEW));
    let is_literal = framed.is_some_and(|(old, new)| old != new);
    let is_of_edit =
        |key: &str| tools::is_among(tools::OLD, key) || tools::is_among(tools::NEW, key);
    let meant = |key: &str, value: Value| match value {
        Value::String(text) if !(is_literal && is_of_edit(key)) => value_of(key, &text),
        Value::Array(values) => {
            let texts = values.iter().filter_map(Value::as_str);
            texts.map(|text| value_of(key, text)).collect()
        }
        value => value,
    };
    let pairs = parameters.into_iter().map(|(key, value)| {
        let value = meant(&key, value);
        (key, value)
    });
    pairs.collect()
}

/// A value: a list or an object where a parameter is one, else text.
fn value_of(key: &str, value: &str) -> Value {
    let is_list = matches!(
        key,
        "edits" | "replacements" | "view_range" | "paths" | "files" | "command"
    );
    let text = trim(value);
    if is_list
        && text.starts_with(['[', '{'])
        && let Some(value) = json::read_value(text)
    {
        return value;
    }
    Value::from(value_text(value))
}

/// The text of an element, without the line ends after its opening and before its closing tag.
fn value_text(value: &str) -> String {
    let value = without_cdata(value);
    let Some(text) = value.strip_prefix('\n') else {
        return value.to_owned();
    };
    let indent = text.rsplit_once('\n').map_or(text, |(_, last)| last);
    if indent.trim().is_empty() {
        text[..text.len() - indent.len()].to_owned()
    } else {
        format!("{text}\n")
    }
}

fn called(tool: &str, parameters: Result<Map<String, Value>, String>) -> CandidateItem {
    match parameters {
        Ok(parameters) => tools::certain(tool, as_meant(parameters)),
        Err(trouble) => problem(&format!(
            "the call of `{}` cannot be read: {trouble}",
            tool.trim()
        )),
    }
}

fn bolt_actions(inner: &str) -> Vec<CandidateItem> {
    let mut items = Vec::new();
    for part in inner.split("<boltAction").skip(1) {
        let line = format!("<boltAction{part}");
        let item = Element::read(&line).map(|element| {
            let body = element.rest.rsplit_once("</boltAction>");
            body.map_or_else(
                || problem("`</boltAction>` is missing"),
                |(body, _)| bolt_action(&element, body),
            )
        });
        items.extend(item);
    }
    items
}

fn bolt_action(element: &Element<'_>, inner: &str) -> CandidateItem {
    match (element.attribute("type"), element.attribute("filePath")) {
        (Some("file"), Some(path)) => file(path, inner, ContentSource::Command),
        (Some("shell"), _) => run(trim(inner)),
        _ => problem("a `boltAction` of this type cannot be done here"),
    }
}

fn run(script: &str) -> CandidateItem {
    let parameters = Map::from_iter([("command".to_owned(), Value::from(script))]);
    tools::certain("run", parameters)
}

fn file(path: &str, inner: &str, source: ContentSource) -> CandidateItem {
    let content = tools::ended(value_text(without_holder(path, inner)));
    match workspace_root::path(path) {
        Ok(path) => CandidateItem::Command(Command::CreateFile {
            path,
            content,
            source,
        }),
        Err(refused) => problem(&format!("the file cannot be written: {refused}")),
    }
}

/// The text of a file without an element of its own around it: `<file name="a.py"><content>`.
fn without_holder<'t>(path: &str, inner: &'t str) -> &'t str {
    const HOLDERS: &str = "content contents code text";
    const MARKUP: &str = "htm html plist svelte svg vue xaml xhtml xml xsd xsl";
    let text = inner.trim().strip_prefix('<');
    let held = text.and_then(|text| {
        let (name, rest) = text.split_once('>')?;
        let rest = rest.strip_suffix('>')?.strip_suffix(name)?;
        rest.strip_suffix("</").filter(|_| has_word(HOLDERS, name))
    });
    let is_markup = has_word(MARKUP, file_name::extension(path).unwrap_or_default());
    held.filter(|_| !is_markup).unwrap_or(inner)
}

fn problem(message: &str) -> CandidateItem {
    CandidateItem::Problem(BlockTrouble::new(
        format!("a call in XML was not done: {message}"),
        "send it as a command of the protocol, as in `[CREATE_FILE path=\"...\"]`",
    ))
}

#[cfg(test)]
mod tests {
    use agent_protocol::Edit;

    use super::*;

    fn items_in(text: &str) -> Vec<CandidateItem> {
        let lines: Vec<&str> = text.lines().collect();
        let ends = XmlEnds::of(&lines);
        let mut items = Vec::new();
        let mut at = 0;
        while at < lines.len() {
            match find(&lines, at, 0, || &ends) {
                Some(found) => {
                    at = found.span.end.max(at + 1);
                    items.extend(found.items);
                }
                None => at += 1,
            }
        }
        items
    }

    #[test]
    fn a_line_end_that_only_one_text_of_an_edit_begins_with_is_its_own() {
        let edit = |old: &str, new: &str| {
            let text = format!(
                "<invoke name=\"Edit\">\n<parameter name=\"file_path\">a</parameter>\n<parameter name=\"old_string\">{old}</parameter>\n<parameter name=\"new_string\">{new}</parameter>\n</invoke>"
            );
            match &items_in(&text)[..] {
                [
                    CandidateItem::Command(Command::EditFile {
                        edit: Edit::Replace { edits },
                        ..
                    }),
                ] => (edits[0].search.clone(), edits[0].replace.clone()),
                other => panic!("{text}: {other:?}"),
            }
        };
        for (old, new, expected) in [
            ("\nx", "x", ("\nx", "x")),
            ("x", "\nx", ("x", "\nx")),
            ("\nx", "\ny", ("x\n", "y\n")),
            ("\n x\n", "\ny\n", (" x\n", "y\n")),
            ("x", "y", ("x", "y")),
            ("\nx\n", "", ("x\n", "")),
        ] {
            let (search, replace) = edit(old, new);
            assert_eq!(
                (search.as_str(), replace.as_str()),
                expected,
                "{old:?}, {new:?}"
            );
        }
    }

    #[test]
    fn the_mark_of_text_that_is_not_escaped_is_none_of_it() {
        for content in [
            "<![CDATA[\na && b\n]]>",
            "\n<![CDATA[\na && b\n]]>\n",
            "<![CDATA[a && b\n]]>",
        ] {
            let text = format!(
                "<write_to_file>\n<path>a</path>\n<content>{content}</content>\n</write_to_file>"
            );
            let items = items_in(&text);
            let [CandidateItem::Command(Command::CreateFile { content, .. })] = &items[..] else {
                panic!("{text}: {items:?}");
            };
            assert_eq!(content, "a && b\n", "{text}");
        }
    }

    #[track_caller]
    fn case(text: &str, expected: &[&str]) {
        let got: Vec<String> = items_in(text)
            .iter()
            .map(|item| match item {
                CandidateItem::Command(command) => serde_json::to_string(command).unwrap(),
                CandidateItem::Problem(trouble) => trouble.message.clone(),
            })
            .collect();
        assert_eq!(got, expected, "{text}");
    }

    const READ: &str = r#"{"command":"READ_FILE","path":"a.py","numbered":false}"#;
    const EDIT: &str = r#"{"command":"EDIT_FILE","path":"a.py","edits":[{"search":"x","replace":"y","pattern":"text"}]}"#;

    #[test]
    fn every_way_to_write_a_call_is_read() {
        case(
            "<function_calls>\n<invoke name=\"Edit\">\n<parameter name=\"file_path\">a.py</parameter>\n\
             <parameter name=\"old_string\">x</parameter>\n<parameter name=\"new_string\">y</parameter>\n\
             </invoke>\n<invoke name=\"Read\">\n<parameter name=\"file_path\">a.py</parameter>\n</invoke>\n\
             </function_calls>",
            &[EDIT, READ],
        );
        case(
            "<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a.py\"}}\n</tool_call>",
            &[READ],
        );
        case(
            "<tool_call>read_file\n<arg_key>path</arg_key>\n<arg_value>a.py</arg_value>\n</tool_call>",
            &[READ],
        );
        case(
            "<tool_call>\n<function=read_file>\n<parameter=path>\na.py\n</parameter>\n</function>\n</tool_call>",
            &[READ],
        );
        case(
            "<function=read_file>{\"path\": \"a.py\"}</function>",
            &[READ],
        );
        case("<read_file>\n<path>a.py</path>\n</read_file>", &[READ]);
        case(
            "<xai:function_call name=\"read_file\">\n<parameter name=\"path\">a.py</parameter>\n</xai:function_call>",
            &[READ],
        );
        case(
            "<read_file>\n<args>\n<file>\n<path>a.py</path>\n</file>\n</args>\n</read_file>",
            &[READ],
        );
        case(
            "<replace_in_file>\n<path>a.py</path>\n<diff>\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n</diff>\n</replace_in_file>",
            &[
                r#"{"command":"EDIT_FILE","path":"a.py","edits":[{"search":"x\n","replace":"y\n"}]}"#,
            ],
        );
        case(
            "<execute_command>\n<command>make test</command>\n<requires_approval>false</requires_approval>\n</execute_command>",
            &[r#"{"command":"RUN_COMMAND","script":"make test"}"#],
        );
        case(
            "<execute_bash>\nls -l\n</execute_bash>",
            &[r#"{"command":"RUN_COMMAND","script":"ls -l"}"#],
        );
        case(
            "<attempt_completion>\n<result>\nAll done.\n</result>\n</attempt_completion>",
            &[r#"{"command":"DONE","summary":"All done."}"#],
        );
    }

    #[test]
    fn an_element_around_the_text_of_a_file_is_not_of_it() {
        let file = |name: &str, content: &str| {
            format!(
                r#"{{"command":"CREATE_FILE","path":"{name}","content":"{content}\n","source":"code_block"}}"#
            )
        };
        for name in ["a.py", "a.xml"] {
            let text = format!("<file name=\"{name}\">\n<content>\nx = 1\n</content>\n</file>");
            let content = match name {
                "a.py" => "x = 1",
                _ => r"<content>\nx = 1\n</content>",
            };
            case(&text, &[&file(name, content)]);
        }
    }

    #[test]
    fn what_stands_in_a_call_is_its_own() {
        case(
            "<write_to_file>\n<path>tests/call.json</path>\n<content>\n{\"tool\": \"run\", \"command\": \"make clean\"}\n</content>\n</write_to_file>",
            &[
                r#"{"command":"CREATE_FILE","path":"tests/call.json","content":"{\"tool\": \"run\", \"command\": \"make clean\"}\n"}"#,
            ],
        );
        case(
            "<write_to_file>\n<path>a.xml</path>\n<content>\n<content>x</content>\n</content>\n</write_to_file>",
            &[r#"{"command":"CREATE_FILE","path":"a.xml","content":"<content>x</content>\n"}"#],
        );
        case(
            "<boltArtifact id=\"x\" title=\"t\">\n<boltAction type=\"file\" filePath=\"a.js\">\nlet x;\n</boltAction>\n\
             <boltAction type=\"shell\">npm test</boltAction>\n</boltArtifact>",
            &[
                r#"{"command":"CREATE_FILE","path":"a.js","content":"let x;\n"}"#,
                r#"{"command":"RUN_COMMAND","script":"npm test"}"#,
            ],
        );
        case(
            "<file path=\"src/a.js\">\nlet x;\n</file>",
            &[
                r#"{"command":"CREATE_FILE","path":"src/a.js","content":"let x;\n","source":"code_block"}"#,
            ],
        );
    }

    #[test]
    fn what_cannot_be_told_apart_is_a_problem() {
        for text in [
            "<invoke name=\"Write\">\n<parameter name=\"path\">a</parameter>\n<parameter name=\"path\">b</parameter>\n</invoke>",
            "<invoke name=\"Write\">\n<parameter name=\"path\">a\n</invoke>",
            "<browser_action>\n<action>click</action>\n</browser_action>",
            "<write_to_file>\n<path>a",
        ] {
            let items = items_in(text);
            assert!(
                matches!(items[..], [CandidateItem::Problem { .. }]),
                "{text}: {items:?}"
            );
        }
    }

    #[test]
    fn other_elements_are_none_of_it() {
        for text in [
            "<run>\n<command>ls</command>\n</run>",
            "<div class=\"x\">\n</div>",
            "<file>\nx\n</file>",
            "<message>hi</message>",
            "<read_file path=\"a\">\n</read_file>",
            "a <invoke name=\"x\"></invoke>",
            "<project>\n<file_sets>\n</file_sets>\n</project>",
        ] {
            case(text, &[]);
        }
    }

    #[test]
    fn content_in_an_attribute_is_not_dropped() {
        for text in [
            "<write_file path=\"a.txt\" content=\"hello\" />",
            "<create_file path=\"a.txt\" content=\"hello\"></create_file>",
        ] {
            let items = items_in(text);
            assert!(matches!(items[..], [CandidateItem::Problem(_)]), "{text}");
        }
        let items = items_in("<write_file path=\"a/__init__.py\" />");
        assert!(matches!(items[..], [CandidateItem::Command(_)]));
    }
}
