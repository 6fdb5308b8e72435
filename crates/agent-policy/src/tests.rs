//! Tables of scripts and steps with what becomes of them.

#[cfg(unix)]
mod bash;
mod disguises;
mod files;
mod hostile;
mod literal;
mod refused;
mod roundabout;
mod windows;
mod written;

use std::path::{Path, PathBuf};

use super::*;
use written::allowing;

const WORKSPACE: &str = "/home/me/work";

fn policy() -> Policy {
    let mut policy = Policy::new(Path::new(WORKSPACE), Some(Path::new("/home/me")));
    policy.confinement = CommandConfinement::Sandboxed;
    policy.dialect = Dialect::Posix;
    policy.lookup = ProgramLookup::new(|word| {
        let path = match word {
            _ if word.starts_with('/') => PathBuf::from(word),
            // A program of the workspace that stands first in `PATH`.
            "evil-git" => PathBuf::from("/home/me/work/bin/evil-git"),
            "missing" => return None,
            _ => Path::new("/usr/bin").join(word),
        };
        let real = match word {
            "linked" => PathBuf::from("/home/me/work/linked"),
            _ => path.clone(),
        };
        Some(FoundProgram { path, real })
    });
    policy
}

fn strict() -> Policy {
    Policy {
        strictness: Strictness::Strict,
        ..policy()
    }
}

fn run(script: &str) -> Command {
    Command::RunCommand {
        script: script.to_owned(),
        timeout: None,
    }
}

fn rules(texts: &[&str]) -> Vec<Rule> {
    texts
        .iter()
        .map(|text| Rule::parse(text).unwrap())
        .collect()
}

#[track_caller]
fn case(policy: &Policy, script: &str, expected: Decision) {
    let ruling = policy.rule_on(&run(script));
    assert_eq!(ruling.decision, expected, "{script:?}: {ruling:?}");
    let table = policy.table();
    for ruling in policy.explain(script) {
        assert!(
            table
                .iter()
                .any(|row| row.rule == ruling.rule && row.decision == ruling.decision),
            "not in the table: {ruling:?}"
        );
        assert!(!ruling.why.is_empty());
    }
}

/// Checks a table and tells all that is wrong in it at once.
#[track_caller]
fn cases(policy: &Policy, expected: Decision, scripts: &[&str]) {
    let wrong: Vec<String> = scripts
        .iter()
        .map(|script| (script, policy.rule_on(&run(script))))
        .filter(|(_, ruling)| ruling.decision != expected)
        .map(|(script, ruling)| format!("{script:?}: {:?} {}", ruling.decision, ruling.rule))
        .collect();
    assert!(wrong.is_empty(), "not {expected:?}:\n{}", wrong.join("\n"));
    for script in scripts {
        case(policy, script, expected);
    }
}

#[test]
fn ordinary_work_runs() {
    cases(
        &policy(),
        Decision::Allow,
        &[
            "cargo test",
            "cargo build --release 2>&1 | tail -20",
            "npm install && npm test",
            "python -m pytest -q tests/",
            "rm -rf target",
            "rm -rf ./build dist/*",
            "rm -rf node_modules package-lock.json",
            "rm -rf -- *.egg-info",
            "rm -f a.o b.o",
            "rm -r sub/dir",
            "rm -rf /tmp/scratch",
            "rm *",
            "cd sub && rm -rf *",
            "(cd / && ls); rm -rf build",
            "find . -name '*.pyc' -delete",
            "python -c 'print(\"reboot\")'",
            "x=$((1 << 2)); cat <<EOF\nsudo\nEOF",
            "find target -delete",
            "find src -name '*.rs' -exec grep -l foo {} +",
            "git status",
            "git diff HEAD~1",
            "git log --oneline | head",
            "git stash list",
            "git clean -n",
            "git init && git add . && git commit -m x",
            "grep -rn sudo docs",
            "echo sudo reboot",
            "echo 'rm -rf /'",
            "git log --grep 'rm -rf /'",
            "cat > notes.md <<'EOF'\nsudo rm -rf /\nEOF\nls",
            "cat > notes.md <<EOF\nuse sudo; rm -rf /\nEOF",
            "cat <<-EOF > x\n\tsudo make install\n\tEOF\nls",
            "which sudo",
            "command -v su",
            "man mkfs",
            "dd if=/dev/zero of=disk.img bs=1M count=1",
            "dd if=/dev/urandom of=/dev/null count=1",
            "ls > /dev/null 2>&1",
            "cp /dev/null x",
            "chmod -R u+w .",
            "chmod +x run.sh",
            "curl https://example.org",
            "printenv",
            "env FOO=1 cargo test",
            "for f in a b; do echo \"$f\"; done",
            "if [ -f x ]; then rm -rf x; fi",
            "echo $((1+2))",
            "case $1 in a) ls ;; esac",
            "systemctl status nginx",
            "npm run publish-docs",
            "gh pr view 3",
            "cargo run -- publish",
            "case $1 in start) ls ;; reboot) ls ;; esac",
            "cd /tmp/x && rm -rf *",
            "rm -rf .gitignore",
            "cargo init",
            "docker build -t x .",
            "# sudo rm -rf /\nls",
            "ls # rm -rf /",
            "echo grüße 'naïve 👋'",
            "printf 'a\tb\n'",
            "ls\r\nls",
            "",
        ],
    );
}

