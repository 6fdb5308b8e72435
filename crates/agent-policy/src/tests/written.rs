//! Rules that people write, and how they meet the built-in ones.

use super::*;

pub(super) fn allowing(texts: &[&str]) -> Policy {
    let mut policy = Policy {
        approval: Approval::Edits,
        ..policy()
    };
    policy.person.allow = rules(texts);
    policy
}

#[test]
fn an_allow_rule_matches_what_is_understood_completely() {
    cases(
        &allowing(&[
            "cargo test",
            "ls",
            "git push",
            "./check.sh",
            "npm run 'a b'",
        ]),
        Decision::Allow,
        &[
            "cargo test",
            "cargo test --all",
            "cargo 'test' \"--all\"",
            "/usr/bin/cargo test",
            "cargo test && ls",
            "cargo test; ls | ls\nls -la",
            "ls # what is here",
            "cd sub && cargo test",
            "echo testing && cargo test",
            "git push origin",
            "./check.sh fast",
            "npm run 'a b' c",
            "ls ||\n\n ls",
        ],
    );
}

#[test]
fn an_allow_rule_matches_nothing_else() {
    cases(
        &allowing(&[
            "cargo test",
            "ls",
            "git",
            "./check.sh",
            "evil-git",
            "linked",
            "missing",
        ]),
        Decision::Ask,
        &[
            "cargo",
            "cargo build",
            "cargo testing",
            "cargo --offline test",
            "ls; cargo build",
            "ls && whoami",
            "ls | sh",
            "ls > x",
            "ls 2>&1",
            "ls < x",
            "ls &",
            "ls & whoami",
            "ls |& ls",
            "ls $(whoami)",
            "ls `whoami`",
            "ls $HOME",
            "ls \"$HOME\"",
            "ls *",
            "ls ?",
            "ls [a]",
            "ls ~",
            "ls {a,b}",
            "ls \\a",
            "ls \"\\a\"",
            "A=1 ls",
            "PATH=. ls",
            "ls <<EOF\nx\nEOF",
            "if ls; then ls; fi",
            "! ls",
            "time ls",
            "(ls)",
            "{ ls; }",
            "ls 'x",
            "ls &&",
            "ls ;; ls",
            "&& ls",
            "ls\u{a0}x",
            "ls 'a\u{200b}b'",
            "env ls",
            "/tmp/ls",
            "/home/me/work/bin/ls",
            "/opt/bin/ls",
            "./ls",
            "sub/check.sh",
            "cd sub && ./check.sh",
            "cd .. && ls",
            "cd / && ls",
            "cd - && ls",
            "evil-git status",
            "linked",
            "missing",
            "git push",
            "echo hi",
            "alias ls=whoami\nls",
            "",
        ],
    );
}

#[test]
fn the_strictest_rule_wins() {
    let mut policy = allowing(&[
        "git push",
        "cargo test",
        "npm publish",
        "ls",
        "rm -rf",
        "sudo",
    ]);
    policy.person.deny = rules(&["cargo test --doc"]);
    policy.person.ask = rules(&["ls -R"]);
    policy.project.ask = rules(&["cargo test slow"]);
    policy.project.deny = rules(&["npm publish"]);
    case(&policy, "git push", Decision::Allow);
    case(&policy, "git push && ls", Decision::Allow);
    case(&policy, "git push && whoami", Decision::Ask);
    case(&policy, "cargo test", Decision::Allow);
    case(&policy, "cargo test --doc", Decision::Deny);
    case(&policy, "bash -c 'cargo test --doc'", Decision::Deny);
    case(&policy, "X=$(cargo -q test --doc)", Decision::Deny);
    case(&policy, "strange cargo test --doc > x", Decision::Deny);
    case(&policy, "cargo test slow", Decision::Ask);
    case(&policy, "ls -R", Decision::Ask);
    case(&policy, "npm publish", Decision::Deny);
    case(&policy, "npm --tag x publish", Decision::Deny);
    case(&policy, "rm -rf /", Decision::Deny);
    case(&policy, "rm -rf build", Decision::Allow);
    case(&policy, "sudo ls", Decision::Deny);
}

