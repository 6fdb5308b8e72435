use std::fs;
use std::os::unix::fs::PermissionsExt;

use agent::runner::RunEnd;

use crate::place::Plain::{Always, ForRoot};
use crate::place::{Place, SECRET, cases, command, skipped};

/// Leaves a mark where everybody may.
const PLANTED: &str = "#!/bin/sh\necho planted >> WORK/ran\necho planted\n";

fn plant(place: &Place, name: &str) {
    let path = place.workspace().join(name);
    let text = PLANTED.replace("WORK", place.workspace().to_str().unwrap());
    fs::write(&path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn has_run(place: &Place) -> bool {
    let mark = place.workspace().join("ran");
    let has_run = mark.exists();
    let _ = fs::remove_file(mark);
    has_run
}

/// Programs that a repository can tell git to run, and what makes git do it.
const CONFIGURED: [(&str, &str); 8] = [
    ("git config core.fsmonitor ./evil", "git status"),
    ("git config diff.external ./evil", "git diff"),
    (
        "git config core.pager ./evil; git config pager.diff true",
        "git -p diff",
    ),
    (
        "git config diff.x.textconv ./evil; echo '* diff=x' > .git/info/attributes",
        "git diff",
    ),
    (
        "git config diff.x.command ./evil; echo '* diff=x' > .git/info/attributes",
        "git diff",
    ),
    (
        "git config filter.x.clean ./evil; echo '* filter=x' > .git/info/attributes",
        "git diff",
    ),
    (
        "git config 'filter.a=b.clean' ./evil; echo '* filter=a=b' > .git/info/attributes",
        "git diff",
    ),
    (
        "git config filter.x.process ./evil; git config filter.x.required true; echo '* filter=x' > .git/info/attributes",
        "git diff",
    ),
];

/// A repository whose only file was changed, with one setting.
fn repository(setting: &str) -> Place {
    let place = Place::new();
    plant(&place, "evil");
    let made = place.plain(&format!(
        "git init -q . && echo one > file && git add file && git -c user.name=a -c user.email=b commit -q -m one && echo two > file && {{ {setting}; }}"
    ));
    assert_eq!(made.end, RunEnd::Exited(0), "{}", made.output.text);
    place
}

#[test]
fn our_own_git_runs_nothing_that_a_repository_names() {
    for (setting, trigger) in CONFIGURED {
        let place = repository(setting);
        // Without the sandbox: what runs there runs with all the rights of the person.
        let applied = place.apply_with(&["--sandbox", "off"], "[GIT_STATUS]\n[GIT_DIFF]\n");
        assert!(!has_run(&place), "{setting}: {}", applied.text);
        place.plain(&format!(
            "unset PAGER GIT_PAGER; script -qc '{trigger}' /dev/null < /dev/null"
        ));
        assert!(has_run(&place), "plain: {setting}");
        cases(1);
    }
}

#[test]
fn our_own_git_reads_no_files_elsewhere() {
    let place = repository("true");
    fs::write(place.outside().join("file"), SECRET).unwrap();
    let elsewhere = place.filled("git config core.worktree OUTSIDE");
    assert_eq!(place.plain(&elsewhere).end, RunEnd::Exited(0));
    let applied = place.apply_with(&["--sandbox", "off"], "[GIT_STATUS]\n[GIT_DIFF]\n");
    applied.tells_no_secret();
    applied.all(2, "refused");
    let plain = place.plain("git diff");
    assert!(plain.output.text.contains(SECRET), "{}", plain.output.text);
    let back = "git config core.worktree ..";
    assert_eq!(place.plain(back).end, RunEnd::Exited(0));
    let applied = place.apply_with(&["--sandbox", "off"], "[GIT_DIFF]\n");
    applied.all(1, "ok");
    assert!(applied.text.contains("+two"), "{}", applied.text);
    cases(2);
}

#[test]
fn programs_of_the_workspace_are_not_taken_for_those_of_the_system() {
    let place = repository("true");
    for name in ["git", "sh", "bash", "agent", "bwrap", "true"] {
        plant(&place, name);
    }
    let search = format!("{}:.:/usr/bin:/bin", place.workspace().display());
    let file = place.root().join("reply");
    fs::write(
        &file,
        "[GIT_STATUS]\n[GIT_DIFF]\n[RUN_COMMAND]\n:\n[/RUN_COMMAND]\n",
    )
    .unwrap();
    let workspace = place.workspace();
    let output = place
        .agent(&["apply", "--workspace", workspace.to_str().unwrap()])
        .arg(&file)
        .current_dir(&workspace)
        .env("PATH", &search)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(!has_run(&place), "{output:?}");
    let naive = place.plain(&format!("PATH={search} git status"));
    assert!(naive.output.text.contains("planted") && has_run(&place));
    cases(6);
}

/// An empty part of the list is the directory in which a program is started.
#[test]
fn the_sandbox_loads_no_libraries_from_the_workspace() {
    let place = Place::new().file("libgcc_s.so.1", "not a library");
    let workspace = place.workspace();
    for path in ["/nowhere:".to_owned(), workspace.display().to_string()] {
        let file = place.root().join("reply");
        fs::write(&file, command("echo loaded: $LD_LIBRARY_PATH")).unwrap();
        let start = |directory: &std::path::Path, arguments: &[&str]| {
            let mut agent = place.agent(arguments);
            agent.current_dir(directory).env("LD_LIBRARY_PATH", &path);
            let output = agent.output().unwrap();
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        let work = workspace.to_str().unwrap();
        let reply = file.to_str().unwrap();
        if path.ends_with(':') {
            let applied = start(&place.root(), &["apply", "--workspace", work, reply]);
            // Commands find what the person set.
            assert!(applied.contains(&format!("loaded: {path}")), "{applied}");
        }
        // Without the control: a program that is started there with the same environment.
        assert_eq!(start(&workspace, &["--version"]), "");
        cases(1);
    }
}

#[test]
fn tools_that_are_asked_for_their_version_load_nothing_from_the_workspace() {
    let script = "#!/usr/bin/python3\nprint('1.2.3')\n";
    if !std::path::Path::new("/usr/bin/python3").exists() {
        return skipped("code for Python in the workspace", "there is no Python");
    }
    let place = Place::new().file("meson.build", "");
    let mark = place.workspace().join("ran");
    let planted = format!("open({:?}, 'w').write('x')\n", mark.to_str().unwrap());
    let place = place.file("sitecustomize.py", &planted);
    let bin = place.root().join("bin");
    fs::create_dir(&bin).unwrap();
    fs::write(bin.join("meson"), script).unwrap();
    fs::set_permissions(bin.join("meson"), fs::Permissions::from_mode(0o755)).unwrap();
    let (work, base) = (place.workspace(), place.root().join("base"));
    fs::create_dir(&base).unwrap();
    let output = place
        .agent(&["new", "--no-wait", "--workspace", work.to_str().unwrap()])
        .args(["--base", base.to_str().unwrap(), "do it"])
        .env("PATH", format!("{}:/usr/bin:/bin", bin.display()))
        .env("PYTHONPATH", &work)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let message = fs::read_dir(base.join("outbox")).unwrap().flatten();
    let texts: String = message
        .filter_map(|entry| fs::read_to_string(entry.path()).ok())
        .collect();
    assert!(texts.contains("1.2.3"), "meson was asked: {texts}");
    assert!(!has_run(&place));
    place.plain(&format!(
        "PYTHONPATH={} {}/meson",
        work.display(),
        bin.display()
    ));
    assert!(has_run(&place));
    cases(1);
}

#[test]
fn a_directory_whose_name_begins_alike_is_another() {
    let place = Place::new();
    let alike = place.home().join("work-evil");
    fs::create_dir(&alike).unwrap();
    fs::write(alike.join("victim"), SECRET).unwrap();
    let place = place.link("leads", "../work-evil/victim");
    let absolute = alike.join("victim");
    let form = "[READ_FILE path=\"PATH\"]\n[CREATE_FILE path=\"PATH\"]\nx\n[/CREATE_FILE]\n";
    let paths = ["../work-evil/victim", "leads", absolute.to_str().unwrap()];
    let reply: String = paths.map(|path| form.replace("PATH", path)).concat();
    let applied = place.apply(&reply);
    applied.did_nothing();
    applied.tells_no_secret();
    place.withstands(&[
        (Always, "cat ../work-evil/victim"),
        (Always, "cat leads"),
        (Always, "echo x >> ../work-evil/new && rm ../work-evil/new"),
    ]);
    assert_eq!(fs::read_to_string(absolute).unwrap(), SECRET);
    cases(3);
}

#[test]
fn the_number_of_processes_is_limited_for_root_too() {
    let place = Place::new();
    place.withstands_with(
        &["--max-processes", "50"],
        &[(
            Always,
            "PYTHON 'import os, time\nfor _ in range(100):\n if os.fork() == 0: time.sleep(1); os._exit(0)'",
        )],
    );
}

#[test]
fn calls_of_other_architectures_are_no_way_round() {
    if cfg!(not(target_arch = "x86_64")) {
        return skipped("other system calls", "they are those of x86-64");
    }
    let place = Place::new();
    // The number of `unshare` with the bit of x32, and `getpid` by the gate of i386.
    let x32 = place.filled("PYTHON 'import ctypes; c = ctypes.CDLL(None, use_errno=True); r = c.syscall(0x40000000 | 272, 0); print(r, ctypes.get_errno())'");
    let applied = place.apply(&command(&x32));
    assert_eq!(applied.rows[0]["detail"], "-1 38\n", "{}", applied.text);
    let gate = "PYTHON 'import ctypes, mmap, sys\nm = mmap.mmap(-1, 4096, prot=7)\nm.write(bytes([0xb8, 20, 0, 0, 0, 0xcd, 0x80, 0xc3]))\na = ctypes.addressof(ctypes.c_char.from_buffer(m))\nsys.exit(ctypes.CFUNCTYPE(ctypes.c_int)(a)() <= 0)'";
    if place.plain(&place.filled(gate)).end == RunEnd::Exited(0) {
        place.withstands(&[(Always, gate)]);
    } else {
        skipped("calls of i386", "this kernel has none");
    }
    cases(1);
}

#[test]
fn the_memory_of_the_kernel_and_of_others_is_closed() {
    let place = Place::new();
    let own = std::process::id();
    let memory = format!("PYTHON 'open(\"/proc/{own}/mem\", \"rb\")'");
    place.withstands(&[
        (ForRoot, &memory),
        (Always, "ls /sys/class/net"),
        (ForRoot, "exec 3> /proc/sys/net/ipv4/ip_forward"),
    ]);
}
