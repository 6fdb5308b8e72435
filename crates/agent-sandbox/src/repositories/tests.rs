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
            "[core]worktree=../../../../tree\npager=x\n",
        )
        .file("sub/tree/.git", "gitdir: ../.git/modules/deep/er\n")
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
            "`module/.git`",
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
    let keys: Vec<String> = kept.iter().map(GitSetting::key).collect();
    assert_eq!(keys, ["core.fsmonitor", "core.hookspath"]);
}

#[test]
fn nothing_is_fetched_without_being_asked_for() {
    let place = Place::new();
    let lazy = "[extensions]\n\tpartialClone = o\n[remote \"o\"]\n\turl = x\n\tpromisor = true\n";
    place.git("old/.git", lazy);
    let before = place.look();
    place.git("new/.git", lazy);
    place.file("old/.git/config", &lazy.replace("= x", "= y"));
    let disarmed = place.look().disarm(&before, &place.root());
    assert_eq!(disarmed.len(), 2, "{disarmed:?}");
    for (path, url) in [("new", "x"), ("old", "y")] {
        let kept = place.text(&format!("{path}/.git/config"));
        let settings = parse(kept.as_bytes()).unwrap();
        let fetches = settings.iter().any(GitSetting::fetches_unasked);
        let leads = settings.iter().any(|setting| setting.text() == Some(url));
        assert!(!(fetches && leads), "{path}: {kept}");
    }
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
            "`sub/.git/commondir`",
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
    place.git("own/.git", PLAIN);
    let case = |path: &str| obeyed_in_repository(&place.root(), &[Path::new(path)]).is_some();
    for path in ["config", "Hooks/x", "commondir", "HEAD", "description"] {
        assert!(case(&format!("store/bare/{path}")), "{path}");
    }
    assert!(case("store/bare/rebase-merge/git-rebase-todo"));
    assert!(!case("plain/config") && !case("config") && !case("store/hooks/x"));
    for path in [
        "config",
        "Hooks/x",
        "objects/info/alternates",
        "sequencer/opts",
    ] {
        assert!(case(&format!("own/.git/{path}")), "{path}");
    }
    assert!(!case("own/.git/description") && !case("own/.git/info/exclude"));
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
    let led = ConfiguredPaths::by(
        &[root.join(".git/config")],
        &[root.clone()].into(),
        Path::new("/home/me"),
    );
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
        .git("b/c/secret", "[core]fsmonitor=x")
        .git("b/d/secret", "[core]fsmonitor=x")
        .file("a/.git/hooks/pre-commit", "x");
    let close = |path: &str, mode: u32| {
        let mode = fs::Permissions::from_mode(mode);
        fs::set_permissions(place.root().join(path), mode).unwrap();
    };
    close("a/.git/config", 0o400);
    close("a/.git/hooks", 0o300);
    close("a/.git", 0o500);
    close("a", 0o300);
    close("b/c", 0o111);
    close("b/d", 0);
    let mut now = Inventory::take_after(&before, &place.root(), &[], &[], None);
    let disarmed = now.disarm(&before, &place.root());
    close("a", 0o700);
    assert!(
        disarmed.iter().all(|one| one.failure.is_none()),
        "{disarmed:?}"
    );
    assert_eq!(disarmed.len(), 4, "{disarmed:?}");
    assert_eq!(place.text("a/.git/config"), "");
    if !rustix::process::geteuid().is_root() {
        let again = now.clone();
        let report = now.disarm_and_tell(&again, &place.root()).unwrap();
        let told = report.to_string();
        for path in ["a`", "b/c`", "b/d`"] {
            assert!(told.contains(path), "{told}");
        }
    }
    let mut now = place.look();
    let again = now.clone();
    assert_eq!(now.disarm_and_tell(&again, &place.root()), None);
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
            "`a/.git/commondir`",
            "`b/.git/commondir`",
            "`c/files/.git`",
            "`core.fsmonitor` in `a/shared/config`",
            "`core.fsmonitor` in `b/shared/config`",
            "`core.fsmonitor` in `c/.git/objects/hidden/config`",
        ],
    );
}

#[test]
fn what_newly_leads_out_of_the_workspace_is_taken_away() {
    let place = Place::new();
    place
        .git("cache/evil", "[core]fsmonitor=x")
        .file("work/own/.git", "gitdir: ../../cache/evil\n");
    let work = place.root().join("work");
    let look = || Inventory::take(&work, &[]);
    let before = look();
    place
        .file("work/a/.git", "gitdir: ../../cache/evil\n")
        .file("work/b/.git", "gitdir: ../../cache/not-yet\n")
        .git("work/c/.git", PLAIN)
        .file("work/c/.git/commondir", "../../../cache/evil\n")
        .file("work/d/x", "")
        .file("work/e/pointer", "gitdir: ../link/evil\n")
        .git("work/f/.git", PLAIN);
    symlink(place.root().join("cache/evil"), work.join("d/.git")).unwrap();
    symlink(place.root().join("cache"), work.join("link")).unwrap();
    symlink("pointer", work.join("e/.git")).unwrap();
    let disarmed = look().disarm(&before, &work);
    let words: Vec<String> = disarmed.iter().map(ToString::to_string).collect();
    let expected = [
        "`a/.git`",
        "`b/.git`",
        "`c/.git/commondir`",
        "`d/.git`",
        "`e/.git`",
    ];
    assert_eq!(words, expected);
    assert_eq!(place.text("work/own/.git"), "gitdir: ../../cache/evil\n");
    assert_eq!(look().disarm(&before, &work), []);
}

