//! Renders the model's Markdown as elements.
//!
//! HTML in it is text. Links and pictures lead nowhere: their address is spelled out, so that nothing is
//! fetched and nobody clicks on something else than what they read. The tree is bounded in size and
//! depth, however short the text is that asks for more.

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag};

use super::node::PageNode;

/// How many elements are made of a text; the rest of it is told as cut.
const MAX_NODES: usize = 5_000;
/// How many elements are within each other; deeper ones are flattened.
const MAX_DEPTH: usize = 24;

/// An element under way.
#[derive(Debug)]
struct OpenElement {
    tag: &'static str,
    class: &'static str,
    children: Vec<PageNode>,
    /// The address of a link or a picture, told behind its text.
    address: Option<String>,
}

#[derive(Debug)]
struct TreeBuilder {
    open: Vec<OpenElement>,
    /// How many beginnings were passed over because they were too deep.
    flattened: usize,
    nodes: usize,
}

/// The elements of a text.
pub(super) fn render(text: &str) -> PageNode {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut tree = TreeBuilder {
        open: vec![element("div", "said")],
        flattened: 0,
        nodes: 0,
    };
    for event in Parser::new_ext(text, options) {
        tree.take(event);
        if tree.nodes > MAX_NODES {
            tree.add(PageNode::labelled(
                "p",
                "cut",
                "... the rest is not shown here",
            ));
            break;
        }
    }
    while tree.open.len() > 1 {
        tree.close();
    }
    let root = tree.open.pop();
    root.map_or(PageNode::Text(String::new()), OpenElement::into_node)
}

fn element(tag: &'static str, class: &'static str) -> OpenElement {
    OpenElement {
        tag,
        class,
        children: Vec::new(),
        address: None,
    }
}

impl OpenElement {
    fn into_node(self) -> PageNode {
        PageNode::element(self.tag, self.class, self.children)
    }
}

impl TreeBuilder {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.begin(&tag),
            Event::End(_) => self.end(),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => {
                self.add(PageNode::spoken(&text));
            }
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.add(PageNode::element("code", "", [PageNode::exact(&text)]));
            }
            Event::SoftBreak => self.add(PageNode::Text("\n".to_owned())),
            Event::HardBreak => self.add(PageNode::element("br", "", [])),
            Event::Rule => self.add(PageNode::element("hr", "", [])),
            Event::TaskListMarker(is_done) => {
                let mark = if is_done { "☑ " } else { "☐ " };
                self.add(PageNode::Text(mark.to_owned()));
            }
            Event::FootnoteReference(name) => self.add(PageNode::spoken(&name)),
        }
    }

    fn begin(&mut self, tag: &Tag<'_>) {
        if self.open.len() >= MAX_DEPTH {
            self.flattened += 1;
            return;
        }
        let mut new = match tag {
            Tag::Heading { level, .. } => element("p", heading_class(*level)),
            Tag::BlockQuote(_) => element("blockquote", ""),
            Tag::CodeBlock(_) => element("pre", "code"),
            Tag::List(Some(_)) => element("ol", ""),
            Tag::List(None) => element("ul", ""),
            Tag::Item => element("li", ""),
            Tag::Table(_) => element("table", ""),
            Tag::TableHead | Tag::TableRow => element("tr", ""),
            Tag::TableCell => element("td", ""),
            Tag::Emphasis => element("em", ""),
            Tag::Strong => element("strong", ""),
            Tag::Strikethrough => element("del", ""),
            Tag::Paragraph | Tag::HtmlBlock => element("p", ""),
            _ => element("span", ""),
        };
        if let Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } = tag {
            new.class = "link";
            new.address = Some(dest_url.to_string());
        }
        self.open.push(new);
    }

    fn end(&mut self) {
        if self.flattened > 0 {
            self.flattened -= 1;
        } else if self.open.len() > 1 {
            self.close();
        }
    }

    fn close(&mut self) {
        let Some(mut element) = self.open.pop() else {
            return;
        };
        if let Some(address) = element.address.take() {
            let said = PageNode::spoken(&address);
            if element.children != [said] {
                let address = format!(" ({})", crate::escape::escape_line(&address));
                element
                    .children
                    .push(PageNode::labelled("span", "address", address));
            }
        }
        self.add(element.into_node());
    }

    fn add(&mut self, node: PageNode) {
        self.nodes += 1;
        if let Some(element) = self.open.last_mut() {
            element.children.push(node);
        }
    }
}

/// Headings of others do not take part in the outline of the page.
fn heading_class(level: HeadingLevel) -> &'static str {
    match level {
        HeadingLevel::H1 | HeadingLevel::H2 => "heading large",
        _ => "heading",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> String {
        serde_json::to_string(&render(text)).unwrap()
    }

    #[test]
    fn markdown_becomes_elements_and_html_stays_text() {
        assert_eq!(
            json("# T\n\n- *a* `b`\n\n<script>alert(1)</script>"),
            r#"["div","said",["p","heading large","T"],["ul","",["li","",["em","","a"]," ",["code","","b"]]],["p","","<script>alert(1)</script>"]]"#
        );
    }

    #[test]
    fn a_link_tells_where_it_would_lead() {
        assert_eq!(
            json("[safe](javascript:alert(1)) <https://a.test>"),
            r#"["div","said",["p","",["span","link","safe",["span","address"," (javascript:alert(1))"]]," ",["span","link","https://a.test"]]]"#
        );
    }

    #[test]
    fn the_tree_is_bounded() {
        let deep = json(&"> ".repeat(5_000));
        assert!(deep.matches("blockquote").count() <= MAX_DEPTH);
        let many = json(&"*a* ".repeat(20_000));
        assert!(many.matches("\"em\"").count() <= MAX_NODES);
        assert!(many.contains("the rest is not shown here"));
    }
}