#[test]
fn a_rule_that_refuses_or_asks_may_name_options_of_git() {
    let mut policy = policy();
    policy.person.deny = rules(&["git -C sub", "= git -c a.b=c status"]);
    policy.person.ask = rules(&["git log"]);
    case(&policy, "git -C sub status", Decision::Deny);
    case(&policy, "git -c a.b=c status", Decision::Deny);
    case(&policy, "git -C other log", Decision::Ask);
    case(&policy, "git -C . status", Decision::Allow);
}

#[test]
fn a_rule_lifts_a_question_only_if_it_names_it() {
    let script = "git clean -fdx";
    case(&allowing(&["git"]), script, Decision::Ask);
    case(&allowing(&["git clean"]), script, Decision::Ask);
    case(&allowing(&["git clean -fdx"]), script, Decision::Allow);
    assert_eq!(allowing(&[]).propose(script), rules(&["= git clean -fdx"]));
    let both = allowing(&["git", "git push origin dev"]);
    case(&both, "git push origin dev", Decision::Allow);
    case(
        &both,
        "git push origin dev && git push --force origin main",
        Decision::Ask,
    );
    case(&allowing(&["rm -rf"]), "rm -rf ../other", Decision::Ask);
}

#[test]
fn proposes_only_rules_that_would_help() {
    let policy = allowing(&["cargo build"]);
    assert_eq!(policy.propose("cargo test -q"), rules(&["cargo test"]));
    assert_eq!(
        policy.propose("cargo build && cargo test"),
        rules(&["cargo test"])
    );
    assert_eq!(
        policy.propose("cargo test | tail -5"),
        rules(&["cargo test", "tail"])
    );
    assert_eq!(policy.propose("git push origin main"), rules(&["git push"]));
    for script in [
        "cargo test > x",
        "sudo ls",
        "bash -c ls",
        "rm -rf x",
        "missing",
        "evil-git x",
    ] {
        assert!(policy.propose(script).is_empty(), "{script}");
    }
}

#[test]
fn a_rule_covers_no_option_that_runs_something_else() {
    let policy = allowing(&[
        "find",
        "rg",
        "git",
        "git status",
        "git diff",
        "git grep",
        "git log",
        "tar",
        "sort",
        "go test",
        "fd",
        "timeout 9 rg",
    ]);
    cases(
        &policy,
        Decision::Allow,
        &[
            "find . -name x",
            "rg foo src",
            "git status --short",
            "git --no-pager log -3",
            "git diff HEAD",
            "cd sub && rg foo",
            "go test -run x",
            "sort -u x",
            "timeout 9 rg foo",
        ],
    );
    cases(
        &policy,
        Decision::Ask,
        &[
            "cd evil && git status",
            "cd evil; git status",
            "cd evil && timeout 9 git status",
            "git -C evil status",
            "git --git-dir=evil status",
            "git --git-dir evil status",
            "git -c core.fsmonitor=./x status",
            "git --exec-path=. status",
            "git diff --no-index /etc/passwd x",
            "git diff --output=x",
            "git grep -O./x foo",
            "git grep -nO./x foo",
            "git grep -cO./x foo",
            "git grep -CO./x foo",
            "git grep --open=./x foo",
            "git fetch ext::x",
            "find . -name x -exec sh -c id ';'",
            "find . -delete -name x",
            "find . -fprintf x y",
            "rg --pre ./x foo",
            "rg --pre=./x foo",
            "timeout 9 rg --pre=./x foo",
            "fd -x sh",
            "tar xf a --checkpoint-action=exec=id",
            "tar xf a --to-command=id",
            "tar -xIid -f a",
            "sort -o x y",
            "go test -exec=./x",
        ],
    );
}

