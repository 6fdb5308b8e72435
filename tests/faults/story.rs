use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The files of a workspace, by their names.
pub type Tree = BTreeMap<String, String>;

/// The workspace before the first reply.
pub const BEFORE: &[(&str, &str)] = &[
    ("plain.txt", "old\n"),
    ("edit.txt", "one\ntwo\nthree\n"),
    ("p1.txt", "alpha\nbeta\n"),
    ("p2.txt", "gamma\ndelta\n"),
    ("p4.txt", "to go\n"),
    ("gone.txt", "gone\n"),
    ("from.txt", "moved\n"),
    ("run.sh", "#!/bin/sh\necho old\n"),
    ("private/kept.txt", "kept\n"),
];

/// Permissions that are not those of other files, a link and a directory that is empty: all of them
/// stay as they are.
pub const MODES: &[(&str, u32)] = &[("run.sh", 0o755), ("private", 0o700)];
pub const LINK: (&str, &str) = ("link", "plain.txt");
pub const EMPTY: &str = "empty";

/// One step of the first reply, and what the files are like with and without it.
pub struct Told {
    pub number: u32,
    pub is_command: bool,
    pub with: &'static [(&'static str, Option<&'static str>)],
}

/// The steps that change something, each with those of its changes that no later step overwrites.
pub const STEPS: &[Told] = &[
    Told {
        number: 1,
        is_command: false,
        with: &[("new/a.txt", Some("made\n"))],
    },
    Told {
        number: 2,
        is_command: false,
        with: &[("plain.txt", Some("new\n"))],
    },
    Told {
        number: 5,
        is_command: false,
        with: &[
            ("p1.txt", Some("ALPHA\nbeta\n")),
            ("p2.txt", Some("gamma\nDELTA\n")),
            ("p3.txt", Some("added\n")),
            ("p4.txt", None),
        ],
    },
    Told {
        number: 6,
        is_command: false,
        with: &[("gone.txt", None)],
    },
    Told {
        number: 7,
        is_command: false,
        with: &[("from.txt", None), ("moved/to.txt", Some("moved\n"))],
    },
    Told {
        number: 8,
        is_command: true,
        with: &[("log.txt", Some("ran\n"))],
    },
    Told {
        number: 9,
        is_command: false,
        with: &[("after.txt", Some("after\n"))],
    },
    Told {
        number: 11,
        is_command: false,
        with: &[("run.sh", Some("#!/bin/sh\necho new\n"))],
    },
    Told {
        number: 12,
        is_command: false,
        with: &[("private/deep/new.txt", Some("deep\n"))],
    },
];

pub const FIRST: &str = r#"[CREATE_FILE path="new/a.txt"]
made
[/CREATE_FILE]
[CREATE_FILE path="plain.txt"]
new
[/CREATE_FILE]
[EDIT_FILE path="edit.txt" start_line="2" end_line="2"]
TWO
[/EDIT_FILE]
[EDIT_FILE path="edit.txt"]
<<<<<<< SEARCH
three
=======
THREE
>>>>>>> REPLACE
[/EDIT_FILE]
[APPLY_PATCH]
*** Begin Patch
*** Update File: p1.txt
@@
-alpha
+ALPHA
 beta
*** Update File: p2.txt
@@
 gamma
-delta
+DELTA
*** Add File: p3.txt
+added
*** Delete File: p4.txt
*** End Patch
[/APPLY_PATCH]
[DELETE_FILE path="gone.txt"]
[MOVE_FILE from="from.txt" to="moved/to.txt"]
[RUN_COMMAND]
echo ran >> log.txt
[/RUN_COMMAND]
[CREATE_FILE path="after.txt"]
after
[/CREATE_FILE]
[READ_FILE path="edit.txt"]
[EDIT_FILE path="run.sh" start_line="2" end_line="2"]
echo new
[/EDIT_FILE]
[CREATE_FILE path="private/deep/new.txt"]
deep
[/CREATE_FILE]
"#;

pub const SECOND: &str = r#"[CREATE_FILE path="junk.txt"]
junk
[/CREATE_FILE]
[INSERT_TEXT path="edit.txt" line="0"]
zero
[/INSERT_TEXT]
"#;

pub const LAST: &str = "[MESSAGE]\nall is well\n[/MESSAGE]\n[DONE]\nfine\n[/DONE]\n";

/// The person's calls between the replies.
pub const UNDO: [&str; 4] = ["undo", "--to", "1", "--yes"];
pub const REDO: [&str; 2] = ["redo", "--yes"];
pub const SAY: [&str; 2] = ["say", "well done"];

/// The workspace after the first reply, and after the second was undone.
pub fn after_first() -> Tree {
    let mut tree: Tree = BEFORE
        .iter()
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
        .collect();
    for (name, text) in STEPS.iter().flat_map(|step| step.with) {
        match text {
            Some(text) => tree.insert((*name).to_owned(), (*text).to_owned()),
            None => tree.remove(*name),
        };
    }
    tree.insert("edit.txt".to_owned(), "one\nTWO\nTHREE\n".to_owned());
    tree
}

/// The workspace after the second reply, too.
pub fn after_second() -> Tree {
    let mut tree = after_first();
    tree.insert("junk.txt".to_owned(), "junk\n".to_owned());
    tree.insert("edit.txt".to_owned(), "zero\none\nTWO\nTHREE\n".to_owned());
    tree
}

/// Everything beneath a directory that is no content: directories, links, permissions.
pub fn read_shape(root: &Path) -> Tree {
    let mut shape = Tree::new();
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten() {
            let path = entry.unwrap().path();
            let Ok(found) = path.symlink_metadata() else {
                continue;
            };
            let mode = found.permissions().mode() & 0o7777;
            let what = if found.is_symlink() {
                format!("link to {}", fs::read_link(&path).unwrap().display())
            } else if found.is_dir() {
                open.push(path.clone());
                format!("directory {mode:o}")
            } else {
                format!("file {mode:o}")
            };
            let name = path.strip_prefix(root).unwrap().to_str().unwrap();
            shape.insert(name.to_owned(), what);
        }
    }
    shape
}

/// All files beneath a directory, temporary ones too.
pub fn read_tree(root: &Path) -> Tree {
    let mut tree = Tree::new();
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_str().unwrap();
            if path.is_symlink() {
                continue;
            }
            if path.is_dir() {
                open.push(path);
            // One that is temporary may be gone by now.
            } else if let Ok(bytes) = fs::read(&path) {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                tree.insert(name.to_owned(), text);
            }
        }
    }
    tree
}

/// The reply of a model that looks at the files and repairs them.
pub fn repair(now: &Tree, wanted: &Tree) -> String {
    let mut reply = String::new();
    for (name, text) in wanted {
        if now.get(name) == Some(text) {
            continue;
        }
        if name == "log.txt" {
            reply.push_str("[RUN_COMMAND]\necho ran >> log.txt\n[/RUN_COMMAND]\n");
        } else {
            let _ = write!(
                reply,
                "[CREATE_FILE path=\"{name}\"]\n{text}[/CREATE_FILE]\n"
            );
        }
    }
    for name in now
        .keys()
        .filter(|name| !wanted.contains_key(*name) && !name.contains(".agent-"))
    {
        let _ = writeln!(reply, "[DELETE_FILE path=\"{name}\"]");
    }
    reply.push_str("[LIST_FILES]\n");
    reply
}
