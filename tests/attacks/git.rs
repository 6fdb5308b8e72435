use std::fs;

use agent::runner::RunEnd;

use crate::place::Plain::Always;
use crate::place::{Place, cases, command, eventually};

const GRANT: [&str; 2] = ["--grant", "git-write"];

/// Makes a repository in which `git status` looks at the files, with a program that leaves a mark.
const MAKE: &str = "make() { git init -q $2 \"$1\" && ( cd \"$1\" && echo one > file && git add -f file && git -c user.name=a -c user.email=b commit -q -m one ); }; EVIL=\"touch $PWD/ran; false\"; ";

/// Scripts of a command, each with what the person runs later.
const MADE: [(&str, &str); 23] = [
    (
        "make new && git -C new config core.fsmonitor \"$EVIL\"",
        "git -C new status",
    ),
    (
        "make . && git config core.fsmonitor \"$EVIL\"",
        "git status",
    ),
    (
        "make new && printf '#!/bin/sh\\ntouch %s/ran' $PWD > new/.git/hooks/pre-commit && chmod +x new/.git/hooks/pre-commit",
        "cd new && git -c user.name=a -c user.email=b commit --allow-empty -m two",
    ),
    (
        "make new && mkdir new/h && printf '#!/bin/sh\\ntouch %s/ran' $PWD > new/h/post-commit && chmod +x new/h/post-commit && git -C new config core.hooksPath h",
        "cd new && git -c user.name=a -c user.email=b commit --allow-empty -m two",
    ),
    (
        "make new && mkdir new/h && printf '#!/bin/sh\\ntouch %s/ran' $PWD > new/h/post-commit && chmod +x new/h/post-commit && mv new/.git/hooks new/old && ln -s ../h new/.git/hooks",
        "cd new && git -c user.name=a -c user.email=b commit --allow-empty -m two",
    ),
    (
        "make new && git config --file new/more core.fsmonitor \"$EVIL\" && git -C new config include.path ../more",
        "git -C new status",
    ),
    (
        "make new && git -C new config extensions.worktreeConfig true && git config --file new/.git/config.worktree core.fsmonitor \"$EVIL\"",
        "git -C new status",
    ),
    (
        "make new && mv new/.git new/store && echo 'gitdir: store' > new/.git && git config --file new/store/config core.fsmonitor \"$EVIL\"",
        "git -C new status",
    ),
    (
        "make new && mv new/.git store && ln -s ../store new/.git && git config --file store/config core.fsmonitor \"$EVIL\"",
        "git -C new status",
    ),
    (
        "make new && mv new/.git bare && git config --file bare/config core.worktree $PWD/new && git config --file bare/config core.fsmonitor \"$EVIL\"",
        "cd bare && git status",
    ),
    (
        "make new && mkdir new/.git/other && cp -r new/.git/objects new/.git/refs new/.git/config new/.git/other && echo other > new/.git/commondir && git config --file new/.git/other/config core.fsmonitor \"$EVIL\"",
        "git -C new status",
    ),
    (
        "make new && mv new/.git new/store && mkdir -p hide/.git/objects && mv new/store 'hide/.git/objects/ x' && printf 'gitdir: ../hide/.git/objects/ x' > new/.git && yes '' | head -n 9000 >> new/.git && git config --file 'hide/.git/objects/ x/config' core.fsmonitor \"$EVIL\"",
        "git -C new status",
    ),
    (
        "make new && git -C new config core.fsmonitor \"$EVIL\" && chmod 500 new/.git",
        "git -C new status",
    ),
    // The owner of a directory can use what lies in it by its name.
    (
        "make p/q/new && git -C p/q/new config core.fsmonitor \"$EVIL\" && mkdir -p a/b && chmod 111 a/b p/q",
        "git -C p/q/new status",
    ),
    (
        "make p/q/new && git -C p/q/new config core.fsmonitor \"$EVIL\" && chmod 0 p/q && chmod 111 p",
        "chmod 700 p p/q && git -C p/q/new status",
    ),
    (
        "make node_modules/deep/new && git -C node_modules/deep/new config core.fsmonitor \"$EVIL\" && echo node_modules > .gitignore",
        "git -C node_modules/deep/new status",
    ),
    (
        "make new && cd new && git -c user.name=a -c user.email=b commit -q --allow-empty -m two && GIT_SEQUENCE_EDITOR='sed -i 1ibreak' git rebase -q -i HEAD~1 && echo \"exec $EVIL\" >> .git/rebase-merge/git-rebase-todo",
        "cd new && git -c user.name=a -c user.email=b rebase --continue",
    ),
    // A strategy with a slash in its name is a program beneath the work tree.
    (
        "make new && cd new && git config user.name a && git config user.email b && BRANCH=$(git symbolic-ref --short HEAD) && echo 2 > two && git add two && git commit -q -m two && git switch -q -c other HEAD~1 && git commit -q --allow-empty -m three && git switch -q $BRANCH && GIT_SEQUENCE_EDITOR='sed -i 1ibreak' git rebase -q -i other && mkdir git-merge-x && touch git-merge-x/kept && printf '#!/bin/sh\\n%s\\n' \"$EVIL\" > evil && chmod +x evil && echo x/../evil > .git/rebase-merge/strategy",
        "cd new && git -c user.name=a -c user.email=b rebase --continue",
    ),
    (
        "make new && make new/.git/lfs/inner && git -C new/.git/lfs/inner config core.fsmonitor \"$EVIL\" && ln -s new/.git/lfs/inner inner",
        "cd inner && git status",
    ),
    // Git writes a commit message in place.
    (
        "make new && cd new && git config user.name a && git config user.email b && for n in 1 2; do git commit -q --allow-empty -m \"exec $EVIL\"; done; GIT_SEQUENCE_EDITOR='sed -i 1s/pick/edit/' git rebase -q -i HEAD~2; ln -f .git/rebase-merge/git-rebase-todo .git/COMMIT_EDITMSG",
        "cd new && git commit -q --allow-empty --amend --no-edit; git rebase --continue",
    ),
    (
        "make old && make new && printf '#!/bin/sh\\n%s\\n' \"$EVIL\" > new/pre-commit && chmod +x new/pre-commit && cd new && git add pre-commit && git -c user.name=a -c user.email=b commit -q -m two && rm pre-commit && git config core.worktree ../../old/.git/hooks",
        "git -C new checkout -- pre-commit; git -C old -c user.name=a -c user.email=b commit -q --allow-empty -m two",
    ),
    (
        "make new && printf '#!/bin/sh\\n%s\\n' \"$EVIL\" > new/.git/hooks/pre-commit && chmod +x new/.git/hooks/pre-commit && chmod 444 new/.git/hooks",
        "cd new && chmod 755 .git/hooks; git -c user.name=a -c user.email=b commit --allow-empty -m two",
    ),
    (
        "make new && mv new/.git later && echo 'gitdir: ../store' > new/.git && git config --file later/config core.fsmonitor \"$EVIL\"",
        "mv later store; git -C new status",
    ),
];