/// Rules, with what they cover and with what slipped through them once.
static SLIPS: &[(&str, &[&str], &[&str])] = &[
    (
        "sed",
        &[
            "sed -n 1,5p x",
            "sed 's/a/b/g' x y",
            "sed -n '/a/,$p' x",
            "sed -E 's|a|b|;1d' x",
        ],
        &[
            "sed -n -e '/a/p' -e 1d x",
            "sed -n '1e id' x",
            "sed 'w y' x",
            "sed 's/a/id/e' x",
            "sed 's/a/b/w y' x",
            "sed 'r /etc/passwd' x",
            "sed -f y x",
            "sed -i s/a/b/ x",
            "sed -ni p x",
            "sed --in-place p x",
            "sed -n p -e '1e id' x",
            "sed --expr='1e id' x",
            "sed --expression='1e id' x",
            "sed -ne '1e id' x",
            "sed -s '1e id' x",
            "sed p /etc/passwd",
        ],
    ),
    (
        "sed -n",
        &["sed -n 3p x"],
        &["sed -n '3w y' x", "sed -n p -i x"],
    ),
    (
        "awk",
        &[
            "awk '{print $1}' x",
            "awk -F: '$1 == 2' x",
            "awk -F'|' '/a/ {print $2}' x",
        ],
        &[
            "awk '{print > \"y\"}' x",
            "awk '{system($0)}' x",
            "awk '{\"id\" | getline; print}' x",
            "awk 'BEGIN{ARGV[1]=a}' x",
            "awk -f y x",
            "awk --file=y x",
            "awk -é '{print}' x",
            "awk -F : '{print | \"sh\"}' x",
            "awk '{print}' /etc/passwd",
        ],
    ),
    (
        "git clone",
        &["git clone https://x/y"],
        &[
            "git clone -u ./x https://x/y",
            "git clone -u./x https://x/y",
            "git clone -qu./x https://x/y",
            "git clone --upload-pack=./x https://x/y",
            "git clone -c core.fsmonitor=./x https://x/y",
            "git clone ext::./x",
            "git clone x ../y",
            "git clone --template=t x",
        ],
    ),
    (
        "git diff",
        &["git diff HEAD -- src", "git diff --stat"],
        &[
            "git diff /etc/passwd /etc/group",
            "git diff ../other x",
            "git diff --no-index x y",
            "git diff --no-ind x y",
            "git diff --output=x",
            "git diff --output x",
            "git diff --ext-diff",
            "git diff --textconv",
            "git diff -O/etc/passwd",
        ],
    ),
    (
        "git",
        &["git status", "git log -3", "git ls-tree HEAD"],
        &[
            "git config core.fsmonitor ./x",
            "git config user.name x",
            "git credential fill",
            "git maintenance start",
            "git daemon",
            "git difftool",
            "git submodule foreach ls",
            "git hook run pre-commit",
            "git --exec-path=.",
            "git init x",
        ],
    ),
    (
        "git config",
        &[
            "git config user.name",
            "git config --get core.editor",
            "git config --list",
        ],
        &[
            "git config edit",
            "git config --unset x.y",
            "git config core.fsmonitor ./x",
            "git config --global core.pager ./x",
            "git config --add alias.x y",
            "git config --get x --file y",
            "git config --edit",
            "git config set a b",
        ],
    ),
    (
        "git push",
        &[
            "git push",
            "git push origin main",
            "git push -u origin main",
        ],
        &[
            "git push origin a:b",
            "git push https://evil/x main",
            "git push git@evil:x main",
            "git push evil:x main",
            "git push -u evil:x main",
            "git push --repo=evil:x",
            "git push --receive-pack=./x origin",
            "git push ../x main",
        ],
    ),
    (
        "git merge",
        &["git merge x"],
        &["git merge -s evil x", "git merge --strategy=evil x"],
    ),
    (
        "printf",
        &["printf x"],
        &["printf -v PATH x", "printf -vPATH x", "printf -v 'a[0]' x"],
    ),
    ("test", &["test -f x"], &["test -v 'a[$(id)]'"]),
    ("export", &[], &["export PATH=bin", "export A"]),
    ("read", &[], &["read PATH"]),
    ("set", &[], &["set -a"]),
    ("hash", &[], &["hash -p ./x ls"]),
    ("command", &[], &["command printf -v PATH x", "command ls"]),
    ("cd", &["cd sub"], &["cd /etc", "cd ../.."]),
    (
        "cat",
        &[
            "cat x",
            "cat ./a/../b",
            "cat /home/me/work/x",
            "cat /tmp/x",
            "cat .git/config",
        ],
        &[
            "cat /home/me/.ssh/id_rsa",
            "cat ../other/.env",
            "cat a/../../b",
            "cat x /etc/passwd",
            "cat .agent/sessions/x.json",
        ],
    ),
    (
        "cp",
        &["cp a b"],
        &[
            "cp a ../b",
            "cp --target-directory=/home/me a",
            "cp -t/home/me a",
            "cp a .git/hooks/pre-commit",
            "cp a .GIT/config",
            "cp a .github/workflows/x.yml",
            "cp a .vscode/tasks.json",
            "cp a .claude/settings.json",
            "cp a sub/.Cursor/mcp.json",
            "cp a .gitmodules",
            "cp a .pre-commit-config.yaml",
            "cp a x.code-workspace",
            "cp a bare/HEAD",
        ],
    ),
    (
        "dd",
        &["dd if=a of=b"],
        &["dd if=a of=/home/me/b", "dd if=/etc/passwd of=b"],
    ),
    (
        "gcc",
        &[
            "gcc -O2 -Wall -Iinclude -o a a.c -lm",
            "gcc -DBUG=1 -static -Wl,--gc-sections,-rpath,lib a.c linker.c",
        ],
        &[
            "gcc -wrapper sh,w.sh f.c",
            "gcc -B. f.c",
            "gcc -B tools f.c",
            "gcc @f",
            "gcc -fplugin=./x.so f.c",
            "gcc -specs=x f.c",
            "gcc --specs=x f.c",
            "gcc -Wl,-plugin,x.so f.c",
            "gcc -Wl,@f f.c",
            "gcc -Xlinker -plugin -Xlinker x.so f.c",
            "gcc -fuse-ld=x f.c",
            "gcc -fmodule-mapper=x f.c",
        ],
    ),
    ("g++", &["g++ a.cc"], &["g++ -wrapper sh a.cc", "g++ @f"]),
    ("cc", &["cc a.c"], &["cc -B. a.c", "cc @f"]),
    ("clang-cl-15", &["clang-cl-15 a.c"], &["clang-cl-15 @f"]),
    ("c++", &["c++ a.cc"], &["c++ -B. a.cc", "c++ @f"]),
    (
        "x86_64-linux-gnu-gcc-14.2",
        &["x86_64-linux-gnu-gcc-14.2 a.c"],
        &["x86_64-linux-gnu-gcc-14.2 -wrapper sh a.c"],
    ),
    (
        "clang",
        &["clang -c a.c"],
        &[
            "clang @f",
            "clang -B. a.c",
            "clang -fpass-plugin=x.so a.c",
            "clang -Xclang -load -Xclang x.so a.c",
            "clang --ld-path=./x a.c",
            "clang --config x a.c",
            "clang --gcc-toolchain=x a.c",
        ],
    ),
    (
        "ld",
        &["ld -Bstatic -o a a.o"],
        &[
            "ld -plugin x.so a.o",
            "ld --plugin=x.so a.o",
            "ld -plug x.so a.o",
            "ld @f",
        ],
    ),
    ("strings", &["strings a"], &["strings @f"]),
    (
        "rustc",
        &["rustc -C opt-level=2 a.rs"],
        &[
            "rustc -C linker=./x a.rs",
            "rustc -Clinker=./x a.rs",
            "rustc @f",
        ],
    ),
    (
        "make",
        &["make all"],
        &["make -C /home/me/other", "make -C../other", "make -f../x"],
    ),
    (
        "cargo test",
        &["cargo test"],
        &["cargo test --manifest-path /home/me/o/Cargo.toml"],
    ),
    (
        "tar",
        &["tar tf x", "tar -tf x"],
        &[
            "tar xPf x",
            "tar -xPf x",
            "tar xIf ./y x",
            "tar tf evil:x",
            "tar -xf x -C /home/me",
            "tar -cf x -T list",
            "tar cTf list x",
            "tar -cf x --files-from=list",
        ],
    ),
    (
        "curl",
        &["curl https://x/y"],
        &[
            "curl -o x https://x",
            "curl file:///etc/passwd",
            "curl -K x",
        ],
    ),
    (
        "wc",
        &["wc -l x"],
        &["wc --files0-from=list", "wc --files0 list"],
    ),
    (
        "find",
        &["find src -name x"],
        &["find -files0-from list", "find . -fprint0 x"],
    ),
    ("tree", &["tree src"], &["tree -R -L 1", "tree -o x"]),
    ("file", &["file x"], &["file -C -m x"]),
    (
        "go env",
        &["go env GOPATH"],
        &["go env -w GOFLAGS=-toolexec=./x"],
    ),
    (
        "env",
        &["env"],
        &["env ls", "env -S 'touch x'", "env A=1 ls"],
    ),
    ("timeout", &[], &["timeout 9 ls"]),
    ("xargs", &[], &["xargs rm"]),
    (
        "xargs rg",
        &[],
        &["echo --pre=./x | xargs rg foo", "xargs rg foo"],
    ),
    (
        "= nice xargs cat",
        &[],
        &["echo /etc/passwd | nice xargs cat"],
    ),
];

