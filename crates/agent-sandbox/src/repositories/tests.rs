use std::os::unix::fs::symlink;

use super::*;
use agent_files::fs::{Durability, write_atomic};

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn root(&self) -> PathBuf {
        self.0.path().canonicalize().unwrap()
    }

    fn file(&self, path: &str, text: &str) -> &Self {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        write_atomic(&path, text.as_bytes(), Durability::Atomic).unwrap();
        self
    }

    /// A git directory with this configuration.
    fn git(&self, path: &str, config: &str) -> &Self {
        self.file(&format!("{path}/HEAD"), "ref: refs/heads/main\n")
            .file(&format!("{path}/objects/x"), "")
            .file(&format!("{path}/refs/x"), "")
            .file(&format!("{path}/config"), config)
    }

    fn look(&self) -> Inventory {
        Inventory::take(&self.root(), &[])
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.root().join(path)).unwrap()
    }

    #[track_caller]
    fn disarms(&self, before: &Inventory, expected: &[&str]) {
        let disarmed = self.look().disarm(before, &self.root());
        let mut words: Vec<String> = disarmed.iter().map(ToString::to_string).collect();
        words.sort();
        assert_eq!(words, expected);
        let again = self.look().disarm(before, &self.root());
        assert_eq!(again, [], "it is done");
    }
}

const PLAIN: &str = "[core]\n\tbare = false\n[remote \"o\"]\n\turl = x\n";

#[test]
fn what_came_is_taken_out_of_force_wherever_the_repository_is() {
    let place = Place::new();
    place.git(".git", PLAIN);
    let before = place.look();
    place.disarms(&before, &[]);
    place
        .git(
            "sub/.git",
            "[core]\nbare=false\nfsmonitor=./x\n[include]path=y\n",
        )
        .git("a/bare", "[core]fsmonitor=./x\nworktree=/\n")
        .git("objects/hidden", "[alias]x=!y")
        .file("module/.git", "gitdir: ../objects/elsewhere\n")
        .file("objects/elsewhere/config", "[core]sshCommand=x\n")
        .file("sub/.git/hooks/pre-commit", "x")
        .file("sub/.git/hooks/pre-push.sample", "x")
        .git(
            "sub/.git/modules/deep/er",
            "[core]worktree=../../../..\npager=x\n",
        )
        .file(".git/hooks/post-merge", "x");
    place.disarms(
        &before,
        &[
            "`.git/hooks/post-merge`",
            "`alias.x` in `objects/hidden/config`",
            "`core.fsmonitor`, `core.worktree` in `a/bare/config`",
            "`core.fsmonitor`, `include.path` in `sub/.git/config`",
            "`core.pager` in `sub/.git/modules/deep/er/config`",
            "`core.sshcommand` in `objects/elsewhere/config`",
            "`sub/.git/hooks/pre-commit`",
        ],
    );
    assert_eq!(
        place.text("sub/.git/config"),
        "[core]\n\tbare = \"false\"\n"
    );
    let original = place.text(&format!("sub/.git/config{DISABLED}"));
    assert!(original.contains("fsmonitor"));
    assert_eq!(place.text(".git/config"), PLAIN);
}

#[test]
fn what_was_there_before_stays() {
    let place = Place::new();
    let own = "[core]\n\tfsmonitor = own\n\thooksPath = .husky\n";
    place
        .git(".git", own)
        .file(".git/hooks/pre-commit", "own")
        .file(".husky/pre-push", "own");
    let before = place.look();
    place.disarms(&before, &[]);
    place
        .file(".git/config", &format!("{own}\tpager = new\n"))
        .file(".git/hooks/pre-commit", "new")
        .file(".git/hooks/other", "new")
        .file(".husky/pre-push", "new");
    place.disarms(
        &before,
        &[
            "`.git/hooks/other`",
            "`.git/hooks/pre-commit`",
            "`.husky/pre-push`",
            "`core.pager` in `.git/config`",
        ],
    );
    let kept = parse(place.text(".git/config").as_bytes()).unwrap();
    let keys: Vec<String> = kept.iter().map(Setting::key).collect();
    assert_eq!(keys, ["core.fsmonitor", "core.hookspath"]);
}

#[test]
fn what_leads_elsewhere_is_followed_or_taken_away() {
    let place = Place::new();
    let before = place.look();
    place
        .git("sub/.git", PLAIN)
        .file("sub/.git/commondir", "../../shared\n")
        .file("shared/config", "[core]fsmonitor=x")
        .file("x/evil", "[core]fsmonitor=x")
        .git("x/.git", PLAIN)
        .file("y/hooks/pre-commit", "x")
        .git("y/.git", PLAIN);
    fs::remove_file(place.root().join("x/.git/config")).unwrap();
    symlink("../evil", place.root().join("x/.git/config")).unwrap();
    symlink("../hooks", place.root().join("y/.git/hooks")).unwrap();
    place.disarms(
        &before,
        &[
            "`core.fsmonitor` in `shared/config`",
            "`x/.git/config`",
            "`y/.git/hooks`",
        ],
    );
    assert_eq!(place.text("x/.git/config"), "");
}