/// Preparations, each with what a command makes of it and what the person runs later.
const LED: [(&str, &str, &str); 12] = [
    // To a repository that nobody looks at, in a place where commands can write or once could.
    (
        "make new && mv new/.git OUTSIDE/evil && git config --file OUTSIDE/evil/config core.fsmonitor \"$EVIL\"",
        "echo 'gitdir: OUTSIDE/evil' > new/.git",
        "git -C new status",
    ),
    (
        "make new && mv new/.git OUTSIDE/evil && git config --file OUTSIDE/evil/config core.fsmonitor \"$EVIL\"",
        "ln -s OUTSIDE/evil new/.git",
        "git -C new status",
    ),
    (
        "make new && mv new/.git OUTSIDE/evil && git config --file OUTSIDE/evil/config core.fsmonitor \"$EVIL\"",
        "mkdir new/.git && echo 'ref: refs/heads/master' > new/.git/HEAD && echo OUTSIDE/evil > new/.git/commondir",
        "git -C new status",
    ),
    // To a place that other backends hide.
    (
        "true",
        "mkdir -p .agent && make .agent/inner && git -C .agent/inner config core.fsmonitor \"$EVIL\" && ln -s .agent/inner inner",
        "cd inner && git status",
    ),
    // The setting stays the same, and where it leads does not.
    (
        "make new && rm new/file && mkdir tree && ln -s tree lnk && git -C new config core.worktree ../../lnk && mkdir -p OUTSIDE/evil",
        "rm lnk && ln -s OUTSIDE/evil lnk",
        "git -C new checkout -f && cat OUTSIDE/evil/file && touch ran",
    ),
    (
        "make . && mkdir -p tools/hooks OUTSIDE/hooks && printf '#!/bin/sh\\n%s\\n' \"$EVIL\" > OUTSIDE/hooks/pre-commit && chmod +x OUTSIDE/hooks/pre-commit && ln -s tools link && git config core.hooksPath link/hooks",
        "rm link && ln -s OUTSIDE link",
        "git -c user.name=a -c user.email=b commit --allow-empty -m two",
    ),
    // A script of the project that the person's own configuration runs.
    (
        "make . && mkdir tools && printf 'cat\\n' > tools/clean.sh && git config filter.x.clean 'sh tools/clean.sh' && echo 'file filter=x' > .gitattributes",
        "echo \"$EVIL\" >> tools/clean.sh",
        "touch file && git status",
    ),
    // Dotfiles: the person's own configuration is a link into the workspace.
    (
        "make other && printf '[user]\\n\\tname = a\\n' > gitconfig && ln -s work/gitconfig ../.gitconfig",
        "git config --file gitconfig core.fsmonitor \"$EVIL\" || printf '[core]\\n\\tfsmonitor = \"%s\"\\n' \"$EVIL\" >> gitconfig",
        "git -C other status",
    ),
    (
        "make other && mkdir -p config/git ../.config && echo > config/git/config && ln -s ../work/config/git ../.config/git",
        "mv config c && cp -r c config; git config --file config/git/config core.fsmonitor \"$EVIL\"",
        "git -C other status",
    ),
    // Hooks that the person has as links into the workspace.
    (
        "make . && mkdir scripts && printf '#!/bin/sh\\n' > scripts/check && chmod +x scripts/check && ln -s ../../scripts/check .git/hooks/pre-commit",
        "echo \"$EVIL\" >> scripts/check",
        "git -c user.name=a -c user.email=b commit --allow-empty -m two",
    ),
    (
        "make . && rm -r .git/hooks && mkdir githooks && ln -s ../githooks .git/hooks",
        "printf '#!/bin/sh\\n%s\\n' \"$EVIL\" > githooks/pre-commit && chmod +x githooks/pre-commit",
        "git -c user.name=a -c user.email=b commit --allow-empty -m two",
    ),
    (
        "make . && mkdir -p tools/hooks && ln -s tools link && git config core.hooksPath link/hooks",
        "printf '#!/bin/sh\\n%s\\n' \"$EVIL\" > tools/hooks/pre-commit && chmod +x tools/hooks/pre-commit",
        "git -c user.name=a -c user.email=b commit --allow-empty -m two",
    ),
];

fn has_run(place: &Place) -> bool {
    let mark = place.workspace().join("ran");
    let has_run = mark.exists();
    let _ = fs::remove_file(mark);
    has_run
}