#[test]
fn a_rule_covers_nothing_that_writes_runs_or_leads_elsewhere() {
    for (rule, covered, beyond) in SLIPS {
        let mut policy = allowing(&[rule]);
        policy.grants = vec![Grant::GitWrite];
        cases(&policy, Decision::Allow, covered);
        cases(&policy, Decision::Ask, beyond);
        // A rule that names it exactly covers it, unless it changes the shell.
        for script in beyond.iter().filter(|script| script.starts_with("cat ../")) {
            case(&allowing(&[script]), script, Decision::Allow);
        }
    }
}

#[test]
fn a_rule_covers_no_file_of_agent_and_none_that_git_obeys() {
    let mut policy = allowing(&["cp", "cat"]);
    let path = |text: &str| RelPath::parse(text).unwrap();
    let scripts = ["cp a hooks/pre-commit", "cp a sessions/x.json"];
    cases(&policy, Decision::Allow, &scripts);
    case(&policy, "cat sessions/x.json", Decision::Allow);
    policy.obeyed_by_git = vec![path("hooks")];
    policy.own_paths = vec![path("sessions")];
    cases(&policy, Decision::Ask, &scripts);
    case(&policy, "cat sessions/x.json", Decision::Ask);
    case(&policy, "cat hooks/pre-commit", Decision::Allow);
}