#[test]
fn what_cannot_be_read_is_not_left_in_force() {
    let place = Place::new();
    place.git("a/.git", PLAIN);
    let before = place.look();
    place
        .file("a/.git/config", "[core]\nfsmonitor = \"x")
        .git("b/.git", "no configuration");
    place.disarms(&before, &["`a/.git/config`", "`b/.git/config`"]);
    assert_eq!(
        parse(place.text("a/.git/config").as_bytes()),
        parse(PLAIN.as_bytes())
    );
}

#[test]
fn files_that_a_repository_obeys_are_known_by_the_directory() {
    let place = Place::new();
    place.git("store/bare", PLAIN).file("plain/config", "");
    let case = |path: &str| is_obeyed_in_repository(&place.root(), Path::new(path));
    assert!(
        case("store/bare/config") && case("store/bare/Hooks/x") && case("store/bare/commondir")
    );
    assert!(!case("plain/config") && !case("store/bare/HEAD") && !case("config"));
    assert!(!case("store/hooks/x") && !case("store/bare/description"));
}

#[test]
fn where_a_configuration_leads_is_known() {
    let place = Place::new();
    place
        .git(
            ".git",
            "[core]\nhooksPath=.husky\nattributesFile=~/attributes\n[include]path=../more\n",
        )
        .file(
            "more",
            "[includeIf \"x\"]path=again\n[core]hooksPath=/elsewhere",
        );
    let root = place.root();
    let led = Led::by(&[root.join(".git/config")], &root, Path::new("/home/me"));
    assert_eq!(
        led.hooks,
        [PathBuf::from("/elsewhere"), root.join(".husky")].into()
    );
    assert_eq!(led.configs, [root.join("again"), root.join("more")].into());
    let inside: Vec<_> = led.beneath(&root).collect();
    assert_eq!(
        inside,
        [
            &root.join(".husky"),
            &root.join("again"),
            &root.join("more")
        ]
    );
}

#[test]
fn a_pointer_is_read_as_git_reads_it() {
    let place = Place::new();
    let case = |text: &str, expected: Option<&str>| {
        place.file("pointer", text);
        let found = pointer(&place.root().join("pointer"), "gitdir: ");
        assert_eq!(found, expected.map(PathBuf::from), "{text:?}");
    };
    case("gitdir: ../x\n", Some("../x"));
    case("gitdir:  x", Some(" x"));
    case("gitdir: x \n\r\n", Some("x "));
    case(&format!("gitdir: x{}", "\n".repeat(9_000)), Some("x"));
    case("gitdir:x", None);
    case("gitdir: ", None);
    case("", None);
}

/// Root reads and changes what it likes, so the permissions are looked at rather than obeyed.
#[test]
fn what_a_command_closes_is_disarmed_all_the_same() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let before = place.look();
    place
        .git("a/.git", "[core]fsmonitor=x")
        .file("a/.git/hooks/pre-commit", "x");
    let close = |path: &str, mode: u32| {
        let mode = fs::Permissions::from_mode(mode);
        fs::set_permissions(place.root().join(path), mode).unwrap();
    };
    close("a/.git/config", 0o400);
    close("a/.git/hooks", 0o300);
    close("a/.git", 0o500);
    close("a", 0o300);
    let mut now = place.look();
    let disarmed = now.disarm(&before, &place.root());
    close("a", 0o700);
    assert!(
        disarmed.iter().all(|one| one.failure.is_none()),
        "{disarmed:?}"
    );
    assert_eq!(disarmed.len(), 2, "{disarmed:?}");
    assert_eq!(place.text("a/.git/config"), "");
    if !rustix::process::geteuid().is_root() {
        assert!(
            now.unknown(&before)
                .unwrap()
                .contains("cannot be looked into")
        );
        assert_eq!(now.unknown(&now), None);
    }
}

#[test]
fn pointers_behind_links_and_line_breaks_are_followed() {
    let place = Place::new();
    let before = place.look();
    let config = "[core]fsmonitor=./x\n";
    place
        .file("a/.git/HEAD", "ref: refs/heads/main\n")
        .file("a/shared/config", config)
        .file("a/pointer", "../shared\n")
        .file("b/.git/HEAD", "ref: refs/heads/main\n")
        .file("b/shared/config", config)
        .file(
            "b/.git/commondir",
            &format!("../shared{}", "\n".repeat(1_100_000)),
        )
        .git("c/.git/objects/hidden", config)
        .file("c/pointer", "gitdir: ../.git/objects/hidden\n")
        .file("c/files/x", "");
    symlink("../pointer", place.root().join("a/.git/commondir")).unwrap();
    symlink("../pointer", place.root().join("c/files/.git")).unwrap();
    place.disarms(
        &before,
        &[
            "`core.fsmonitor` in `a/shared/config`",
            "`core.fsmonitor` in `b/shared/config`",
            "`core.fsmonitor` in `c/.git/objects/hidden/config`",
        ],
    );
}