#[test]
fn what_a_command_made_does_not_run_when_the_person_uses_git() {
    for (made, used) in MADE {
        let script = format!("{MAKE}{made}");
        let place = Place::new();
        let applied = place.apply_with(&GRANT, &command(&script));
        applied.all(1, "ok");
        has_run(&place);
        let message = applied.rows[0]["message"].as_str().unwrap();
        assert!(message.contains("disabled"), "{made}: {message}");
        let used_by_person = place.plain(used);
        assert!(!has_run(&place), "{made}: {}", used_by_person.output.text);
        let plain = Place::new();
        let ran = plain.plain(&script);
        assert_eq!(ran.end, RunEnd::Exited(0), "{made}: {}", ran.output.text);
        has_run(&plain);
        plain.plain(used);
        assert!(has_run(&plain), "plain: {made}");
        // What is closed could not be removed with the directory.
        plain.plain("chmod -R u+rwx .");
        cases(1);
    }
}

#[test]
fn what_git_obeyed_before_is_not_led_elsewhere_or_changed() {
    for (prepared, made, used) in LED {
        let place = Place::new();
        let script = |place: &Place, script: &str| format!("{MAKE}{}", place.filled(script));
        let ran = place.plain(&script(&place, prepared));
        assert_eq!(
            ran.end,
            RunEnd::Exited(0),
            "{prepared}: {}",
            ran.output.text
        );
        has_run(&place);
        let applied = place.apply_with(&GRANT, &command(&script(&place, made)));
        assert_eq!(applied.rows.len(), 1, "{}", applied.text);
        let row = applied.rows[0].to_string();
        let is_withstood = row.contains("\"failed\"") || row.contains("disabled");
        assert!(is_withstood, "{made}: {row}");
        has_run(&place);
        let used_by_person = place.plain(&script(&place, used));
        assert!(!has_run(&place), "{made}: {}", used_by_person.output.text);
        let plain = Place::new();
        for step in [prepared, made] {
            let ran = plain.plain(&script(&plain, step));
            assert_eq!(ran.end, RunEnd::Exited(0), "{step}: {}", ran.output.text);
        }
        has_run(&plain);
        let used_by_person = plain.plain(&script(&plain, used));
        assert!(
            has_run(&plain),
            "plain: {made}: {}",
            used_by_person.output.text
        );
        cases(1);
    }
}

/// A repository that leads to the person's own hooks and configuration has them disabled in its stead.
#[test]
fn no_command_has_the_files_of_the_person_disabled() {
    let place = Place::new().file("README", "own");
    let own = "git init -q . && git config alias.x '!y' && echo x > .git/hooks/pre-commit";
    assert_eq!(place.plain(own).end, RunEnd::Exited(0));
    let config = fs::read(place.workspace().join(".git/config")).unwrap();
    let leads = "git init -q new && git -C new config include.path ../../.git/config && git -C new config --add include.path ../../README && git -C new config core.hooksPath ../.git/hooks";
    let applied = place.apply(&command(leads));
    applied.all(1, "ok");
    let message = applied.rows[0]["message"].as_str().unwrap();
    assert!(message.contains("in `new/.git/config`"), "{message}");
    let now = fs::read(place.workspace().join(".git/config")).unwrap();
    assert_eq!(now, config);
    assert!(place.workspace().join(".git/hooks/pre-commit").exists());
    let readme = fs::read_to_string(place.workspace().join("README")).unwrap();
    assert_eq!(readme, "own");
    cases(3);
}

#[test]
fn what_a_command_made_is_disabled_although_the_program_was_killed() {
    let verbs: [&[&str]; 4] = [
        &["resume", "--no-wait"],
        &["commit", "--yes"],
        &["rm", "ID", "--yes"],
        &["apply", "REPLY"],
    ];
    for verb in verbs {
        disabled_by(verb);
    }
    cases(verbs.len());
}

/// Kills the program while its command runs, and calls it with these arguments.
fn disabled_by(verb: &[&str]) {
    let place = Place::new();
    let made = format!(
        "{MAKE}make new && git -C new config core.fsmonitor \"$EVIL\" && touch ready && sleep 60"
    );
    let workspace = place.workspace();
    let at = [
        "--base",
        place.root().to_str().unwrap(),
        "--workspace",
        workspace.to_str().unwrap(),
    ]
    .map(str::to_owned);
    let agent = |arguments: &[&str]| {
        let mut all: Vec<&str> = at.iter().map(String::as_str).collect();
        all.extend(arguments);
        place.agent(&all)
    };
    let begun = agent(&["new", "--no-wait", "task"]).output().unwrap();
    assert!(begun.status.success(), "{begun:?}");
    let reply = place.root().join("reply.md");
    fs::write(&reply, command(&made)).unwrap();
    let reply = ["step", "--reply", reply.to_str().unwrap()];
    let mut step = agent(&[&GRANT[..], &reply].concat()).spawn().unwrap();
    eventually("the command runs", || workspace.join("ready").exists());
    step.kill().unwrap();
    step.wait().unwrap();
    has_run(&place);
    // The counterpart: until somebody looks, it is in force.
    place.plain("git -C new status");
    assert!(has_run(&place));
    let plain = place.root().join("plain.md");
    fs::write(&plain, "[CREATE_FILE path=\"a\"]\na\n[/CREATE_FILE]\n").unwrap();
    let outbox = fs::read_dir(place.root().join("outbox")).unwrap();
    let message = outbox.flatten().map(|message| message.file_name());
    let id = message.max().unwrap().to_string_lossy()[..8].to_owned();
    let verb: Vec<&str> = (verb.iter())
        .map(|word| match *word {
            "ID" => id.as_str(),
            "REPLY" => plain.to_str().unwrap(),
            word => word,
        })
        .collect();
    let called = agent(&verb).output().unwrap();
    let told = String::from_utf8_lossy(&[called.stdout, called.stderr].concat()).into_owned();
    assert!(
        told.contains("`core.fsmonitor` in `new/.git/config`"),
        "{verb:?}: {told}"
    );
    has_run(&place);
    place.plain("git -C new status");
    assert!(!has_run(&place), "{verb:?}");
}