#[test]
fn a_way_that_led_into_the_workspace_does_not_lead_out_later() {
    let place = Place::new();
    let work = place.root().join("work");
    place
        .git("work/a/.git", "[core]\n\tworktree = ../../files\n")
        .git("work/store/b", PLAIN)
        .file("work/b/.git", "gitdir: ../link/b\n")
        .file("work/tree/x", "")
        .git("elsewhere/b", "[core]fsmonitor=x");
    symlink("tree", work.join("files")).unwrap();
    symlink("store", work.join("link")).unwrap();
    let before = Inventory::take(&work, &[]);
    for link in ["files", "link"] {
        fs::remove_file(work.join(link)).unwrap();
        symlink(place.root().join("elsewhere"), work.join(link)).unwrap();
    }
    let disarmed = Inventory::take(&work, &[]).disarm(&before, &work);
    let words: Vec<String> = disarmed.iter().map(ToString::to_string).collect();
    assert_eq!(words, ["`b/.git`", "`core.worktree` in `a/.git/config`"]);
}

#[test]
fn a_link_on_the_way_to_hooks_does_not_lead_out_later() {
    let place = Place::new();
    let work = place.root().join("work");
    place
        .git(
            "work/.git",
            "[core]hooksPath=link/hooks\n[include]path=../link/more\n",
        )
        .file("work/tools/hooks/x", "")
        .file("elsewhere/hooks/pre-commit", "x")
        .file("elsewhere/more", "[core]fsmonitor=x");
    symlink("tools", work.join("link")).unwrap();
    let before = Inventory::take(&work, &[]);
    fs::remove_file(work.join("link")).unwrap();
    symlink(place.root().join("elsewhere"), work.join("link")).unwrap();
    let disarmed = Inventory::take(&work, &[]).disarm(&before, &work);
    assert!(!disarmed.is_empty());
    assert!(
        disarmed.iter().all(|one| one.failure.is_none()),
        "{disarmed:?}"
    );
    assert!(!work.join("link").is_symlink());
    assert!(place.root().join("elsewhere/hooks/pre-commit").exists());
}

#[test]
fn what_is_disabled_does_not_hide_what_was_not_looked_at() {
    let place = Place::new();
    let before = place.look();
    place.git("a/.git", "[core]fsmonitor=x");
    let mut now = place.look();
    now.is_cut = true;
    let report = now.disarm_and_tell(&before, &place.root()).unwrap();
    assert_eq!((report.disarmed.len(), report.is_cut), (1, true));
    let told = report.to_string();
    assert!(
        told.contains("core.fsmonitor") && told.contains("too large"),
        "{told}"
    );
}

#[test]
fn nobody_has_the_files_of_others_disabled_by_leading_to_them() {
    let place = Place::new();
    let own = "[core]\n\tfsmonitor = own\n";
    place
        .git(".git", own)
        .file(".git/hooks/pre-commit", "own")
        .file("scripts/pre-push", "own")
        .file("README", "no configuration");
    let before = place.look();
    place
        .git(
            "a/.git",
            "[include]path=../../.git/config\n[core]hooksPath=../.git/hooks",
        )
        .git(
            "b/.git",
            "[include]path=../../README\n[core]hooksPath=../scripts",
        )
        .git("c/.git", PLAIN)
        .file("c/.git/hooks/x", "");
    symlink(
        "../../../scripts/pre-push",
        place.root().join("c/.git/hooks/pre-push"),
    )
    .unwrap();
    place.disarms(
        &before,
        &[
            "`c/.git/hooks/pre-push`",
            "`c/.git/hooks/x`",
            "`include.path`, `core.hookspath` in `a/.git/config`",
            "`include.path`, `core.hookspath` in `b/.git/config`",
        ],
    );
    assert_eq!(place.text(".git/config"), own);
    assert_eq!(place.text("scripts/pre-push"), "own");
}

#[test]
fn what_the_hooks_of_the_person_are_links_to_counts_as_hooks() {
    let place = Place::new();
    place
        .git(".git", PLAIN)
        .file(".git/hooks/x.sample", "")
        .file("scripts/check", "own")
        .git("sub/.git", PLAIN)
        .file("tools/hooks/pre-push", "own")
        .git("third/.git", "[core]hooksPath=link/hooks");
    let root = place.root();
    symlink("../../scripts/check", root.join(".git/hooks/pre-commit")).unwrap();
    symlink("../../tools/hooks", root.join("sub/.git/hooks")).unwrap();
    symlink("../tools", root.join("third/link")).unwrap();
    let led = ConfiguredPaths::in_workspace(&root, Path::new("/nobody"));
    assert!(
        led.beneath(&root)
            .any(|path| *path == root.join("scripts/check"))
    );
    let led = ConfiguredPaths::of_work_tree(&root.join("sub"), Path::new("/nobody"));
    assert!(led.hooks.contains(&root.join("tools/hooks")));
    let led = ConfiguredPaths::of_work_tree(&root.join("third"), Path::new("/nobody"));
    assert!(led.hooks.contains(&root.join("tools/hooks")), "{led:?}");
    let before = place.look();
    place
        .file("scripts/check", "new")
        .file("tools/hooks/pre-commit", "new");
    place.disarms(&before, &["`scripts/check`", "`tools/hooks/pre-commit`"]);
}