#[test]
fn what_goes_out_or_does_not_come_back_is_asked() {
    cases(
        &Policy {
            grants: vec![Grant::GitWrite],
            ..policy()
        },
        Decision::Ask,
        &[
            "git push",
            "git push --force origin main",
            "git -C sub push",
            "git -c a.b=c push",
            "git --git-dir x push",
            "bash -c 'git push'",
            "make && git push",
            "git clean -fdx",
            "git clean -d -f",
            "git clean --force",
            "git reset --hard",
            "git reset --hard HEAD~3",
            "git checkout -f main",
            "git checkout -- .",
            "git restore .",
            "git branch -D x",
            "git stash drop",
            "git stash clear",
            "cargo publish",
            "cargo publish --dry-run",
            "npm publish",
            "npm --silent publish",
            "yarn publish",
            "pnpm -r publish",
            "twine upload dist/*",
            "python -m twine upload dist/*",
            "poetry publish",
            "uv publish",
            "gem push x.gem",
            "mvn deploy",
            "./gradlew publish",
            "docker push x",
            "dotnet nuget push x",
            "gh release create v1",
            "gh pr merge 3",
            "rm -rf .git",
            "rm -r sub/.git/objects",
            "rm -rf ../other",
            "rm -rf /home/me/other",
            "rm -rf ~/.cache/x",
            "rm -rf /usr/lib/x",
        ],
    );
}

#[test]
fn writing_to_git_needs_the_grant() {
    let scripts = [
        "git add .",
        "git commit -m x",
        "git add -A && git commit -m 'x y'",
        "git checkout -b x",
        "git stash",
        "git fetch",
    ];
    cases(&policy(), Decision::Ask, &scripts);
    let ruling = policy().rule_on(&run("git push && git commit -m x"));
    assert_eq!(
        (ruling.decision, ruling.needs),
        (Decision::Ask, Some(Grant::GitWrite))
    );
    let granted = Policy {
        grants: vec![Grant::GitWrite],
        ..policy()
    };
    cases(&granted, Decision::Allow, &scripts);
    // A rule allows it and still does not make `.git` writable.
    let mut allowed = policy();
    allowed.person.allow = rules(&["git commit"]);
    case(&allowed, "git commit -m x", Decision::Ask);
    assert!(allowed.propose("git commit -m x").is_empty());
}

#[test]
fn modes_decide_about_commands() {
    let mode = |approval| Policy {
        approval,
        ..policy()
    };
    case(&mode(Approval::Auto), "cargo test", Decision::Allow);
    case(&mode(Approval::Edits), "cargo test", Decision::Ask);
    case(&mode(Approval::Ask), "cargo test", Decision::Ask);
    case(&mode(Approval::Plan), "ls", Decision::Deny);
    assert!(
        mode(Approval::Plan)
            .rule_on(&run("ls"))
            .why
            .contains("plan mode is on")
    );
    let mut plan = allowing(&["ls"]);
    plan.approval = Approval::Plan;
    case(&plan, "ls", Decision::Deny);
}

#[test]
fn without_a_sandbox_commands_are_asked_about() {
    let with = |confinement| Policy {
        confinement,
        approval: Approval::Auto,
        ..allowing(&["ls"])
    };
    case(&with(CommandConfinement::Missing), "ls", Decision::Ask);
    case(
        &with(CommandConfinement::Missing),
        "sudo ls",
        Decision::Deny,
    );
    assert!(
        with(CommandConfinement::Missing)
            .propose("cargo test")
            .is_empty()
    );
    case(
        &with(CommandConfinement::RecordsExposed),
        "ls",
        Decision::Ask,
    );
    case(
        &with(CommandConfinement::RecordsExposed),
        "sudo ls",
        Decision::Deny,
    );
    case(
        &with(CommandConfinement::SwitchedOff),
        "ls",
        Decision::Allow,
    );
    case(
        &with(CommandConfinement::SwitchedOff),
        "whoami",
        Decision::Ask,
    );
    case(&with(CommandConfinement::Required), "ls", Decision::Deny);
    case(
        &with(CommandConfinement::Sandboxed),
        "whoami",
        Decision::Allow,
    );
}

#[test]
fn the_table_tells_every_rule_once() {
    let mut policy = allowing(&["cargo test"]);
    policy.project.deny = rules(&["npm publish"]);
    policy.strictness = Strictness::Strict;
    let table = policy.table();
    let mut texts: Vec<&str> = table.iter().map(|row| row.rule.as_str()).collect();
    assert!(texts.contains(&"commands beginning with `cargo test` (your rule)"));
    assert!(texts.contains(&"commands beginning with `npm publish` (the project's rule)"));
    assert!(table.is_sorted_by_key(|row| std::cmp::Reverse(row.decision)));
    texts.sort_unstable();
    let all = texts.len();
    texts.dedup();
    assert_eq!(texts.len(), all);
    let strict_only = Policy {
        strictness: Strictness::Normal,
        ..policy
    };
    assert!(strict_only.table().len() < all);
}

#[test]
fn an_explanation_names_the_command() {
    let rulings = policy().explain("ls && bash -c 'rm -rf /'");
    assert_eq!(rulings[0].decision, Decision::Deny);
    assert_eq!(rulings[0].about, "rm -rf /");
    assert!(rulings[0].rule.starts_with("`rm -r` of `/`"));
    let rulings = allowing(&["ls"]).explain("ls > x");
    assert!(
        rulings[0].why.contains("it has a redirection"),
        "{rulings:?}"
    );
}

#[test]
fn words_of_the_settings_are_read() {
    assert_eq!("Edits".parse(), Ok(Approval::Edits));
    assert_eq!("strict".parse(), Ok(Strictness::Strict));
    assert_eq!("git-write".parse(), Ok(Grant::GitWrite));
    assert_eq!(
        "all".parse::<Approval>().unwrap_err().to_string(),
        "`all` is not one of `plan`, `ask`, `edits`, `auto`"
    );
}