#[test]
fn what_a_command_made_in_the_cache_is_disabled_where_a_link_leads_there() {
    let place = Place::new();
    let made = format!(
        "{MAKE}make $XDG_CACHE_HOME/r && git -C $XDG_CACHE_HOME/r config core.fsmonitor \"$EVIL\""
    );
    let base = place.root();
    let workspace = place.workspace();
    let agent = |arguments: &[&str]| {
        let (base, workspace) = (base.to_str().unwrap(), workspace.to_str().unwrap());
        let all = [&["--base", base, "--workspace", workspace], arguments].concat();
        let ended = place.agent(&all).output().unwrap();
        assert!(ended.status.success(), "{ended:?}");
        String::from_utf8_lossy(&[ended.stdout, ended.stderr].concat()).into_owned()
    };
    agent(&["new", "--no-wait", "task"]);
    let reply = base.join("reply.md");
    let step = |script: &str| {
        fs::write(&reply, command(script)).unwrap();
        agent(&[&GRANT[..], &["step", "--reply", reply.to_str().unwrap()]].concat())
    };
    let told = step(&made);
    let cache = base.join("sessions/cache");
    let used = format!("cd {}/r && git status", cache.display());
    has_run(&place);
    // The counterpart: while nothing leads there, it is left as it is.
    let used_by_person = place.plain(&used);
    assert!(has_run(&place), "{told} {}", used_by_person.output.text);
    let told = step(&format!("ln -s {} d", cache.display()));
    assert!(told.contains("core.fsmonitor"), "{told}");
    place.plain("cd d/r && git status");
    assert!(!has_run(&place));
    cases(1);
}

/// A file that was in no repository when it was changed may be in one when it comes back.
#[test]
fn what_a_command_made_is_disabled_when_an_undo_brings_it_back() {
    let place = Place::new();
    let workspace = place.workspace();
    let agent = |arguments: &[&str]| {
        let base = place.root();
        let (base, workspace) = (base.to_str().unwrap(), workspace.to_str().unwrap());
        let all = [&["--base", base, "--workspace", workspace], arguments].concat();
        let ended = place.agent(&all).output().unwrap();
        let told = String::from_utf8_lossy(&[ended.stdout, ended.stderr].concat()).into_owned();
        assert!(ended.status.success(), "{told}");
        told
    };
    agent(&["new", "--no-wait", "task"]);
    let steps = [
        "echo refs/ > .gitignore; git init -q .; mkdir -p r/objects; echo k > r/objects/k; echo 'ref: refs/heads/m' > r/HEAD; printf '[core]\\nbare=false\\nworktree=..\\nrepositoryformatversion=0\\nfsmonitor=\"touch %s/ran; false\"\\n' $PWD > r/config",
        "printf '[core]\\nrepositoryformatversion=0\\nbare=true\\n' > r/config; mkdir -p r/refs/heads; echo 1 > r/refs/heads/z",
    ];
    let reply = place.root().join("reply.md");
    for step in steps {
        fs::write(&reply, command(step)).unwrap();
        agent(&["step", "--reply", reply.to_str().unwrap()]);
    }
    let told = agent(&["undo", "--yes"]);
    assert!(told.contains("core.fsmonitor"), "{told}");
    place.plain("cd r && git status");
    assert!(!has_run(&place));
    // The counterpart: with the configuration that came back, git runs it.
    place.plain("cd r && mv config.disabled-by-agent config && git status");
    assert!(has_run(&place));
    cases(1);
}

#[test]
fn what_the_person_set_up_stays_as_it_is() {
    let place = Place::new();
    let own = "git init -q own && git -C own config core.pager less && git -C own config alias.x '!y' && echo x > own/.git/hooks/pre-push && git init -q --bare store";
    assert_eq!(place.plain(own).end, RunEnd::Exited(0));
    let config = place.workspace().join("own/.git/config");
    let before = fs::read(&config).unwrap();
    let applied = place.apply(&command(
        "touch x && git init -q new && git -C new remote add o x",
    ));
    applied.all(1, "ok");
    assert!(!applied.text.contains("disabled"), "{}", applied.text);
    assert_eq!(fs::read(&config).unwrap(), before);
    assert!(place.workspace().join("own/.git/hooks/pre-push").exists());
}

#[test]
fn a_submodule_that_is_not_there_gets_no_repository() {
    let top = "git init -q . && printf '[submodule \"a\"]\\n\\tpath = deps/a\\n\\turl = x\\n' > .gitmodules && mkdir -p deps/a && echo one > file && git add file .gitmodules && git -c user.name=a -c user.email=b commit -q -m one && git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),deps/a";
    let attack = format!("{MAKE}make deps/a && git -C deps/a config core.fsmonitor \"$EVIL\"");
    let place = Place::new();
    assert_eq!(place.plain(top).end, RunEnd::Exited(0));
    place.apply_with(&GRANT, &command(&attack)).all(1, "failed");
    place.withstands(&[
        (
            Always,
            "echo 'gitdir: ../../x' > deps/a/.git && rm deps/a/.git",
        ),
        (
            Always,
            "mv deps d && mkdir -p deps/a && rm -r deps && mv d deps",
        ),
    ]);
    has_run(&place);
    assert!(!place.workspace().join("deps/a/.git").exists());
    place.plain("git status");
    assert!(!has_run(&place));
    assert_eq!(place.plain(&attack).end, RunEnd::Exited(0));
    has_run(&place);
    let status = place.plain("git status");
    assert!(has_run(&place), "{}", status.output.text);
    cases(1);
}