#[test]
fn a_rule_for_an_editor_or_date_covers_no_command_in_it() {
    let policy = allowing(&["vim", "emacs", "date"]);
    cases(
        &policy,
        Decision::Allow,
        &["vim -n notes.md", "date -u +%F"],
    );
    let beyond = [
        "vim -es -c '!id'",
        "vim '+!id' notes.md",
        "vim -S x.vim",
        "emacs --batch --eval '(shell-command \"id\")'",
        "date -s tomorrow",
        "date --set=tomorrow",
    ];
    cases(&policy, Decision::Ask, &beyond);
}

#[test]
fn a_rule_covers_no_word_that_is_code_for_another_program() {
    let names: Vec<&str> = "printf ls zip sqlite3 psql gdb make cargo javac find java man scp openssl ssh-keygen gpg kubectl curl"
        .split(' ')
        .collect();
    let covered = [
        "printf '%s %d\\n' a 1 && ls",
        "printf '100%%n'",
        "zip out.zip a",
        "zip -qT out.zip a",
        "sqlite3 x.db 'select * from a'",
        "sqlite3 ./x.db",
        "psql -c 'select 1'",
        "make -j4 all",
        "cargo build --release",
        "javac -d out A.java",
        "find . -newer x -name y",
        "java -cp out Main",
        "man ls",
        "scp -P 22 a host:b",
        "openssl x509 -in a.pem -noout",
        "ssh-keygen -lf a.pub",
        "gpg --verify a.sig",
        "kubectl get pods -o yaml",
        "psql -c 'select payload, download from a'",
        "curl -s -w '%{http_code}' https://example.org",
        "curl -fsSL -X POST https://example.org",
        "curl -XPOST https://example.org",
        "curl -sXOPTIONS https://example.org",
        "curl -HT:x https://example.org",
    ];
    let beyond = [
        "printf '%n' PATH && ls",
        "printf 'a%5$-3ln' PATH && ls",
        "zip out.zip e.sh -T '-TTsh e.sh'",
        "zip out.zip e.sh -TTTsh",
        "zip out.zip e.sh -T --unzip-comm=sh",
        "sqlite3 x.db '.shell id'",
        "sqlite3 x.db 'select 1' ' .system id'",
        "sqlite3 -cmd '.shell id' x.db",
        "sqlite3 x.db \"select load_extension('./x')\"",
        "psql -c '\\! id'",
        "psql -c \"copy a to program 'id'\"",
        "gdb -ex 'shell id'",
        "gdb -batch -ex=run ./a",
        "make --eval=x:=1",
        "make --ev x",
        "make -kE x",
        "cargo build --config 'build.rustc-wrapper=\"./x\"'",
        "cargo build --conf=x",
        "javac -J-javaagent:x.jar A.java",
        "find . -execdir ./x ';'",
        "sqlite3 a.db \"vacuum into 'out.db'\"",
        "psql -c \"LOAD './evil.so'\"",
        "javac @args",
        "java @args",
        "man -C ./evil.conf ls",
        "man --config-file=evil.conf ls",
        "scp -S ./evil a host:b",
        "scp -o ProxyCommand=./evil a host:b",
        "openssl x509 -engine ./evil.so",
        "ssh-keygen -D ./evil.so",
        "gpg --agent-program ./evil -d a",
        "kubectl get pods --kubeconfig evil.yaml",
        "curl -w '%output{x}x' https://example.org",
        "curl -x evil:1 https://example.org",
        "curl -sn https://example.org",
        "curl -sO https://example.org",
        "curl -fTx https://example.org",
    ];
    for confinement in [
        CommandConfinement::SwitchedOff,
        CommandConfinement::Sandboxed,
    ] {
        let mut policy = allowing(&names);
        policy.confinement = confinement;
        cases(&policy, Decision::Allow, &covered);
        cases(&policy, Decision::Ask, &beyond);
    }
}

