use std::time::{Duration, Instant};

use super::super::stage::{files, stage};
use super::*;
use crate::protocol::{Command, Status};

fn outline(path: &str) -> Command {
    Command::Outline {
        path: Some(files(path)),
    }
}

#[track_caller]
fn case(name: &str, text: &str, expected: &str) {
    let outcome = stage(&[(name, text)]).one(outline(name));
    assert_eq!(outcome.status, Status::Ok, "{}", outcome.message);
    let lines = format!("{name} ({} lines)", text.lines().count());
    assert_eq!(
        outcome.detail.text,
        format!("{lines}\n{}", expected.trim_end())
    );
}

#[test]
fn rust_has_members_beneath_what_they_belong_to() {
    case(
        "src/lib.rs",
        "//! Doc.\nuse std::fmt;\n\n#[derive(Debug)]\npub struct Point {\n    x: u32,\n}\n\nimpl fmt::Display for Point {\n    fn fmt(\n        &self,\n        f: &mut fmt::Formatter<'_>,\n    ) -> fmt::Result {\n        fn inner() {}\n        Ok(())\n    }\n}\n\npub const LIMIT: usize = 3;\nmacro_rules! m { () => {} }\nmod deep {\n    pub trait Shape {\n        type Unit;\n        fn area(&self) -> u32;\n    }\n}\n",
        "5-7: pub struct Point\n\
         9-17: impl fmt::Display for Point\n\
         \x20 10-16: fn fmt( &self, f: &mut fmt::Formatter<'_>, ) -> fmt::Result\n\
         19: pub const LIMIT: usize\n\
         20: macro_rules! m { () => {} }\n\
         21-26: mod deep\n\
         \x20 22-25: pub trait Shape\n\
         \x20   23: type Unit\n\
         \x20   24: fn area(&self) -> u32\n",
    );
}

#[test]
fn python_has_classes_and_functions() {
    case(
        "a.py",
        "import os\n\n@cached\ndef load(path: str) -> dict:\n    def inner():\n        pass\n    return {}\n\nclass Store(Base):\n    limit = 3\n\n    @property\n    def size(self):\n        return 1\n\n    async def save(self): ...\n\nif True:\n    def late(): pass\n",
        "4-7: def load(path: str) -> dict\n\
         9-16: class Store(Base)\n\
         \x20 13-14: def size(self)\n\
         \x20 16: async def save(self)\n\
         19: def late()\n",
    );
}

#[test]
fn scripts_have_what_they_export() {
    case(
        "a.ts",
        "import x from 'y';\nexport interface Shape {\n  area(): number;\n}\nexport type Id = string;\nenum Color { Red }\nexport default class Box<T> extends Base implements Shape {\n  private size = 1;\n  constructor(readonly a: string) {\n    super();\n  }\n  area(): number { return 1; }\n}\nexport const LIMIT = 3;\nconst local = 4;\nconst add = (a: number, b: number): number => {\n  return a + b;\n};\nnamespace Deep {\n  export function inner() {}\n}\n",
        "2-4: export interface Shape\n\
         \x20 3: area(): number\n\
         5: export type Id\n\
         6: enum Color\n\
         7-13: export default class Box<T> extends Base implements Shape\n\
         \x20 9-11: constructor(readonly a: string)\n\
         \x20 12: area(): number\n\
         14: export const LIMIT\n\
         16-18: const add = (a: number, b: number): number\n\
         19-21: namespace Deep\n\
         \x20 20: export function inner()\n",
    );
    case(
        "a.js",
        "function* each(list) {\n}\nexport const View = ({ name }) => <b>{name}</b>;\nclass A { static go() {} }\n",
        "1-2: function* each(list)\n3: export const View = ({ name })\n4: class A\n  4: static go()\n",
    );
}

#[test]
fn go_java_and_c_have_theirs() {
    case(
        "main.go",
        "package main\n\nimport \"fmt\"\n\ntype Store struct {\n\tn int\n}\n\nfunc (s *Store) Get(key string) (int, error) {\n\treturn 0, nil\n}\n\nfunc main() { fmt.Println() }\n\nconst Limit = 3\n",
        "5-7: type Store struct { n int }\n\
         9-11: func (s *Store) Get(key string) (int, error)\n\
         13: func main()\n\
         15: const Limit = 3\n",
    );
    case(
        "A.java",
        "package a;\n\n@Service\npublic class A<T> extends B {\n  private int x;\n  @Override\n  public void go(String a) throws E {\n  }\n  enum Kind { ONE }\n  A() {}\n}\ninterface C { int size(); }\n",
        "3-11: public class A<T> extends B\n\
         \x20 6-8: public void go(String a) throws E\n\
         \x20 9: enum Kind\n\
         \x20 10: A()\n\
         12: interface C\n\
         \x20 12: int size()\n",
    );
    case(
        "a.h",
        "#ifndef A_H\n#define A_H\n#include <stdio.h>\n#define MAX(a, b) ((a) > (b) ? (a) : (b))\nstruct point {\n  int x;\n};\ntypedef struct point point_t;\nint add(int a, int b);\nextern int counter;\nstatic inline int twice(int a)\n{\n  return a * 2;\n}\n#endif\n",
        "4: #define MAX(a, b)\n\
         5-7: struct point\n\
         8: typedef struct point point_t\n\
         9: int add(int a, int b)\n\
         11-14: static inline int twice(int a)\n",
    );
}

