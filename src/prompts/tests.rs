use super::*;
use crate::fs::{Durability, create_directory, write_atomic};

struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
        }
    }

    fn shelves(&self) -> Shelves {
        let configuration = self.directory.path().join("config");
        let base = self.directory.path().join("project/.agent");
        Shelves::of(&base, |name| {
            (name == "XDG_CONFIG_HOME").then(|| configuration.clone().into_os_string())
        })
    }

    fn write(&self, owner: Owner, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let shelves = self.shelves();
        let place = match owner {
            Owner::Person => shelves.person.unwrap(),
            Owner::Project => shelves.project,
        };
        create_directory(&place).unwrap();
        let file = place.join(name);
        write_atomic(&file, text.as_ref(), Durability::Atomic).unwrap();
        file
    }

    fn prompt(&self, text: &str) -> PromptTemplate {
        self.write(Owner::Person, "it.md", text);
        self.shelves().named("it").unwrap()
    }
}

#[test]
fn a_task_calls_a_template_only_with_a_slash_and_a_name() {
    let case = |task: &str, expected: Option<(&str, &str)>| {
        assert_eq!(called(task), expected, "{task}");
    };
    case("/review", Some(("review", "")));
    case(
        "/review  src/a.rs and more ",
        Some(("review", "src/a.rs and more")),
    );
    case("/fix_it-2\nnow", Some(("fix_it-2", "now")));
    case("/etc/hosts is wrong", None);
    case("/usr/bin", None);
    case("/tmp.txt is empty", None);
    case(" /tmp is full", None);
    case("/", None);
    case("// is a comment", None);
    case("fix /review", None);
}

#[test]
fn words_take_their_place_or_come_last() {
    let place = Place::new();
    let case = |text: &str, words: &str, expected: &str| {
        assert_eq!(place.prompt(text).fill(words).unwrap(), expected);
    };
    case("look at {{args}}, {{ args }}", "a b", "look at a b, a b");
    case("look", "a b", "look\n\na b");
    case("look", "", "look");
    case("{{args}}", "{{args}} $1", "{{args}} $1");
    case("${{ secrets.X }} {{args}} {{", "x", "${{ secrets.X }} x {{");
    case("{{ {{args}}", "x", "{{ x");
    let error = place.prompt("look at {{args}}").fill("").unwrap_err();
    assert_eq!(error.to_string(), "`/it` wants words after its name");
}

#[test]
fn the_file_names_a_template_that_has_no_name() {
    let place = Place::new();
    place.write(Owner::Project, "Review.md", "review it");
    place.write(
        Owner::Project,
        "other.md",
        "---\nname: fix\ndescription: Fix things\n---\nfix it\n",
    );
    let (prompts, troubles) = place.shelves().all();
    assert!(troubles.is_empty(), "{troubles:?}");
    let names: Vec<&str> = prompts.iter().map(|prompt| prompt.name.as_str()).collect();
    assert_eq!(names, ["fix", "review"]);
    assert_eq!(prompts[0].description, "Fix things");
    assert_eq!(prompts[0].text, "fix it");
}

#[test]
fn a_project_cannot_take_the_place_of_what_the_person_has() {
    let place = Place::new();
    place.write(Owner::Person, "review.md", "mine");
    place.write(Owner::Project, "review.md", "theirs");
    let prompt = place.shelves().named("review").unwrap();
    assert_eq!(
        (prompt.owner, prompt.text.as_str()),
        (Owner::Person, "mine")
    );
    assert_eq!(place.shelves().all().0.len(), 1);
}

#[test]
fn a_template_of_the_project_counts_once_it_was_seen_as_it_is() {
    let place = Place::new();
    let trust = Trust::kept_in(place.directory.path().join("state"));
    place.write(Owner::Project, "review.md", "one");
    let named = || place.shelves().named("review").unwrap();
    assert!(!named().is_trusted(&trust));
    named().confirm(&trust).unwrap();
    assert!(named().is_trusted(&trust));
    place.write(Owner::Project, "review.md", "two");
    assert!(!named().is_trusted(&trust));
    assert!(place.prompt("mine").is_trusted(&trust));
}

#[test]
fn what_was_meant_or_what_is_wrong_is_told() {
    let place = Place::new();
    place.write(Owner::Project, "review.md", "one");
    place.write(Owner::Project, "broken.md", "---\nname: x\n");
    place.write(Owner::Project, "latin.md", b"\xe4");
    place.write(Owner::Project, "empty.md", "---\n---\n \n");
    place.write(Owner::Project, "twice.md", "---\nname: review\n---\ntwo");
    place.write(Owner::Project, "long.md", "x".repeat(65 * 1024));
    place.write(Owner::Project, ".hidden.md", "---");
    place.write(Owner::Project, "notes.txt", "---");
    let told = |name: &str| place.shelves().named(name).unwrap_err();
    assert_eq!(told("reveiw").hints(), ["did you mean `/review`?"]);
    assert!(told("zzz").hints()[0].contains("agent prompts"));
    assert!(told("broken").to_string().contains("is not closed"));
    assert!(told("latin").to_string().contains("is not UTF-8"));
    assert!(told("empty").to_string().contains("has no text"));
    assert!(told("twice").to_string().contains("have the same name"));
    assert!(told("long").to_string().contains("64 KiB"));
    let (prompts, troubles) = place.shelves().all();
    assert_eq!((prompts.len(), troubles.len()), (1, 5), "{troubles:?}");
    assert_eq!(prompts[0].text, "one");
}

#[test]
fn the_templates_of_a_base_with_a_workspace_lie_beside_it() {
    let shelves = Shelves::of(Path::new("/base"), |_| None);
    assert_eq!(shelves.project, Path::new("/base/.agent/prompts"));
    assert_eq!(shelves.person, None);
    assert!(shelves.all().0.is_empty());
}

#[cfg(unix)]
#[test]
fn a_template_of_the_project_is_not_read_through_a_link() {
    use std::os::unix::fs::symlink;

    let place = Place::new();
    let secret = place.directory.path().join("secret");
    write_atomic(&secret, b"the secret", Durability::Atomic).unwrap();
    let file = place.write(Owner::Project, "ok.md", "fine");
    symlink(&secret, file.with_file_name("leak.md")).unwrap();
    let (prompts, troubles) = place.shelves().all();
    assert_eq!((prompts.len(), troubles.len()), (1, 1));
    assert!(troubles[0].to_string().contains("is a link"));

    let own = place.write(Owner::Person, "own.md", "mine");
    symlink(&own, own.with_file_name("linked.md")).unwrap();
    assert_eq!(place.shelves().named("linked").unwrap().text, "mine");

    let project = place.shelves().project;
    fs::remove_dir_all(&project).unwrap();
    symlink(own.parent().unwrap(), &project).unwrap();
    let (prompts, troubles) = place.shelves().all();
    assert!(prompts.iter().all(|prompt| prompt.owner == Owner::Person));
    assert_eq!(troubles.len(), 1, "{troubles:?}");
}