#[test]
fn the_scripts_that_settings_name_are_known() {
    let place = Place::new();
    place
        .git(
            ".git",
            "[filter \"x\"]\nclean = python3 'tools/clean.py' %f\nsmudge = cat\n[core]fsmonitor=./watch\n[alias]a=!./own.sh clean.md\n[filter \"lfs\"]clean=git-lfs clean -- %f\n[pager]log=$(git rev-parse --show-toplevel)/tools/missing\n[credential]helper=store.sh\n",
        )
        .file("tools/clean.py", "own")
        .file("watch", "own")
        .file("own.sh", "own")
        .file("clean.md", "own")
        .file("clean", "own");
    let root = place.root();
    let led = ConfiguredPaths::in_workspace(&root, Path::new("/nobody"));
    assert_eq!(
        led.run,
        [
            root.join("own.sh"),
            root.join("tools/clean.py"),
            root.join("tools/missing"),
            root.join("watch"),
        ]
        .into()
    );
    let before = place.look();
    place
        .file("tools/clean.py", "new")
        .file("tools/missing", "new")
        .file("own.sh", "new");
    let disabled = ["`own.sh`", "`tools/clean.py`", "`tools/missing`"];
    place.disarms(&before, &disabled);
}

#[test]
fn a_rebase_that_would_run_something_does_not_go_on() {
    let place = Place::new();
    let before = place.look();
    place
        .git("a/.git", PLAIN)
        .file(
            "a/.git/rebase-merge/git-rebase-todo",
            "pick 1\n\tx\ttouch y\n",
        )
        .git("b/.git", PLAIN)
        .file(
            "b/.git/rebase-merge/git-rebase-todo",
            "pick 1 exec\n# exec x\n",
        );
    place.disarms(&before, &["`a/.git/rebase-merge/git-rebase-todo`"]);
}

#[test]
fn a_merge_strategy_that_is_a_program_is_disabled() {
    let place = Place::new();
    let before = place.look();
    place
        .git("a/.git", PLAIN)
        .file("a/.git/rebase-merge/strategy", "x/../evil\n")
        .git("b/.git", PLAIN)
        .file("b/.git/rebase-merge/strategy", "ort\n")
        .git("c/.git", PLAIN)
        .file("c/.git/sequencer/opts", "[options]\n\tstrategy = evil\n")
        .git("d/.git", PLAIN)
        .file(
            "d/.git/sequencer/opts",
            "[options]\n\tstrategy = resolve\n\tsignoff = true\n",
        )
        .git(
            "e/.git",
            "[branch \"main\"]\n\tmergeOptions = -s x/../evil\n",
        );
    place.disarms(
        &before,
        &[
            "`a/.git/rebase-merge/strategy`",
            "`branch.main.mergeoptions` in `e/.git/config`",
            "`c/.git/sequencer/opts`",
        ],
    );
}

#[test]
fn a_repository_within_the_stores_of_another_is_found() {
    let place = Place::new();
    place.git(".git", PLAIN);
    let before = place.look();
    let evil = "[core]\n\tfsmonitor = evil\n";
    for store in ["lfs/a", "hooks/a", "objects/ab/a", "refs/a", "logs/a"] {
        place.git(&format!(".git/{store}/.git"), evil);
    }
    let disabled = ["hooks/a", "lfs/a", "logs/a", "objects/ab/a", "refs/a"]
        .map(|store| format!("`core.fsmonitor` in `.git/{store}/.git/config`"));
    place.disarms(&before, &disabled.each_ref().map(String::as_str));
}