#[test]
fn what_the_configuration_of_git_names_is_closed_as_hooks_are() {
    let place = Place::new()
        .file(".husky/_/pre-commit", "own\n")
        .file(".husky/pre-commit", "own\n")
        .file("shared/config", "[core]\n\tbare = false\n");
    let own = "git init -q . && git config core.hooksPath .husky/_ && git config include.path ../shared/config && git config core.attributesFile .attributes";
    assert_eq!(place.plain(own).end, RunEnd::Exited(0));
    fs::write(
        place.home().join(".gitconfig"),
        "[core]\n\thooksPath = .githooks\n",
    )
    .unwrap();
    let change = "[CREATE_FILE path=\"PATH\"]\nx\n[/CREATE_FILE]\n";
    for path in [
        ".husky/_/pre-push",
        ".husky/pre-push",
        "shared/config",
        ".attributes",
        ".githooks/x",
    ] {
        place.apply(&change.replace("PATH", path)).all(1, "refused");
    }
    place
        .apply(&change.replace("PATH", "sub/pre-push"))
        .all(1, "ok");
    place.withstands(&[
        (Always, "echo x > .husky/_/pre-commit"),
        (Always, "echo x > .husky/_/post-merge"),
        (Always, "echo x >> .husky/pre-commit"),
        (Always, "mv .husky h && cp -r h .husky"),
        (Always, "echo '[alias]' >> shared/config"),
        (Always, "mv shared s && cp -r s shared"),
        (Always, "echo x > .attributes"),
        (
            Always,
            "mkdir -p .githooks && echo x > .githooks/pre-commit",
        ),
    ]);
}

#[test]
fn what_the_configuration_of_git_names_is_closed_in_each_work_tree() {
    let place = Place::new();
    let own = "git init -q . && git -c user.name=a -c user.email=b commit -q --allow-empty -m one && git config core.hooksPath .githooks && git config core.fsmonitor tools/watch && git worktree add -q tree && git init -q nested && git -C nested config core.hooksPath .githooks && mkdir tree/tools";
    assert_eq!(place.plain(own).end, RunEnd::Exited(0));
    let change = "[CREATE_FILE path=\"PATH\"]\nx\n[/CREATE_FILE]\n";
    for path in [
        "tree/.githooks/pre-push",
        "tree/tools/watch",
        "nested/.githooks/pre-push",
    ] {
        place.apply(&change.replace("PATH", path)).all(1, "refused");
    }
    place
        .apply(&change.replace("PATH", "nested/tools/watch"))
        .all(1, "ok");
    place.withstands(&[
        (
            Always,
            "mkdir -p tree/.githooks && echo x > tree/.githooks/pre-commit",
        ),
        (Always, "echo x > tree/tools/watch"),
        (
            Always,
            "mkdir -p nested/.githooks && echo x > nested/.githooks/pre-commit",
        ),
    ]);
}

/// In the repository's own work tree the monitor is the person's; in another one it would be the
/// command's.
#[test]
fn no_new_work_tree_makes_the_persons_settings_mean_other_files() {
    let own = "git init -q . && mkdir tools && printf '#!/bin/sh\\n' > tools/watch && chmod +x tools/watch && git config core.fsmonitor tools/watch && echo one > file && git add file && git -c user.name=a -c user.email=b commit -q -m one";
    let planted = "mkdir -p sub/tools && printf '#!/bin/sh\\ntouch %s/ran\\n' $PWD > sub/tools/watch && chmod +x sub/tools/watch";
    let ways = [
        "echo 'gitdir: ../.git' > sub/.git",
        "ln -s ../.git sub/.git",
        "mkdir sub/.git && cp .git/HEAD sub/.git/ && echo ../../.git > sub/.git/commondir",
        "mkdir admin && cp .git/HEAD admin/ && echo ../.git > admin/commondir && echo 'gitdir: ../admin' > sub/.git",
    ];
    for way in ways {
        let plain = Place::new();
        plain.plain(&format!(
            "{own} && {planted} && {way} && cd sub && git status"
        ));
        assert!(has_run(&plain), "{way}");
        let place = Place::new();
        assert_eq!(place.plain(own).end, RunEnd::Exited(0));
        place
            .apply(&command(&format!("{planted} && {way}")))
            .all(1, "ok");
        place.plain("cd sub && git status");
        assert!(!has_run(&place), "{way}");
    }
    cases(ways.len());
}

/// Preparations, each with two commands, of which the first ends long before the second begins, and what
/// the person runs later. Nothing that the second one moves is new by its times.
const MOVED: [(&str, &str, &str, &str); 6] = [
    (
        "make . && git config core.fsmonitor tools/watch",
        "evil other/watch",
        "mv other tools",
        "git status",
    ),
    (
        "make . && git config core.fsmonitor tools/watch",
        "evil other/watch",
        "ln -s other tools",
        "git status",
    ),
    (
        "make . && git config filter.x.clean 'sh tool' && echo 'file filter=x' > .gitattributes",
        "evil other",
        "mv other tool",
        "touch file && git add file",
    ),
    (
        "make . && git config filter.x.clean 'sh \"my tools/clean\"' && echo 'file filter=x' > .gitattributes",
        "evil other/clean",
        "mv other 'my tools'",
        "touch file && git add file",
    ),
    // In a work tree that comes later.
    (
        "git config --global core.hooksPath .githooks",
        "evil new/.githooks/pre-commit",
        "git init -q new",
        "cd new && git -c user.name=a -c user.email=b commit -q --allow-empty -m two",
    ),
    (
        "git config --global core.fsmonitor tools/watch",
        "evil new/tools/watch",
        "git init -q new",
        "cd new && git status",
    ),
];

#[test]
fn what_a_command_moves_to_where_a_setting_looks_for_it_does_not_run() {
    const EVIL: &str = "evil() { mkdir -p \"$(dirname \"$1\")\" && printf '#!/bin/sh\\n%s\\n' \"$EVIL\" > \"$1\" && chmod +x \"$1\"; }; ";
    for (prepared, first, second, used) in MOVED {
        let script = |script: &str| format!("{MAKE}{EVIL}{script}");
        let place = Place::new();
        let ran = place.plain(&script(prepared));
        assert_eq!(ran.end, RunEnd::Exited(0), "{}", ran.output.text);
        let first = format!("{}; sleep 1.2", script(first));
        let applied = place.apply(&(command(&first) + &command(&script(second))));
        let is_withstood = ["\"refused\"", "disabled"].map(|word| applied.text.contains(word));
        assert!(is_withstood.contains(&true), "{second}: {}", applied.text);
        has_run(&place);
        let used_by_person = place.plain(used);
        assert!(!has_run(&place), "{second}: {}", used_by_person.output.text);
        let plain = Place::new();
        for step in [&script(prepared), &first, &script(second)] {
            assert_eq!(plain.plain(step).end, RunEnd::Exited(0), "{step}");
        }
        plain.plain(used);
        assert!(has_run(&plain), "plain: {second}");
        cases(1);
    }
}