#[test]
fn without_a_sandbox_a_rule_covers_no_file_that_no_word_names() {
    let mut policy = allowing(&[
        "diff",
        "tar",
        "patch",
        "cp",
        "unzip",
        "git apply",
        "ar",
        "jar",
        "gunzip",
        "gzip",
    ]);
    let scripts = [
        "diff a b",
        "tar chf o.tar a",
        "tar -chf o.tar a",
        "tar xf o.tar",
        "tar --extr -f o.tar",
        "patch -p1 -i x.diff",
        "cp -r a/. .",
        "cp -a a b",
        "unzip x.zip",
        "git apply x.diff",
        "git apply --stat --apply x.diff",
        "patch -l -i x.diff",
        "ar x a.a",
        "ar -xv a.a",
        "jar xf a.jar",
        "gunzip .envrc.gz",
        "gzip -d .envrc.gz",
    ];
    let named = [
        "diff --no-dereference a b",
        "tar cf o.tar a",
        "tar tf o.tar",
        "patch --dry-run -p1 -i x.diff",
        "cp a b",
        "git apply --check x.diff",
        "git apply --stat x.diff",
        "unzip -l x.zip",
        "ar t a.a",
        "ar rcs a.a b.o",
        "jar tf a.jar",
        "jar cf a.jar out",
        "gunzip -c a.gz",
        "gzip -k a",
    ];
    policy.confinement = CommandConfinement::SwitchedOff;
    cases(&policy, Decision::Ask, &scripts);
    cases(&policy, Decision::Allow, &named);
    // What the person wrote out is meant.
    for script in ["diff a b", "patch -p1 -i x.diff", "cp -r a/. ."] {
        let mut policy = allowing(&[script]);
        policy.confinement = CommandConfinement::SwitchedOff;
        case(&policy, script, Decision::Allow);
    }
    // In a sandbox the kernel protects what must not be changed or read.
    policy.confinement = CommandConfinement::Sandboxed;
    cases(&policy, Decision::Allow, &scripts);
    cases(&policy, Decision::Allow, &named);
}