/// Where there was no time to see all of it before a command, the times of the files tell what is new.
#[test]
fn what_was_not_seen_before_is_new_only_if_it_was_changed_since() {
    let place = Place::new();
    let own = "[core]\n\tfsmonitor = own\n";
    place.git("a/.git", own).git("b/.git", own);
    let mut before = place.look();
    before.directories.clear();
    let told = |before: &Inventory| {
        let disarmed = place.look().disarm(before, &place.root());
        disarmed.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    before.is_cut = true;
    before.taken += Duration::from_hours(1);
    assert_eq!(told(&before), [""; 0]);
    before.taken -= Duration::from_hours(2);
    let both = ["a", "b"].map(|name| format!("`core.fsmonitor` in `{name}/.git/config`"));
    assert_eq!(told(&before), both);
}

#[test]
fn what_is_kept_is_read_again() {
    use std::os::unix::ffi::OsStrExt;
    let place = Place::new();
    let odd = OsStr::from_bytes(b"odd\xff");
    fs::create_dir(place.root().join(odd)).unwrap();
    place
        .git(
            "a/.git",
            "[core]hooksPath=h\n[include]path=more\n[user]name=\u{e4}",
        )
        .file("a/.git/hooks/pre-commit", "x")
        .file("a/h/pre-push", "x")
        .file("x/.git", "gitdir: /elsewhere\n");
    fs::create_dir(place.root().join(odd).join(".git")).unwrap();
    symlink("nowhere", place.root().join(odd).join(".git/config")).unwrap();
    let before = place.look();
    let json = serde_json::to_string(&before).unwrap();
    assert_eq!(serde_json::from_str::<Inventory>(&json).unwrap(), before);
    let file = place.root().join("kept.json");
    KeptInventory::new(&place.root(), Vec::new(), before)
        .keep(&file)
        .unwrap();
    place.git("b/.git", "[core]fsmonitor=x");
    let told = KeptInventory::disarm(&file).unwrap().to_string();
    assert!(
        told.contains("`core.fsmonitor` in `b/.git/config`"),
        "{told}"
    );
    assert_eq!(KeptInventory::disarm(&file), None);
    place.file("kept.json", "{");
    let report = KeptInventory::disarm(&file).unwrap();
    assert!(report.is_unknown && report.to_string().contains("nobody knows"));
}

#[test]
fn links_in_a_git_directory_are_disabled_wherever_they_lead() {
    let place = Place::new();
    place.git("own", PLAIN).git("outside", PLAIN);
    let link = |target: &str, path: &str| {
        let path = place.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
    };
    link("/etc/passwd", "own/index");
    let before = place.look();
    place.git("new/.git", PLAIN).git("bare", PLAIN);
    link("/etc", "new/.git/refs/heads");
    link("/none/yet", "new/.git/COMMIT_EDITMSG");
    link("config", "bare/COMMIT_EDITMSG");
    link("/etc", "bare/objects/ab");
    link("/etc", "new/.git/objects/pack");
    link("/etc", "new/.git/modules/m");
    link("/etc/passwd", "new/.git/modules/n.disabled-by-agent");
    link("/etc/passwd", "new/.git/info/exclude");
    link("/etc/passwd", "own/packed-refs");
    // No part of the git directory: not git's.
    link("/etc/passwd", "bare/tools/x");
    link("/etc/passwd", "new/file");
    place.disarms(
        &before,
        &[
            "`bare/COMMIT_EDITMSG`",
            "`bare/objects/ab`",
            "`new/.git/COMMIT_EDITMSG`",
            "`new/.git/info/exclude`",
            "`new/.git/modules/m`",
            "`new/.git/modules/n.disabled-by-agent`",
            "`new/.git/objects/pack`",
            "`new/.git/refs/heads`",
            "`own/packed-refs`",
        ],
    );
    let is_there = |path: &str| place.root().join(path).symlink_metadata().is_ok();
    assert!(is_there("own/index") && is_there("bare/tools/x") && is_there("new/file"));
    assert!(is_there("new/.git/refs-heads.disabled-by-agent"));
    assert!(!is_there("new/.git/refs/heads"));
    assert!(!is_there("new/.git/refs/heads.disabled-by-agent"));
}

#[test]
fn no_message_is_written_into_a_new_configuration() {
    let place = Place::new();
    let link = |from: &str, to: &str| {
        fs::hard_link(place.root().join(from), place.root().join(to)).unwrap();
    };
    place.git("own", PLAIN);
    link("own/config", "own/copy");
    let before = place.look();
    place.git("new", PLAIN);
    link("new/config", "new/COMMIT_EDITMSG");
    place.disarms(&before, &["`new/config`"]);
    let message = place.root().join("new/COMMIT_EDITMSG");
    let mut message = fs::OpenOptions::new().append(true).open(message).unwrap();
    io::Write::write_all(&mut message, b"[alias]x=!y\n").unwrap();
    let config = parse(place.text("new/config").as_bytes()).unwrap();
    assert_eq!(config, parse(PLAIN.as_bytes()).unwrap());
}

#[test]
fn object_stores_of_no_known_repository_are_not_read_from() {
    let place = Place::new();
    place
        .git("own", PLAIN)
        .file("own/objects/info/alternates", "/elsewhere/objects\n");
    let before = place.look();
    let mine = place.root().join("own/objects");
    place
        .git("a", PLAIN)
        .file("a/objects/info/alternates", "# none\n/elsewhere/objects\n")
        .git("b", PLAIN)
        .file("b/objects/info/alternates", "../../loose/objects\n")
        .file("loose/objects/info/alternates", "/elsewhere/objects\n")
        .git("c", PLAIN)
        .file(
            "c/objects/info/alternates",
            &format!("{}\n../../a/objects\n", mine.display()),
        )
        .git("d", PLAIN)
        .file("d/objects/info/alternates", "\"/elsewhere/objects\"\n");
    place.disarms(
        &before,
        &[
            "`a/objects/info/alternates`",
            "`b/objects/info/alternates`",
            "`d/objects/info/alternates`",
        ],
    );
}

#[test]
fn no_file_step_completes_a_repository() {
    let place = Place::new();
    place
        .file("half/HEAD", "ref: refs/heads/main\n")
        .file("half/objects/x", "")
        .file("plain/objects/x", "");
    symlink("half", place.root().join("other")).unwrap();
    let is_obeyed = |path: &str| obeyed_in_repository(&place.root(), &[Path::new(path)]).is_some();
    for path in [
        "half/refs/x",
        "half/REFS/a/b",
        "other/refs",
        "half/commondir",
    ] {
        assert!(is_obeyed(path), "{path}");
    }
    for path in ["half/objects/y", "half/x/refs/y", "plain/refs/x", "refs/x"] {
        assert!(!is_obeyed(path), "{path}");
    }
    place.file("last/objects/x", "").file("last/refs/x", "");
    assert!(is_obeyed("last/HEAD") && !is_obeyed("last/config"));
    let at_once = ["new/config", "new/refs/x", "new/objects/x", "new/HEAD"].map(Path::new);
    assert_eq!(
        obeyed_in_repository(&place.root(), &at_once),
        Some(at_once[0])
    );
}

#[test]
fn no_file_step_changes_what_a_repository_below_the_top_names() {
    let place = Place::new();
    place
        .git(
            "nested/.git",
            "[core]\nhooksPath=.githooks\nfsmonitor=../watch\n",
        )
        .file("other/.git", "gitdir: ../nested/.git\n");
    let is_obeyed = |path: &str| obeyed_in_repository(&place.root(), &[Path::new(path)]).is_some();
    for path in ["nested/.githooks/pre-commit", "other/.githooks/pre-commit"] {
        assert!(is_obeyed(path), "{path}");
    }
    for path in ["nested/src/x", ".githooks/pre-commit", "other/x", "x"] {
        assert!(!is_obeyed(path), "{path}");
    }
}

#[test]
fn the_persons_own_configuration_in_the_workspace_is_disarmed() {
    let place = Place::new();
    place
        .file("work/gitconfig", "[user]name=a\n[alias]x=!own\n")
        .file("work/other/gitconfig", "[alias]y=!other\n")
        .file("home/x", "");
    let (work, home) = (place.root().join("work"), place.root().join("home"));
    let link = home.join(".gitconfig");
    symlink("../work/gitconfig", &link).unwrap();
    let look = || Inventory {
        person: Repository::of_person(&work, &[work.clone()].into(), &home),
        ..Inventory::take(&work, &[])
    };
    let before = look();
    assert_eq!(look().disarm(&before, &work), []);
    place.file(
        "work/gitconfig",
        "[user]name=a\n[alias]x=!own\n[core]fsmonitor=evil\n",
    );
    let words = |disarmed: Vec<Disarmed>| {
        let words: Vec<String> = disarmed.iter().map(ToString::to_string).collect();
        words.join(" ")
    };
    let disarmed = look().disarm(&before, &work);
    assert_eq!(words(disarmed), "`core.fsmonitor` in `gitconfig`");
    assert!(place.text("work/gitconfig").contains("own"));
    assert_eq!(look().disarm(&before, &work), []);
    // A new one, where the workspace is the home.
    let home = work.clone();
    let look = || Inventory {
        person: Repository::of_person(&work, &[work.clone()].into(), &home),
        ..Inventory::take(&work, &[])
    };
    let before = look();
    place.file("work/.config/git/config", "[core]pager=evil\n");
    let disarmed = look().disarm(&before, &work);
    assert_eq!(words(disarmed), "`core.pager` in `.config/git/config`");
}

/// The harmless settings are lost, and nothing is in force.
#[test]
fn a_full_disk_keeps_nothing_in_force() {
    let place = Place::new();
    let before = place.look();
    place.git("a/.git", "[core]fsmonitor=x\nbare=false\n");
    let mut now = place.look();
    let root = Dir::open_ambient_dir(place.root(), ambient_authority()).unwrap();
    let directory = place.root().join("a/.git");
    let mut disarmed = Vec::new();
    let mut disarm = Disarming {
        root: &root,
        workspace: &place.root(),
        directory: &directory,
        disarmed: &mut disarmed,
        fetches_unasked: false,
        write: |_, _, _| Err(io::ErrorKind::StorageFull.into()),
    };
    let repository = now.directories.get_mut(&directory).unwrap();
    disarm.configs(repository, &Repository::default());
    let words: Vec<String> = disarmed.iter().map(ToString::to_string).collect();
    assert_eq!(words, ["`a/.git/config`"]);
    assert!(!directory.join("config").exists());
    let original = place.text(&format!("a/.git/config{DISABLED}"));
    assert!(original.contains("fsmonitor"));
    place.disarms(&before, &[]);
}

#[test]
fn a_link_to_what_is_missing_leads_there() {
    let place = Place::new();
    place.file("home/x", "").file("work/x", "");
    let at = |path: &str| place.root().join(path);
    symlink("../work/new", at("home/a")).unwrap();
    symlink("a", at("home/b")).unwrap();
    symlink("loop", at("home/loop")).unwrap();
    assert_eq!(really(&at("home/a")), at("work/new"));
    assert_eq!(really(&at("home/b/config")), at("work/new/config"));
    assert_eq!(really(&at("home/none/x")), at("home/none/x"));
    assert_eq!(really(&at("home/loop")), at("home/loop"));
}

#[test]
fn a_path_ends_at_a_zero_byte_as_for_git() {
    let place = Place::new();
    let other = Place::new();
    other.git(".git", PLAIN);
    let outside = other.root().join(".git");
    let before = place.look();
    place
        .git("sub/.git", PLAIN)
        .file("sub/.git/commondir", "../../evil\0\n")
        .file("evil/objects/x", "")
        .file("evil/config", "[core]\n\tfsmonitor = touch x\n")
        .file("linked/.git", &format!("gitdir: {}\0", outside.display()))
        .git("shared/.git", PLAIN)
        .file(
            "shared/.git/commondir",
            &format!("{}\0{}", outside.display(), "x".repeat(100)),
        );
    place.disarms(
        &before,
        &[
            "`core.fsmonitor` in `evil/config`",
            "`linked/.git`",
            "`shared/.git/commondir`",
            "`sub/.git/commondir`",
        ],
    );
}

#[test]
fn a_file_too_long_to_be_read_may_run_anything() {
    let place = Place::new();
    place.git(".git", PLAIN);
    let before = place.look();
    let comment = "# long\n".repeat(usize::try_from(MAX_HOOK).unwrap() / 7 + 1);
    place
        .file(".git/rebase-merge/git-rebase-todo", &comment)
        .file(".git/sequencer/opts", &comment);
    let expected = [
        "`.git/rebase-merge/git-rebase-todo`",
        "`.git/sequencer/opts`",
    ];
    place.disarms(&before, &expected);
}

#[test]
fn links_anywhere_in_a_git_directory_and_work_trees_elsewhere_are_taken_out_of_force() {
    let place = Place::new();
    let other = Place::new();
    let outside = other.root();
    place.git(".git", PLAIN).file(
        ".git/worktrees/old/gitdir",
        &format!("{}/old/.git\n", outside.display()),
    );
    let before = place.look();
    place
        .file(".git/worktrees/whole/HEAD", "ref: refs/heads/x\n")
        .file(".git/worktrees/whole/commondir", "../..\n")
        .file(
            ".git/worktrees/whole/gitdir",
            &format!("{}/x/.git\n", outside.display()),
        );
    for (link, target) in [("rr-cache/ab/thisimage", "file"), ("lost-found/other", "")] {
        let link = place.root().join(".git").join(link);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(outside.join(target), link).unwrap();
    }
    place
        .file(
            ".git/worktrees/wt/gitdir",
            &format!("{}/.git\n", outside.display()),
        )
        .file(
            ".git/worktrees/own/gitdir",
            &format!("{}/own/.git\n", place.root().display()),
        );
    place.disarms(
        &before,
        &[
            "`.git/lost-found/other`",
            "`.git/rr-cache/ab/thisimage`",
            "`.git/worktrees/whole/gitdir`",
            "`.git/worktrees/wt/gitdir`",
        ],
    );
}

#[test]
fn a_hook_beyond_the_longest_path_is_taken_out_of_force() {
    let place = Place::new();
    let before = place.look();
    // As long as a path can be with `.git/hooks`, but not with the name of a hook.
    let root = place.root().as_os_str().len();
    let (part, mut deep) = ("d".repeat(200), String::new());
    while root + deep.len() + 2 * (part.len() + 1) < 4_080 {
        deep.push_str(&part);
        deep.push('/');
    }
    let rest = 4_080 - root - deep.len() - 1;
    deep.push_str(&"e".repeat(rest));
    let at = Dir::open_ambient_dir(place.root(), ambient_authority()).unwrap();
    at.create_dir_all(&deep).unwrap();
    let repository = at.open_dir(&deep).unwrap();
    for directory in [".git/objects", ".git/refs", ".git/hooks"] {
        repository.create_dir_all(directory).unwrap();
    }
    repository
        .write(".git/HEAD", "ref: refs/heads/main\n")
        .unwrap();
    repository
        .write(".git/hooks/pre-commit", "#!/bin/sh\n")
        .unwrap();
    place.look().disarm(&before, &place.root());
    assert!(!repository.exists(".git/hooks/pre-commit"));
}

#[test]
fn a_directory_beyond_the_longest_path_is_told() {
    let place = Place::new();
    let before = place.look();
    let at = Dir::open_ambient_dir(place.root(), ambient_authority()).unwrap();
    let mut deep = at.try_clone().unwrap();
    for _ in 0..25 {
        let name = "d".repeat(200);
        deep.create_dir(&name).unwrap();
        deep = deep.open_dir(&name).unwrap();
    }
    let report = place.look().disarm_and_tell(&before, &place.root());
    assert_eq!(report.unwrap().closed.len(), 1);
}

#[test]
fn no_new_pointer_leads_to_a_repository_that_is_still_to_be_completed() {
    let place = Place::new();
    place
        .git("old/.git", PLAIN)
        .file("own/.git", "gitdir: ../removed\n");
    let before = place.look();
    place
        .file("x/HEAD", "ref: refs/heads/main\n")
        .file("x/commondir", "../missing\n")
        .file("x/objects/a", "")
        .file("x/refs/a", "")
        .file("sub/.git", "gitdir: ../x\n")
        .file("half/.git", "gitdir: ../later\n")
        .git("main/.git", PLAIN)
        .file("main/.git/worktrees/w/HEAD", "ref: refs/heads/w\n")
        .file("main/.git/worktrees/w/commondir", "../..\n")
        .file("main/.git/worktrees/w/gitdir", "../../../../w/.git\n")
        .file("w/.git", "gitdir: ../main/.git/worktrees/w\n");
    fs::create_dir(place.root().join("link")).unwrap();
    symlink("/nowhere/git", place.root().join("link/.git")).unwrap();
    let disabled = ["`half/.git`", "`link/.git`", "`sub/.git`", "`x/commondir`"];
    place.disarms(&before, &disabled);
    assert_eq!(place.text("own/.git"), "gitdir: ../removed\n");
}

#[test]
fn a_file_that_git_writes_in_place_is_no_other_name_of_one_that_it_obeys() {
    let place = Place::new();
    place.git(".git", PLAIN).git("shared/.git", PLAIN);
    let link = |from: &str, to: &str| {
        fs::hard_link(place.root().join(from), place.root().join(to)).unwrap();
    };
    link("shared/.git/config", "shared/copy");
    let before = place.look();
    link(".git/config", ".git/COMMIT_EDITMSG");
    place
        .git("a/.git", PLAIN)
        .file("a/.git/rebase-merge/git-rebase-todo", "pick 1\n")
        .git("b/.git", PLAIN)
        .file("b/.git/commondir", "../../a/.git\n");
    link(
        "a/.git/rebase-merge/git-rebase-todo",
        "a/.git/COMMIT_EDITMSG",
    );
    link("b/.git/commondir", "b/.git/COMMIT_EDITMSG");
    place.disarms(
        &before,
        &[
            "`.git/config`",
            "`a/.git/rebase-merge/git-rebase-todo`",
            "`b/.git/commondir`",
        ],
    );
    assert_eq!(
        parse(place.text(".git/config").as_bytes()),
        parse(PLAIN.as_bytes())
    );
    assert_eq!(place.text("shared/copy"), PLAIN);
}

/// In another directory the same settings would mean files there.
#[test]
fn no_new_pointer_leads_to_a_repository_of_the_person() {
    let place = Place::new();
    place
        .git(".git", "[core]hooksPath=.githooks\n")
        .file("known/.git", "gitdir: ../.git\n");
    let before = place.look();
    place
        .file("a/.git", "gitdir: ../.git\n")
        .file("b/x", "")
        .file("c/.git/HEAD", "ref: refs/heads/main\n")
        .file("c/.git/commondir", "../../.git\n")
        .file("admin/HEAD", "ref: refs/heads/main\n")
        .file("admin/commondir", "../.git\n")
        .file("d/.git", "gitdir: ../admin\n");
    symlink("../.git", place.root().join("b/.git")).unwrap();
    place.disarms(
        &before,
        &[
            "`a/.git`",
            "`admin/commondir`",
            "`b/.git`",
            "`c/.git/commondir`",
            "`d/.git`",
        ],
    );
}

#[test]
fn what_settings_of_the_person_mean_in_a_new_work_tree_is_disabled() {
    let place = Place::new();
    let config = "[core]\nhooksPath=.githooks\nfsmonitor=tools/watch\n";
    let linked = |name: &str| {
        place
            .file(
                &format!(".git/worktrees/{name}/HEAD"),
                "ref: refs/heads/x\n",
            )
            .file(&format!(".git/worktrees/{name}/commondir"), "../..\n")
            .file(
                &format!(".git/worktrees/{name}/gitdir"),
                &format!("{}/{name}/.git\n", place.root().display()),
            )
            .file(
                &format!("{name}/.git"),
                &format!("gitdir: ../.git/worktrees/{name}\n"),
            )
            .file(&format!("{name}/.githooks/pre-commit"), "x")
            .file(&format!("{name}/tools/watch"), "x");
    };
    place.git(".git", config);
    linked("old");
    let before = place.look();
    place.disarms(&before, &[]);
    linked("new");
    place.file("old/.githooks/pre-push", "x");
    place.disarms(
        &before,
        &[
            "`new/.githooks/pre-commit`",
            "`new/tools/watch`",
            "`old/.githooks/pre-push`",
        ],
    );
}

#[test]
fn what_a_repository_above_the_workspace_names_is_disabled() {
    let place = Place::new();
    place
        .git(".git", "[core]hooksPath=work/.husky\n")
        .file("work/.husky/pre-commit", "own");
    let work = place.root().join("work");
    let look = || Inventory::take(&work, &[]);
    let before = look();
    assert_eq!(look().disarm(&before, &work), []);
    place
        .file("work/.husky/pre-commit", "new")
        .file("work/.husky/pre-push", "new");
    let disarmed = look().disarm(&before, &work);
    let words: Vec<String> = disarmed.iter().map(ToString::to_string).collect();
    assert_eq!(words, ["`.husky/pre-commit`", "`.husky/pre-push`"]);
}

#[test]
fn a_repository_in_another_one_is_obeyed_by_both() {
    let place = Place::new();
    place
        .git(".git", "[core]hooksPath=work/.husky\n")
        .git("work/.git", "[core]hooksPath=.own\n")
        .file("work/.husky/x", "")
        .file("work/.own/x", "");
    let work = place.root().join("work");
    let before = Inventory::take(&work, &[]);
    place
        .file("work/.husky/pre-push", "new")
        .file("work/.own/pre-push", "new");
    let disarmed = Inventory::take(&work, &[]).disarm(&before, &work);
    let words: Vec<String> = disarmed.iter().map(ToString::to_string).collect();
    assert_eq!(words, ["`.own/pre-push`", "`.husky/pre-push`"]);
}

/// The files are older than the search before: another command made them.
#[test]
fn what_comes_to_where_a_setting_looks_for_it_is_disabled() {
    let place = Place::new();
    place
        .git(
            ".git",
            "[core]\nfsmonitor=tools/watch\npager=sh 'my tools/x'\neditor=python3 -u page\n",
        )
        .file("moved/watch", "x")
        .file("linked/x", "x")
        .file("page2", "x");
    let mut before = place.look();
    before.taken += CLOCK_LAG * 3;
    let at = |path: &str| place.root().join(path);
    let root = Dir::open_ambient_dir(place.root(), ambient_authority()).unwrap();
    root.rename("moved", &root, "tools").unwrap();
    root.rename("page2", &root, "page").unwrap();
    symlink("linked", at("my tools")).unwrap();
    place.disarms(&before, &["`my tools`", "`page`", "`tools/watch`"]);
    assert_eq!(place.text("linked/x"), "x");
    // The counterpart: what led there before stays.
    let place = Place::new();
    place
        .git(".git", "[core]\nfsmonitor=tools/watch\n")
        .file("linked/watch", "x");
    symlink("linked", place.root().join("tools")).unwrap();
    let before = place.look();
    place.file("other/x", "");
    place.disarms(&before, &[]);
}

#[test]
fn a_work_tree_that_a_link_turns_elsewhere_goes() {
    let place = Place::new();
    place
        .git(".git", PLAIN)
        .git("git", "[core]worktree=../link\n")
        .file("files/.git", "gitdir: ../git\n");
    let link = place.root().join("link");
    symlink("files", &link).unwrap();
    let before = place.look();
    place.disarms(&before, &[]);
    fs::remove_file(&link).unwrap();
    symlink(".git/hooks", &link).unwrap();
    place.disarms(
        &before,
        &["`core.worktree` in `git/config`", "`files/.git`"],
    );
}

#[test]
fn a_new_work_tree_is_one_that_leads_back() {
    let place = Place::new();
    place.git(".git", PLAIN);
    let before = place.look();
    place
        .file(".git/hooks/x.sample", "")
        .git("a/.git", "[core]\n\tworktree = ../../.git/hooks\n")
        .git("b/.git", "[core]\n\tworktree = ../files\n")
        .file("b/files/.git", "gitdir: ../.git\n");
    place.disarms(&before, &["`core.worktree` in `a/.git/config`"]);
}

/// Root needs no permission: the list is told, or opened, for others only.
#[test]
fn a_directory_that_can_be_listed_and_not_searched_is_opened() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let before = place.look();
    place
        .git("a/.git", "[core]fsmonitor=x")
        .git("b/.git", PLAIN)
        .file("b/.git/hooks/pre-commit", "x")
        .git("c/d/.git", "[core]fsmonitor=x")
        .git("e/.git", PLAIN)
        .git("f/.git", PLAIN)
        .file("g/.git", "gitdir: ../f/.git\n");
    place.file("e/.git/commondir", "../../f/.git\n");
    for (path, mode) in [
        ("a/.git", 0o444),
        ("b/.git/hooks", 0o444),
        ("c", 0o444),
        ("e/.git/commondir", 0),
        ("g/.git", 0),
    ] {
        let mode = fs::Permissions::from_mode(mode);
        fs::set_permissions(place.root().join(path), mode).unwrap();
    }
    let mut now = Inventory::take_after(&before, &place.root(), &[], &[], None);
    let disarmed = now.disarm(&before, &place.root());
    let mut words: Vec<String> = disarmed.iter().map(ToString::to_string).collect();
    words.sort();
    let expected = [
        "`b/.git/hooks/pre-commit`",
        "`core.fsmonitor` in `a/.git/config`",
        "`core.fsmonitor` in `c/d/.git/config`",
        "`e/.git/commondir`",
        "`g/.git`",
    ];
    assert_eq!(words, expected);
}