/// The person has the setting from another branch, or another machine.
#[test]
fn file_steps_write_no_program_that_a_setting_looks_for() {
    let own = "git init -q . && git init -q n && for r in . n; do git -C $r config filter.x.clean 'sh tools/clean.sh'; git -C $r config filter.y.clean 'sh tool'; git -C $r config filter.z.clean 'sh my\\ tools/clean'; done";
    let create = |path: &str| format!("[CREATE_FILE path=\"{path}\"]\nx\n[/CREATE_FILE]\n");
    let names = ["tools/clean.sh", "tool", "my tools/clean"];
    for name in names {
        for path in [name.to_owned(), format!("n/{name}")] {
            let place = Place::new();
            // The counterpart: no setting names it.
            place.apply(&create(&path)).all(1, "ok");
            let place = Place::new();
            assert_eq!(place.plain(own).end, RunEnd::Exited(0));
            place.apply(&create(&path)).all(1, "refused");
            let mkdir = format!("mkdir -p \"$(dirname '{path}')\"");
            let applied = place.apply(&(command(&mkdir) + &create(&path)));
            assert_eq!(applied.rows[1]["status"], "refused", "{}", applied.text);
            cases(2);
        }
    }
    // A link leads the setting to a file of another name.
    let place = Place::new();
    assert_eq!(place.plain(own).end, RunEnd::Exited(0));
    let led = command("mkdir other && ln -s other tools") + &create("other/clean.sh");
    place.apply(&led);
    assert!(!place.workspace().join("tools/clean.sh").exists());
    cases(1);
}

#[test]
fn file_steps_ask_about_the_configuration_of_the_person() {
    let place = Place::new().file("gitconfig", "[user]\n");
    let step = "[EDIT_FILE path=\"gitconfig\" start_line=\"1\"]\n[alias]\n[/EDIT_FILE]\n";
    let create = "[CREATE_FILE path=\"new\"]\n[alias]\n[/CREATE_FILE]\n";
    let made = "ln -s work/gitconfig ../.gitconfig && mkdir ../.config && ln -s ../work/new ../.config/git";
    assert_eq!(place.plain(made).end, RunEnd::Exited(0));
    for step in [step, create, &create.replace("new", "new/config")] {
        place.apply(step).all(1, "refused");
    }
    let gone = "rm ../.gitconfig ../.config/git";
    assert_eq!(place.plain(gone).end, RunEnd::Exited(0));
    for step in [step, create] {
        place.apply(step).all(1, "ok");
    }
    cases(3);
}

/// A command could have made it too, so it is not obeyed; the person gets it back.
#[test]
fn what_the_person_makes_in_a_repository_during_a_command_is_kept() {
    let place = Place::new();
    let made = "git init -q .";
    assert_eq!(place.plain(made).end, RunEnd::Exited(0));
    let file = place.workspace().join(".git/config.worktree");
    let script = "touch begun; while [ ! -e ended ]; do sleep 0.05; done";
    let wait = |content: Option<&str>| {
        let child = place.start(&[&GRANT[..], &["--json"]].concat(), &command(script));
        eventually("the command runs", || {
            place.workspace().join("begun").exists()
        });
        if let Some(content) = content {
            fs::write(&file, content).unwrap();
        }
        fs::write(place.workspace().join("ended"), "").unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(place.plain("rm begun ended").end, RunEnd::Exited(0));
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    };
    let told = wait(Some("[core]\n\tsparseCheckout = true\n"));
    assert!(!file.exists(), "{told}");
    assert!(told.contains("`.git/config.worktree`"), "{told}");
    let kept = place
        .workspace()
        .join(".git/config.worktree.disabled-by-agent");
    let text = fs::read_to_string(&kept).unwrap();
    assert!(text.contains("sparseCheckout"), "{text}");
    // The counterpart: what was there before stays, and nothing is told a second time.
    fs::rename(&kept, &file).unwrap();
    let told = wait(None);
    assert!(!told.contains("disabled"), "{told}");
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
    cases(1);
}

#[test]
fn file_steps_make_no_repository_obey_them() {
    let place = Place::new();
    let made = "git init -q --bare store/bare && git init -q --bare other && mv other/HEAD other/h";
    assert_eq!(place.plain(made).end, RunEnd::Exited(0));
    let create = |path: &str| format!("[CREATE_FILE path=\"{path}\"]\n[core]\n[/CREATE_FILE]\n");
    let closed = [
        "sub/.git/config",
        "sub/.git/hooks/pre-commit",
        "store/bare/config",
        "store/bare/hooks/post-receive",
        "store/bare/config.worktree",
        "store/bare/commondir",
        "store/bare/rebase-merge/git-rebase-todo",
        "store/bare/objects/info/alternates",
        "other/HEAD",
    ];
    for path in closed {
        place.apply(&create(path)).all(1, "refused");
        let moved = format!("[MOVE_FILE from=\"own\" to=\"{path}\"]\n");
        fs::write(place.workspace().join("own"), "").unwrap();
        place.apply(&moved).all(1, "refused");
    }
    let edit = "[EDIT_FILE path=\"store/bare/config\" start_line=\"1\"]\nx\n[/EDIT_FILE]\n";
    place.apply_with(&GRANT, edit).all(1, "refused");
    cases(closed.len());
    for path in ["sub/config", "sub/hooks/x", "store/config"] {
        place.apply(&create(path)).all(1, "ok");
    }
}