#[test]
fn without_a_sandbox_always_is_not_for_what_runs_the_project() {
    let project = [
        "make all",
        "npm test",
        "npm run lint",
        "cargo test",
        "python3 check.py",
        "python -m pytest",
        "pytest -q",
        "./check.sh",
        "sh check.sh",
        "npx jest",
        "uv run pytest",
        "go test",
        "cmake --build x",
        "strange thing",
        "git commit -m x",
        "awk -f x y",
        "find . -name x -exec ./x ';'",
        "timeout 9 make",
        "env LD_PRELOAD=./x ls",
        "command ls",
    ];
    let harmless = [
        "ls",
        "cat x",
        "git status",
        "git diff HEAD",
        "rg foo",
        "sed -n 1p x",
        "timeout 9 ls",
    ];
    let mut policy = Policy {
        confinement: CommandConfinement::SwitchedOff,
        ..policy()
    };
    for script in project {
        assert!(policy.propose(script).is_empty(), "{script}");
    }
    for script in harmless {
        assert!(!policy.propose(script).is_empty(), "{script}");
    }
    // What was answered while a sandbox held does not count without one.
    let sandboxed = Policy {
        approval: Approval::Edits,
        confinement: CommandConfinement::Sandboxed,
        ..policy.clone()
    };
    for script in project.iter().chain(&harmless) {
        let mut sandboxed = sandboxed.clone();
        sandboxed.grants = vec![Grant::GitWrite];
        policy.grants = vec![Grant::GitWrite];
        let always = sandboxed.propose(script);
        assert!(!always.is_empty(), "{script}");
        sandboxed.person.always.clone_from(&always);
        case(&sandboxed, script, Decision::Allow);
        policy.person.always.clone_from(&always);
        let expected = if harmless.contains(script) {
            Decision::Allow
        } else {
            Decision::Ask
        };
        case(&policy, script, expected);
        // What the person wrote into the settings is their word.
        policy.person.always.clear();
        policy.person.allow = always;
        case(&policy, script, Decision::Allow);
        policy.person.allow.clear();
    }
}

#[test]
fn an_exact_rule_is_exact() {
    let policy = allowing(&["= find . -name x", "= sed -n 1p x", "= git -C sub status"]);
    cases(
        &policy,
        Decision::Allow,
        &[
            "find . -name x",
            "sed -n 1p x",
            "git -C sub status",
            "/usr/bin/find . -name x",
        ],
    );
    cases(
        &policy,
        Decision::Ask,
        &[
            "find . -name x -exec sh -c id ';'",
            "find . -name x y",
            "find . -name",
            "sed -n 1p x -e '1e id'",
            "cd evil && git -C sub status",
            "git -C sub status -s",
        ],
    );
    let none = allowing(&[]);
    for script in [
        "find . -name x",
        "rg foo",
        "awk '{print $1}' x",
        "sed -n 1p x",
    ] {
        assert_eq!(none.propose(script), rules(&[&format!("= {script}")]));
    }
    assert!(none.propose("cd evil && git status").is_empty());
}

#[test]
fn a_program_where_commands_may_write_is_not_trusted() {
    let mut policy = allowing(&["ls"]);
    case(&policy, "ls", Decision::Allow);
    policy.places = policy.places.with_writable([PathBuf::from("/usr/bin")]);
    case(&policy, "ls", Decision::Ask);
}