#[test]
fn the_cache_is_disarmed_if_it_lies_in_the_workspace_or_is_closed() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let cache = place.root().join("work/.agent/cache");
    place
        .git("work/.agent/cache/deep/evil", "[core]fsmonitor=x")
        .file("work/x", "");
    let work = place.root().join("work");
    let left_out = [work.join(".agent")];
    let nothing = Inventory::take(&work, &left_out).disarm_cache(&cache);
    assert_eq!(nothing, None);
    symlink(".agent/cache/deep/evil", work.join("sub")).unwrap();
    fs::set_permissions(cache.join("deep"), fs::Permissions::from_mode(0o111)).unwrap();
    let told = Inventory::take(&work, &left_out).disarm_cache(&cache);
    assert!(
        told.unwrap()
            .to_string()
            .contains("`core.fsmonitor` in `deep/evil/config`")
    );
}

#[test]
fn hooks_whose_path_is_too_long_are_disabled() {
    /// Too long with the workspace's own path, and not from there.
    const LENGTH: usize = 4095 - "/hooks/pre-commit".len() - 1;
    let place = Place::new();
    let before = place.look();
    let mut deep = Dir::open_ambient_dir(place.root(), ambient_authority()).unwrap();
    let mut left = LENGTH;
    while left > 0 {
        let name = "n".repeat(left.min(200));
        deep.create_dir(&name).unwrap();
        deep = deep.open_dir(&name).unwrap();
        left = left.saturating_sub(201);
    }
    for name in ["objects", "refs", "hooks"] {
        deep.create_dir(name).unwrap();
    }
    deep.write("HEAD", "ref: refs/heads/main\n").unwrap();
    deep.write("hooks/pre-commit", "x").unwrap();
    let now = place.look().disarm(&before, &place.root());
    let is_hook = |one: &&Disarmed| one.path.ends_with("hooks");
    let hooks = now.iter().find(is_hook).unwrap();
    assert_eq!(hooks.failure, None);
    assert!(deep.symlink_metadata("hooks").is_err());
}
