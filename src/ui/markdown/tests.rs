use super::*;

/// All lines.
fn render(text: &str, columns: usize) -> String {
    super::render(text, columns, usize::MAX).text
}

fn plain(text: &str, columns: usize) -> String {
    anstream::adapter::strip_str(&render(text, columns)).to_string()
}

#[track_caller]
fn case(text: &str, expected: &str) {
    assert_eq!(plain(text, 40), expected);
}

#[test]
fn headings_paragraphs_and_emphasis_are_text_with_styles() {
    case(
        "# Title\nSome *words* and **more**,\nand `code`.\n\nAnother one.",
        "Title\n\nSome words and more, and code.\n\nAnother one.\n",
    );
    assert!(render("**bold**", 40).contains("\u{1b}[1mbold\u{1b}[0m"));
    assert!(render("***both***", 40).contains("\u{1b}[1m\u{1b}[3mboth"));
}

#[test]
fn lists_have_their_bullets_and_fold_beneath_the_text() {
    case(
        "- one\n- two\n  - within\n\n1. first\n2. second",
        "• one\n• two\n  • within\n\n1. first\n2. second\n",
    );
    case(
        "- a long item that needs more than one line of text\n- [x] done",
        "• a long item that needs more than one\n  line of text\n• [x] done\n",
    );
}

#[test]
fn a_list_with_paragraphs_keeps_them_apart() {
    case(
        "- one\n\n  more of it\n\n- two",
        "• one\n\n  more of it\n\n• two\n",
    );
}

#[test]
fn quotations_have_a_bar() {
    case("> said\n> so\n\nafter", "│ said so\n\nafter\n");
}

#[test]
fn code_keeps_its_lines_and_spaces() {
    case(
        "Run:\n```sh\nif true; then\n\techo \"hi\"  # say\nfi\n```\nDone.",
        "Run:\n\n  if true; then\n      echo \"hi\"  # say\n  fi\n\nDone.\n",
    );
    let shown = render("```diff\n-old\n+new\n```", 80);
    assert!(shown.contains("\u{1b}[31m-old"), "{shown:?}");
    assert!(plain("```\nit's\n```", 40).contains("it's"));
}

#[test]
fn a_long_line_of_code_is_cut_and_nothing_of_it_is_lost() {
    let shown = plain(&format!("```rust\n{}\n```", "abcdefghi ".repeat(10)), 40);
    assert!(
        shown.lines().all(|line| line.chars().count() <= 40),
        "{shown}"
    );
    assert_eq!(shown.matches("abcdefghi").count(), 10, "{shown}");
}

#[test]
fn a_table_fits_the_terminal() {
    case(
        "| file | why |\n|---|---|\n| `a.rs` | new |\n| b.rs | it was much too long for this terminal |",
        "file  why\n────  ──────────────────────────────────\na.rs  new\nb.rs  it was much too long for this\n      terminal\n",
    );
    let wide = format!("|{}\n|{}\n", "a|".repeat(60), "-|".repeat(60));
    assert!(plain(&wide, 40).contains('a'));
}

#[test]
fn a_link_says_where_it_leads() {
    case(
        "[safe](https://evil.example) <https://a.example>",
        "safe (https://evil.example)\nhttps://a.example\n",
    );
}

#[test]
fn nothing_of_the_model_steers_the_terminal() {
    let hostile = "\u{1b}[2J # a\u{1b}]0;x\u{7}\n\n`\u{1b}[2J`\n\n```\n\u{9b}2J\u{202e}\r\n```\n\n<b>\u{1b}[2J</b>\n\n[\u{1b}[2J](\u{1b}[2J)\n\n| \u{1b}[2J |\n|---|\n| \u{8} |\n";
    let shown = render(hostile, 60);
    for line in shown.lines() {
        let rest = anstream::adapter::strip_str(line).to_string();
        assert!(!rest.chars().any(char::is_control), "{rest:?}");
        assert!(
            !line.contains("\u{1b}[2J") && !line.contains("\u{1b}]"),
            "{line:?}"
        );
    }
    assert!(shown.contains("\\u{1b}[2J"));
}

#[test]
fn hostile_nesting_is_quick_and_small_widths_do_not_panic() {
    let began = std::time::Instant::now();
    let nested = format!("{}x", "> ".repeat(2_000));
    let lists: String = (0..300)
        .map(|depth| " ".repeat(depth * 2) + "- x\n")
        .collect();
    let stars = "*a ".repeat(10_000);
    let within = format!("{}{}", "*a ".repeat(20_000), "a* ".repeat(20_000));
    let pictures = format!("{}a{}", "![".repeat(10_000), "](u)".repeat(10_000));
    for text in [&nested, &lists, &stars, &within, &pictures] {
        for columns in [0, 1, 20, 80] {
            render(text, columns);
        }
    }
    assert!(began.elapsed().as_secs() < 20);
}

#[test]
fn lists_and_quotations_within_each_other_are_shown_up_to_a_depth() {
    let text = format!("{}said\n", "> ".repeat(50));
    assert_eq!(
        plain(&text, 80),
        format!("{}said\n", "│ ".repeat(MAX_MARGINS))
    );
    let lists = format!("{}x\n", "- ".repeat(50));
    assert!(plain(&lists, 80).contains('x'));
}

#[test]
fn a_short_text_does_not_become_a_long_one() {
    let words = "some words of the model that fill a line of text\n".repeat(10);
    let address = format!("[a]: /{}\n\n", "x".repeat(1_900));
    for text in [
        format!("{} {words}", ">".repeat(1_900)),
        format!("{} {words}", "1. ".repeat(600)),
        format!("{address}{}", "[a] ".repeat(50_000)),
        format!(
            "|{}\n|{}\n{}",
            "a|".repeat(900),
            "-|".repeat(900),
            format!("|{}{}|\n", "|".repeat(800), "x".repeat(900)).repeat(190)
        ),
        "a\n\n".repeat(1_000),
    ] {
        for columns in [20, 80, 300] {
            let Rendered { text: shown, .. } = super::render(&text, columns, 200);
            assert!(
                shown.len() < 8 * text.len() + 200_000,
                "{} from {}",
                shown.len(),
                text.len()
            );
        }
    }
}

#[test]
fn lines_beyond_the_wanted_ones_are_left_out() {
    let shown = super::render("one\n\ntwo\n\nthree\n", 80, 2);
    assert_eq!(
        (shown.text.as_str(), shown.is_cut),
        ("one\n\ntwo\n\n", true)
    );
    assert!(!super::render("one\n\ntwo\n", 80, 2).is_cut);
}

proptest::proptest! {
    #[test]
    fn any_text_can_be_shown(text in "[-#>*_`|\\[\\]()!~\\w \\n\\t\u{1b}日]{0,200}", columns in 0_usize..100) {
        let shown = render(&text, columns);
        let rest = anstream::adapter::strip_str(&shown).to_string();
        proptest::prop_assert!(!rest.chars().any(|one| one.is_control() && one != '\n'));
    }
}