/// A directory that only lacks `refs` is no repository, so nothing in it is disabled.
#[test]
fn file_steps_complete_no_repository_that_a_command_began() {
    let half = "mkdir -p r/objects && echo 'ref: refs/heads/m' > r/HEAD && echo 1 > r/file && printf '[core]\\nbare=false\\nworktree=..\\nrepositoryformatversion=0\\nfsmonitor=\"touch %s/ran; false\"\\n' $PWD > r/config && ln -s r alias && ln -s r/refs led && ln -s r/commondir pointer";
    let create = |path: &str| format!("[CREATE_FILE path=\"{path}\"]\n1\n[/CREATE_FILE]\n");
    let steps = [
        create("r/refs/x"),
        create("r/refs/heads/x"),
        create("alias/refs/x"),
        create("led/x"),
        create("pointer"),
        create("r/commondir"),
        "[MOVE_FILE from=\"r/file\" to=\"r/refs/x\"]\n".to_owned(),
        "[APPLY_PATCH]\n--- /dev/null\n+++ b/r/refs/x\n@@ -0,0 +1 @@\n+1\n[/APPLY_PATCH]\n"
            .to_owned(),
    ];
    for step in &steps {
        let place = Place::new();
        let applied = place.apply(&format!("{}{step}", command(half)));
        assert_eq!(applied.rows[0]["status"], "ok", "{}", applied.text);
        let made = ["r/refs", "r/commondir"].map(|path| place.workspace().join(path).exists());
        assert_eq!(made, [false, false], "{step}: {}", applied.text);
        place.plain("cd r && git status");
        assert!(!has_run(&place), "{step}");
    }
    // A group of steps, of which none completes it alone.
    let place = Place::new();
    let begun = half.replace("mkdir -p r/objects", "mkdir r");
    let group = [create("r/objects/x"), create("r/refs/x")].concat();
    let applied = place.apply(&format!("{}{group}", command(&begun)));
    assert_eq!(applied.rows[2]["status"], "refused", "{}", applied.text);
    place.plain("cd r && git status");
    assert!(!has_run(&place));
    let plain = Place::new();
    plain.plain(half);
    plain.plain("mkdir r/refs; cd r && git status");
    assert!(has_run(&plain));
    cases(steps.len() + 1);
}

/// A common directory needs no `HEAD`, so it looks like none.
#[test]
fn file_steps_write_no_configuration_of_a_repository_that_leads_to_them() {
    let made = "mkdir tree x && echo 'ref: refs/heads/m' > x/HEAD && echo ../D > x/commondir && echo 'gitdir: ../x' > tree/.git";
    let plain = Place::new();
    let evil = |place: &Place| {
        let ran = place.workspace().join("ran");
        format!(
            "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = \"touch {}; false\"\n",
            ran.display()
        )
    };
    for there in ["mkdir -p D/objects D/refs", "true"] {
        let place = Place::new();
        let create = |path: &str, text: &str| {
            format!("[CREATE_FILE path=\"D/{path}\"]\n{text}\n[/CREATE_FILE]\n")
        };
        let steps = [
            ("objects/a", "a"),
            ("refs/a", "a"),
            ("config", &evil(&place)),
        ];
        let steps = steps.map(|(path, text)| create(path, text)).concat();
        place.apply(&format!(
            "{}{steps}",
            command(&format!("{made} && {there}"))
        ));
        place.plain("cd tree && git status");
        assert!(!has_run(&place), "{there}");
    }
    plain.plain(&format!("{made} && mkdir -p D/objects D/refs"));
    fs::write(plain.workspace().join("D/config"), evil(&plain)).unwrap();
    plain.plain("cd tree && git status");
    assert!(has_run(&plain));
    cases(2);
}

/// Git writes references, the index and messages through links, and reads objects from elsewhere.
#[test]
fn what_a_command_made_does_not_lead_git_to_the_files_of_the_person() {
    let own = "git init -q ../own && cd ../own && echo 1 > file && git add file && git -c user.name=a -c user.email=b commit -q -m own && git rev-parse HEAD > ../head";
    let attacks = [
        "mv .git/refs/heads h && ln -s ../../../own/.git/refs/heads .git/refs/heads && echo $PWD/../own/.git/objects > .git/objects/info/alternates",
        "ln -s ../../own/.git/index .git/index",
        "ln -s ../../own/message .git/COMMIT_EDITMSG",
        "ln -s config .git/COMMIT_EDITMSG",
    ];
    let state = "cat .git/config; cd ../own; git rev-parse HEAD; git status --porcelain; ls";
    let used = "echo n > n; git add n; git -c user.name=a -c user.email=b commit -q -m '[core]'";
    let state_after = |place: &Place, is_used: bool| {
        if is_used {
            place.plain(used);
        }
        place.plain(state).output.text
    };
    for attack in attacks {
        let script = format!("git init -q . && {attack}");
        let place = Place::new();
        assert_eq!(place.plain(own).end, RunEnd::Exited(0));
        let applied = place.apply_with(&GRANT, &command(&script));
        applied.all(1, "ok");
        assert!(applied.text.contains("disabled"), "{}", applied.text);
        let before = state_after(&place, false);
        assert_eq!(state_after(&place, true), before, "{attack}");
        let plain = Place::new();
        assert_eq!(plain.plain(own).end, RunEnd::Exited(0));
        assert_eq!(plain.plain(&script).end, RunEnd::Exited(0));
        let before = state_after(&plain, false);
        assert_ne!(state_after(&plain, true), before, "plain: {attack}");
        cases(1);
    }
    let script = "git init -q . && echo $PWD/../own/.git/objects > .git/objects/info/alternates";
    let shown = "git cat-file -t $(cat ../head)";
    let place = Place::new();
    assert_eq!(place.plain(own).end, RunEnd::Exited(0));
    place.apply_with(&GRANT, &command(script)).all(1, "ok");
    assert_ne!(place.plain(shown).end, RunEnd::Exited(0));
    assert_eq!(place.plain(script).end, RunEnd::Exited(0));
    assert_eq!(place.plain(shown).end, RunEnd::Exited(0));
    cases(1);
}

