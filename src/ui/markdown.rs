//! Renders the model's Markdown as lines for a terminal.
//!
//! All text is escaped before it is styled, so the only sequences that come out are ours. Links are
//! spelled out: what is clicked on must be what is read. The caller bounds the input; the
//! output is bounded here, because a short text can ask for margins and links without end.

mod table;

use std::fmt::Write as _;

use anstyle::{Color, Style};
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use self::table::Table;
use super::palette::{DIM, MAGENTA, either};
use super::wrap::{columns_of, cut, fold};
use super::{diff, escape_line};

const HEADING: Style = Style::new().bold().underline();
const LINK: Style = Style::new().underline();

/// How many lists and quotations within each other are told apart.
const MAX_MARGINS: usize = 8;
/// The most bytes of a paragraph, styles and all: far more than there are lines for.
const MAX_PARAGRAPH: usize = 1024 * 1024;

/// Lines for a terminal.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Rendered {
    /// Each with its line break.
    pub(super) text: String,
    /// True if there were more lines than wanted.
    pub(super) is_cut: bool,
}

/// The first lines of a text, at most so many, and so many columns wide.
pub(super) fn render(text: &str, columns: usize, most: usize) -> Rendered {
    let mut page = MarkdownPage {
        columns: columns.max(20),
        room: most,
        ..MarkdownPage::default()
    };
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    for event in Parser::new_ext(text, options) {
        page.take(event);
        if page.is_cut {
            break;
        }
    }
    page.flush();
    Rendered {
        text: page.out,
        is_cut: page.is_cut,
    }
}

/// The text before every line of a list item or a quotation.
#[derive(Debug, Default)]
struct Margin {
    /// Before its first line, until that is written.
    first: Option<String>,
    others: String,
}

#[derive(Debug, Default)]
struct MarkdownPage {
    columns: usize,
    /// How many more lines are written.
    room: usize,
    is_cut: bool,
    out: String,
    /// The paragraph under way, styled.
    text: String,
    /// The styles around, each with those around it.
    styles: Vec<Style>,
    margins: Vec<Margin>,
    /// The next number of each list around; nothing for one with bullets.
    lists: Vec<Option<u64>>,
    /// Where each link around leads, and where its text begins.
    links: Vec<(String, usize)>,
    /// The code block under way: its language and its text.
    code: Option<(String, String)>,
    table: Option<Table>,
    /// True if the item before had paragraphs, so that an empty line follows it.
    is_loose: bool,
}