#[test]
fn several_files_and_those_without_an_outline() {
    let mut stage = stage(&[
        ("src/a.rs", "fn a() {}\n"),
        ("src/b.py", "def b(:\n    pass\ndef c(): pass\n"),
        ("src/notes.txt", "one\ntwo\n"),
        ("src/x.rs", "\0\x01"),
        ("empty/readme.md", ""),
    ]);
    let outcome = stage.one(outline("src"));
    assert_eq!(
        outcome.message, "3 symbols in 3 files",
        "{}",
        outcome.detail.text
    );
    assert!(outcome.detail.text.starts_with("src/a.rs (1 line)\n1: fn a()\nsrc/b.py (3 lines; has syntax errors, symbols may be missing)\n"), "{}", outcome.detail.text);
    assert!(
        outcome
            .detail
            .text
            .ends_with("src/x.rs (binary file, 2 bytes)")
    );
    let named = stage.one(outline("src/notes.txt, src/a.rs"));
    assert_eq!(
        named.detail.text,
        "src/a.rs (1 line)\n1: fn a()\nsrc/notes.txt (2 lines; no outline for this kind of file)"
    );
    stage.fails(outline("empty"), "no source files there; known are Rust, ");
    stage.fails(outline("gone.rs"), "`gone.rs` does not exist");
}

#[test]
fn members_go_before_symbols_when_there_are_too_many() {
    let class = |n: usize| format!("class C{n}:\n    def a(self): pass\n    def b(self): pass\n");
    let text: Vec<String> = (0..200).map(class).collect();
    let mut stage = stage(&[("a.py", &text.concat())]);
    let shown = stage.one(outline("a.py")).detail;
    assert_eq!(shown.text.lines().count(), 202);
    assert!(
        shown
            .text
            .ends_with("[TRUNCATED: 400 members left out; outline fewer files]")
    );
    assert_eq!(shown.omitted, 400);
    let text: Vec<String> = (0..900).map(|n| format!("def f{n}(): pass\n")).collect();
    stage.change("a.py", &text.concat());
    let shown = stage.one(outline("a.py")).detail;
    assert!(
        shown
            .text
            .ends_with("def f399()\n[TRUNCATED: first 400 items]"),
        "{}",
        shown.text
    );
}

#[test]
fn files_that_are_too_many_are_counted_and_empty_ones_are_not_among_them() {
    let names: Vec<String> = (0..230).map(|n| format!("p{n:03}/__init__.py")).collect();
    let mut files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
    files.push(("z.py", "def last(): pass\n"));
    let shown = stage(&files).one(outline("*.py")).detail;
    assert_eq!(shown.text, "z.py (1 line)\n1: def last()");
    for file in &mut files {
        file.1 = "x = 1\n";
    }
    let shown = stage(&files).one(outline("*.py")).detail;
    let end = "\n[TRUNCATED: first 200 files, 31 more match; outline fewer at a time]";
    assert!(shown.text.ends_with(end), "{}", shown.text);
}

#[test]
fn hostile_texts_end_in_time() {
    let mut all = Vec::new();
    for unit in [
        "(",
        "{",
        "fn a() {",
        "class A { ",
        "<",
        "`",
        "/*",
        "if x:\n ",
        "#if A\n",
        "a.b(",
        "'",
    ] {
        all.push(unit.repeat(400_000 / unit.len()));
    }
    let began = Instant::now();
    for text in &all {
        for name in ["a.rs", "a.py", "a.ts", "a.js", "a.go", "a.java", "a.c"] {
            let language = Language::of(&crate::protocol::RelPath::parse(name).unwrap()).unwrap();
            let end = Instant::now() + Duration::from_millis(50);
            let one = Instant::now();
            let _ = symbols(language, text, end);
            assert!(
                one.elapsed() < Duration::from_secs(10),
                "{name} {}",
                &text[..8]
            );
        }
    }
    assert!(began.elapsed() < Duration::from_mins(2));
}

#[test]
fn a_long_signature_is_cut_between_words() {
    let text = format!("fn long({}) {{}}\n", "argument: String, ".repeat(40));
    let outcome = stage(&[("a.rs", &text)]).one(outline("a.rs"));
    let line = outcome.detail.text.lines().nth(1).unwrap();
    assert!(
        line.ends_with(" ...") && line.chars().count() < 130,
        "{line}"
    );
}