#[test]
fn a_forged_worktree_opens_no_repository_of_the_person() {
    let place = Place::new();
    let other = "git init -q ../other && git -C ../other -c user.name=a -c user.email=b commit -q --allow-empty -m one && git -C ../other worktree add -q ../tree";
    assert_eq!(place.plain(other).end, RunEnd::Exited(0));
    let forgeries = [
        // As it was found: all of it lies in the workspace.
        "mkdir forged && echo 'gitdir: forged' > .git && echo \"$PWD/../other/.git\" > forged/commondir && echo \"$PWD/.git\" > forged/gitdir && echo 'ref: refs/heads/master' > forged/HEAD",
        "mkdir -p x/worktrees/w && echo 'gitdir: x/worktrees/w' > .git && echo \"$PWD/../other/.git\" > x/worktrees/w/commondir && echo \"$PWD/.git\" > x/worktrees/w/gitdir",
        // The directory of another worktree, and the repository itself.
        "echo \"gitdir: $(dirname $PWD)/other/.git/worktrees/tree\" > .git",
        "echo \"gitdir: $(dirname $PWD)/other/.git\" > .git",
        "ln -s ../other/.git l && echo 'gitdir: l/worktrees/tree' > .git",
    ];
    for forgery in forgeries {
        for arguments in [&[][..], &GRANT] {
            // What a command forges is disabled when it ends; here it was in force before.
            assert_eq!(place.plain(forgery).end, RunEnd::Exited(0));
            place.withstands_with(
                arguments,
                &[
                    (Always, "cat ../other/.git/config"),
                    (Always, "ls ../other/.git/objects"),
                    (Always, "echo x > ../other/.git/planted"),
                ],
            );
            let cleared = "rm -rf .git forged x l ../other/.git/planted";
            assert_eq!(place.plain(cleared).end, RunEnd::Exited(0));
        }
    }
    // The counterpart: a worktree that the person made is theirs.
    let real = "git -C ../other worktree add -q $PWD/../real && mv ../real/.git .git && git -C ../other worktree repair $PWD";
    assert_eq!(place.plain(real).end, RunEnd::Exited(0));
    place
        .apply_with(
            &GRANT,
            &command("git log --oneline && echo x > ../other/.git/planted"),
        )
        .all(1, "ok");
}

#[test]
fn a_second_name_of_a_configuration_is_closed_with_it() {
    let place = Place::new();
    let made = "git init -q . && git init -q --bare store && ln .git/config second && ln store/config third";
    // By the person: those that a command makes are parted when it ends.
    assert_eq!(place.plain(made).end, RunEnd::Exited(0));
    for arguments in [&[][..], &GRANT] {
        place.withstands_with(
            arguments,
            &[
                (Always, "echo '[alias]' >> second"),
                (Always, "echo '[alias]' >> third"),
                (
                    Always,
                    "PYTHON 'open(\"second\", \"r+\").write(\"[alias]\")'",
                ),
            ],
        );
        let again = place.plain("git config --file second --list > /dev/null");
        assert_eq!(again.end, RunEnd::Exited(0));
    }
}

#[test]
fn the_state_of_another_base_further_down_is_not_seen() {
    let place = Place::new()
        .file("sub/.agent/sessions/x.json", "hunter2-the-secret")
        .file("sub/deep/.Agent/sessions/x.json", "hunter2-the-secret")
        .file("sub/agent/x.json", "");
    place.withstands(&[
        (Always, "cat sub/.agent/sessions/x.json"),
        (Always, "grep -r hunter sub"),
        (Always, "cat sub/deep/.Agent/sessions/x.json"),
        (
            Always,
            "mv sub other && cat other/.agent/sessions/x.json && mv other sub",
        ),
        (Always, "echo x > sub/.agent/appsettings.json"),
    ]);
    place.apply(&command("cat sub/agent/x.json")).all(1, "ok");
}

/// Nobody but the kernel knows who wrote a `.git` file, so what counts is how it was when the session
/// began.
#[test]
fn a_session_is_held_to_the_repository_that_it_began_with() {
    let place = Place::new();
    let workspace = place.workspace();
    let at = [
        "--base",
        place.root().to_str().unwrap(),
        "--workspace",
        workspace.to_str().unwrap(),
        "--grant",
        "git-write",
    ]
    .map(str::to_owned);
    let agent = |arguments: &[&str], reply: &str| {
        let mut all: Vec<&str> = at.iter().map(String::as_str).collect();
        all.extend(arguments);
        let file = place.root().join("reply.md");
        fs::write(&file, command(reply)).unwrap();
        let output = place.agent(&all).output().unwrap();
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    };
    let file = place.root().join("reply.md");
    let step = ["step", "--reply", file.to_str().unwrap()];
    agent(&["new", "--no-wait", "task"], "");
    // A submodule of another repository says that its files are here; a `.git` file would open it.
    let other = "git init -q ../module && git -C ../module config core.worktree $PWD && mv ../module/.git ../module.git";
    assert_eq!(place.plain(other).end, RunEnd::Exited(0));
    let forged = "echo 'gitdir: ../module.git' > .git";
    assert_eq!(place.plain(forged).end, RunEnd::Exited(0));
    let attack =
        "cat ../module.git/config && echo x > ../module.git/planted && echo REACHED=$((1 + 1))";
    let told = agent(&step, attack);
    assert!(told.contains("did not belong to the repository"), "{told}");
    assert!(!place.home().join("module.git/planted").exists(), "{told}");
    // The counterpart: a session that begins with it has it.
    agent(&["new", "--no-wait", "other"], "");
    let told = agent(&step, attack);
    assert!(place.home().join("module.git/planted").exists(), "{told}");
    cases(1);
}