#[test]
fn an_allow_rule_follows_no_link_out_of_the_workspace() {
    let texts = &["head", "cp", "grep", "dd", "cd", "= head docs/motd"];
    let mut policy = allowing(texts);
    let outside = [
        "head -1 docs/passwd",
        "head docs",
        "head ./docs/../x",
        "head /home/me/work/docs/passwd",
        "head a/../docs/x",
        "grep -fdocs x",
        "grep -ifdocs x",
        "grep --file=docs/x y",
        "dd if=docs/x of=y",
        "cp a dangling",
        "cp a hooks/pre-commit",
        "head state/sessions/x.json",
        "cd docs && head passwd",
        "cd sub && head passwords",
        "cd sub && cd inner && head passwords",
        // `cd` may fail.
        "cd sub; head docs",
        "cd; head x",
    ];
    let inside = [
        "head -1 src/main.rs",
        "head alias/main.rs",
        "head docs/motd",
        "head missing/docs",
        "head hooks/pre-commit",
        "grep -rn docs2 .",
        "cd alias && head main.rs",
    ];
    // Without links, which are looked up elsewhere, these are ordinary paths.
    cases(&policy, Decision::Allow, &outside[..16]);
    policy.places = policy.places.with_links(followed);
    for confinement in [
        CommandConfinement::Sandboxed,
        CommandConfinement::SwitchedOff,
    ] {
        policy.confinement = confinement;
        cases(&policy, Decision::Ask, &outside);
        cases(&policy, Decision::Allow, &inside);
    }
}

/// Follows the links of an imagined workspace.
fn followed(path: &Path) -> Option<PathBuf> {
    const LINKS: [(&str, &str); 6] = [
        ("docs", "/etc"),
        ("alias", "/home/me/work/src"),
        ("hooks", "/home/me/work/.git/hooks"),
        ("state", "/home/me/work/.agent"),
        ("sub/passwords", "/etc/passwd"),
        ("sub/inner/passwords", "/etc/passwd"),
    ];
    let mut real = PathBuf::new();
    for part in path {
        if part == ".." {
            real.pop();
            continue;
        }
        real.push(part);
        if real.ends_with("work/dangling") {
            return None;
        }
        let link = LINKS
            .iter()
            .find(|(link, _)| real == Path::new(WORKSPACE).join(link));
        if let Some((_, target)) = link {
            real = target.into();
        }
    }
    Some(real)
}

#[test]
fn temporary_directories_are_private_only_in_a_sandbox() {
    let scripts = ["head /tmp/x", "cp a /var/tmp/x", "cp a /dev/shm/x"];
    let mut policy = allowing(&["head", "cp"]);
    cases(&policy, Decision::Allow, &scripts);
    policy.confinement = CommandConfinement::SwitchedOff;
    cases(&policy, Decision::Ask, &scripts);
    cases(&policy, Decision::Allow, &["head x", "cp a /dev/null"]);
}

#[test]
fn what_is_beside_a_workspace_in_a_temporary_directory_is_outside() {
    let mut policy = allowing(&["head", "cp"]);
    policy.places = KnownDirectories::new(Path::new("/tmp/base/work"), None);
    for confinement in [
        CommandConfinement::Sandboxed,
        CommandConfinement::SwitchedOff,
    ] {
        policy.confinement = confinement;
        cases(
            &policy,
            Decision::Ask,
            &[
                "cp a ../inbox/r.txt",
                "cp a /tmp/base/inbox/r.txt",
                "head ../x",
            ],
        );
        cases(
            &policy,
            Decision::Allow,
            &["head x", "head /tmp/base/work/x"],
        );
    }
}

#[test]
fn without_a_sandbox_no_allow_rule_lets_a_program_follow_all_links() {
    let mut policy = allowing(&["grep", "grep -R", "find", "cp", "diff", "tar"]);
    let following = [
        "grep -nR root .",
        "grep --dereference-rec root .",
        "find -L . -name passwd",
        "cp -rL . copy",
        "diff -r a b",
        "tar -chf x.tar .",
    ];
    cases(&policy, Decision::Allow, &following);
    policy.confinement = CommandConfinement::SwitchedOff;
    cases(&policy, Decision::Ask, &following);
    let plain = [
        "grep -rn root .",
        "grep -R root .",
        "find . -name x",
        "cp -u a b",
        "diff -u --no-dereference a b",
        "tar -cf x.tar .",
    ];
    cases(&policy, Decision::Allow, &plain);
}