impl MarkdownPage {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.begin(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some((_, code)) => code.push_str(&text),
                None => self.push(&text, Style::new()),
            },
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.push(&text, MAGENTA);
            }
            Event::Html(text) | Event::InlineHtml(text) => self.push(text.trim_end(), DIM),
            Event::SoftBreak => self.text.push(' '),
            Event::HardBreak => self.text.push('\n'),
            Event::Rule => {
                self.gap();
                let rule = either("─", "-").repeat(self.width().min(40));
                self.line(&format!("{DIM}{rule}{DIM:#}"));
            }
            Event::TaskListMarker(is_done) => {
                self.text.push_str(if is_done { "[x] " } else { "[ ] " });
            }
            Event::FootnoteReference(name) => self.push(&name, DIM),
        }
    }

    fn begin(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.gap(),
            Tag::Heading { .. } => {
                self.gap();
                self.begin_style(HEADING);
            }
            Tag::BlockQuote(_) => {
                self.gap();
                self.begin_margin(None, format!("{DIM}{}{DIM:#} ", either("│", "|")));
            }
            Tag::CodeBlock(kind) => {
                self.gap();
                let language = match kind {
                    CodeBlockKind::Fenced(name) => name.to_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((language, String::new()));
            }
            Tag::List(start) => {
                if self.lists.is_empty() {
                    self.gap();
                } else {
                    self.flush();
                }
                self.lists.push(start);
            }
            Tag::Item => self.begin_item(),
            Tag::Table(_) => {
                self.gap();
                self.table = Some(Table::default());
            }
            Tag::Emphasis => self.begin_style(Style::new().italic()),
            Tag::Strong => self.begin_style(Style::new().bold()),
            Tag::Strikethrough => self.begin_style(Style::new().strikethrough()),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.links.push((dest_url.to_string(), self.text.len()));
                self.begin_style(LINK);
            }
            _ => {}
        }
    }

    fn begin_style(&mut self, style: Style) {
        self.styles.push(join(self.style(), style));
    }

    /// The style of what is written now.
    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or_default()
    }

    fn begin_margin(&mut self, first: Option<String>, others: String) {
        let is_shown = self.margins.len() < MAX_MARGINS;
        self.margins.push(if is_shown {
            Margin { first, others }
        } else {
            Margin::default()
        });
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => {
                self.flush();
                self.styles.pop();
            }
            TagEnd::Paragraph | TagEnd::HtmlBlock => {
                self.flush();
                self.is_loose = !self.lists.is_empty();
            }
            TagEnd::BlockQuote(_) | TagEnd::Item => {
                self.flush();
                self.margins.pop();
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::List(_) => {
                self.lists.pop();
                self.is_loose &= !self.lists.is_empty();
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.text);
                if let Some(table) = &mut self.table {
                    table.push(cell);
                }
            }
            TagEnd::TableHead | TagEnd::TableRow => {
                if let Some(table) = &mut self.table {
                    table.end_row();
                }
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    for line in table.lines(self.width(), self.room) {
                        self.line(&line);
                    }
                }
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link | TagEnd::Image => self.end_link(),
            _ => {}
        }
    }

    fn begin_item(&mut self) {
        self.flush();
        if std::mem::take(&mut self.is_loose) {
            self.gap();
        }
        let marker = match self.lists.last_mut() {
            Some(Some(number)) => {
                let marker = format!("{number}. ");
                *number = number.saturating_add(1);
                marker
            }
            _ => either("• ", "* ").to_owned(),
        };
        let others = " ".repeat(marker.chars().count());
        self.begin_margin(Some(format!("{DIM}{marker}{DIM:#}")), others);
    }

    fn end_link(&mut self) {
        self.styles.pop();
        if let Some((destination, start)) = self.links.pop() {
            let shown = self.text.get(start..).unwrap_or_default();
            // Pictures within pictures are not all read again.
            let says_it = self.links.is_empty()
                && anstream::adapter::strip_str(shown).to_string() == escape_line(&destination);
            if !says_it && !destination.is_empty() {
                self.push(&format!(" ({destination})"), DIM);
            }
        }
    }

    fn end_code(&mut self) {
        let Some((language, text)) = self.code.take() else {
            return;
        };
        let width = self.width().saturating_sub(2).max(10);
        let text = text.replace('\t', "    ");
        let shown = match language.as_str() {
            "diff" | "patch" => diff::colored(&text),
            _ => text.lines().map(|line| escape_line(line) + "\n").collect(),
        };
        for line in shown.lines() {
            // Code keeps its spaces, so it is cut, not folded between words.
            for piece in cut(line, width) {
                self.line(&format!("  {piece}"));
            }
        }
    }

    /// Adds text in the styles around it and one of its own.
    fn push(&mut self, text: &str, own: Style) {
        if self.text.len() > MAX_PARAGRAPH {
            return;
        }
        let text = escape_line(&text.replace(['\n', '\t'], " "));
        let style = join(self.style(), own);
        let _ = write!(self.text, "{style}{text}{style:#}");
    }

    /// Writes the paragraph under way.
    fn flush(&mut self) {
        let text = std::mem::take(&mut self.text);
        if !text.is_empty() {
            for line in fold(&text, self.width()) {
                self.line(&line);
            }
        }
    }

    /// An empty line between blocks; none before the first, and none behind a bullet.
    fn gap(&mut self) {
        self.flush();
        let begins_item = self.margins.last().is_some_and(|one| one.first.is_some());
        if !self.out.is_empty() && !begins_item && !self.out.ends_with("\n\n") {
            let shown = self.margins.iter().take(MAX_MARGINS);
            let bars: String = shown.map(|one| one.others.as_str()).collect();
            self.out.push_str(bars.trim_end());
            self.out.push('\n');
        }
    }

    fn line(&mut self, text: &str) {
        let Some(room) = self.room.checked_sub(1) else {
            self.is_cut = true;
            return;
        };
        self.room = room;
        for margin in self.margins.iter_mut().take(MAX_MARGINS) {
            let before = margin.first.take();
            self.out
                .push_str(before.as_deref().unwrap_or(&margin.others));
        }
        self.out.push_str(text);
        self.out.push('\n');
    }

    /// The columns that are left beside the margins.
    fn width(&self) -> usize {
        let taken: usize = (self.margins.iter().take(MAX_MARGINS))
            .map(|margin| columns_of(&margin.others))
            .sum();
        self.columns.saturating_sub(taken).max(10)
    }
}

/// A style within another one.
fn join(outer: Style, inner: Style) -> Style {
    let color: Option<Color> = inner.get_fg_color().or(outer.get_fg_color());
    (outer | inner.get_effects()).fg_color(color)
}

#[cfg(test)]
mod tests;
