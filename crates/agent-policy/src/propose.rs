//! Proposes the rule for the answer "always".

use super::names::{is_code_runner, is_interpreter};
use super::options;
use super::rules::{Rule, RuleExtent};
use super::shell::{self, Script};
use super::wrappers::inner_command;

/// The maximum length of a proposed rule, in bytes; nobody would check a longer one.
const MAX_PROPOSAL: usize = 200;

/// Proposes a rule for the answer "always": the beginning of this command and similar ones.
///
/// `None` for scripts that are opaque or start different programs, and for rules that would allow
/// arbitrary code, such as commands beginning with `bash -c`.
pub fn propose(script: &str) -> Option<Rule> {
    let Script::Plain(commands) = shell::read(script) else {
        return None;
    };
    let mut rules = commands
        .iter()
        .filter(|command| !is_neutral(command))
        .map(|command| beginning(command));
    let first = rules.next()??;
    rules
        .all(|rule| rule.as_ref() == Some(&first))
        .then_some(first)
}

/// The rule for one plain command and similar ones, or for that command alone if similar ones could
/// do anything.
pub(super) fn beginning(command: &[String]) -> Option<Rule> {
    let mut begins = 0;
    while let Some(inner) = inner_command(&command[begins..]) {
        if is_never_proposed(&command[begins]) {
            return None;
        }
        begins += inner;
    }
    let (program, arguments) = command[begins..].split_first()?;
    let name = program.rsplit('/').next().unwrap_or(program);
    if matches!(name, "env" | "command" | "builtin") || is_never_proposed(name) {
        return None;
    }
    let runs_code = is_code_runner(name) || is_interpreter(name);
    if runs_code && (arguments.is_empty() || arguments.iter().any(|word| runs_its_argument(word))) {
        return None;
    }
    match words_of_its_like(program, arguments) {
        Some(taken) => rule(&command[..=begins + taken], RuleExtent::Beginning),
        None => exactly(command),
    }
}

/// The number of arguments that determine what a command does, so that any others may follow;
/// `None` if all of them are needed.
fn words_of_its_like(program: &str, arguments: &[String]) -> Option<usize> {
    let name = program.rsplit('/').next().unwrap_or(program);
    let first = arguments.first().map_or("", String::as_str);
    let second = arguments.get(1).map_or("", String::as_str);
    if is_interpreter(name) && first == "-m" {
        return checks_code(second).then_some(2);
    }
    if is_code_runner(name) || is_interpreter(name) {
        let is_file = !first.starts_with('-') && first.contains(['.', '/']);
        return is_file.then_some(1);
    }
    match name {
        "npm" | "pnpm" | "yarn" | "bun" if first == "run" => (!second.is_empty()).then_some(2),
        "git" => GIT_WORK.contains(&first).then_some(1),
        _ if builds_the_project(name) => {
            (!first.is_empty() && !first.starts_with('-')).then_some(1)
        }
        // A program of the workspace does what the workspace says, whatever follows.
        _ if program.contains('/') && !program.starts_with('/') => Some(0),
        _ if only_looks(name) || checks_code(name) => Some(0),
        _ => None,
    }
}

/// Subcommands of git that do the same thing whatever follows, except for the options in `options`.
#[rustfmt::skip]
pub(super) const GIT_WORK: &[&str] = &[
    "add", "blame", "branch", "checkout", "cherry-pick", "commit", "describe", "diff", "fetch",
    "grep", "log", "ls-files", "merge", "mv", "pull", "push", "restore", "rev-list", "rev-parse",
    "revert", "shortlog", "show", "stash", "status", "switch", "tag",
];

/// Programs that do too much, or anything they are told.
fn is_never_proposed(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or(program);
    let names = "rm sudo su doas pkexec eval source . exec alias trap export set unset hash enable xargs parallel ssh";
    names.split(' ').any(|never| never == name)
}

fn runs_its_argument(word: &str) -> bool {
    matches!(word, "--eval" | "--print" | "eval" | "/c" | "/k" | "-")
        || word.starts_with('-') && !word.starts_with("--") && word.contains(['c', 'e', 'p', 'r'])
}

/// Programs that run a target of the project, named by the word after them.
fn builds_the_project(name: &str) -> bool {
    BUILDERS.contains(&name)
}

#[rustfmt::skip]
const BUILDERS: &[&str] = &[
    "cargo", "npm", "pnpm", "yarn", "bun", "go", "poetry", "hatch", "dotnet", "mvn", "gradle",
    "gradlew", "make", "just", "composer", "mix", "swift", "rake", "bazel",
];

/// Programs that test, check or format the project, and run no other code.
fn checks_code(name: &str) -> bool {
    CHECKERS.contains(&name)
}

#[rustfmt::skip]
const CHECKERS: &[&str] = &[
    "pytest", "unittest", "compileall", "mypy", "pyright", "ruff", "black", "isort", "flake8",
    "pylint", "tox", "nox", "jest", "vitest", "mocha", "eslint", "prettier", "tsc", "rspec",
    "rubocop", "phpunit", "ctest", "ninja", "rustfmt", "gofmt", "javac", "shellcheck",
];

/// Programs that only print information, whatever their arguments.
pub(super) fn only_looks(name: &str) -> bool {
    LOOKERS.contains(&name)
}

#[rustfmt::skip]
const LOOKERS: &[&str] = &[
    "ls", "cat", "head", "tail", "wc", "grep", "egrep", "fgrep", "which", "file", "stat", "du",
    "df", "tree", "basename", "dirname", "realpath", "readlink", "cut", "nl", "tac", "column",
    "comm", "cmp", "diff", "md5sum", "sha1sum", "sha256sum", "whoami", "id", "uname", "nproc",
    "jq", "sort",
];

/// Subcommands of git that run no hooks; a project may bring its own hooks.
#[rustfmt::skip]
const GIT_LOOKS: &[&str] = &[
    "blame", "branch", "describe", "diff", "grep", "log", "ls-files", "rev-list", "rev-parse",
    "shortlog", "show", "status", "tag",
];

/// Returns true if a plain command runs no code of the workspace, as `make`, `npm test`, `cargo
/// test` and `python check.py` do. Unknown programs may run some.
pub(super) fn runs_nothing_of_the_project(command: &[String]) -> bool {
    let mut inner = command;
    while let Some(begins) = inner_command(inner) {
        // Others set variables, change the directory or look for programs in the project.
        if !matches!(
            options::name_of(inner),
            "timeout" | "nice" | "ionice" | "nohup"
        ) {
            return false;
        }
        inner = &inner[begins..];
    }
    let named = command.len() - inner.len() + 1;
    let Some((program, arguments)) = inner.split_first() else {
        return false;
    };
    let name = options::name_of(inner);
    let is_known = match name {
        "git" => arguments
            .first()
            .is_some_and(|first| GIT_LOOKS.contains(&first.as_str())),
        _ => only_looks(name) || stays_with_itself(name),
    };
    let is_of_the_workspace = program.contains('/') && !program.starts_with('/');
    is_known && !is_of_the_workspace && !options::does_something_else(command, named)
}

/// Programs that run nothing and obey no file of the workspace.
fn stays_with_itself(name: &str) -> bool {
    SELF_CONTAINED.contains(&name)
}

#[rustfmt::skip]
const SELF_CONTAINED: &[&str] = &[
    "find", "fd", "fdfind", "rg", "ag", "sed", "awk", "gawk", "mawk", "tar", "mkdir", "rmdir",
    "touch", "cp", "mv", "tee", "chmod", "date", "sleep", "seq", "tr", "uniq", "paste", "printf",
    "echo", "test", "true", "false", "type", "cd", "pwd", "ps", "free", "uptime", "hostname", "od",
    "xxd", "hexdump", "strings",
];

/// The rule for exactly this plain command.
pub(super) fn exactly(command: &[String]) -> Option<Rule> {
    rule(command, RuleExtent::Whole)
}

fn rule(words: &[String], extent: RuleExtent) -> Option<Rule> {
    let rule = Rule::of_words(words, extent);
    (!words.is_empty() && rule.text().len() <= MAX_PROPOSAL).then_some(rule)
}

/// Returns true if a plain command changes nothing, whatever else is in the script.
pub(super) fn is_neutral(command: &[String]) -> bool {
    let Some((program, arguments)) = command.split_first() else {
        return true;
    };
    match program.as_str() {
        "echo" | "pwd" | "true" | ":" => true,
        "cd" => matches!(arguments, [directory]
            if !directory.starts_with(['-', '/']) && !directory.split('/').any(|part| part == "..")),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn proposal(script: &str, expected: Option<&str>) {
        assert_eq!(
            propose(script).map(|rule| rule.text()).as_deref(),
            expected,
            "{script}"
        );
    }

    #[test]
    fn proposes_what_like_commands_begin_with() {
        proposal("cargo test --all -- --nocapture", Some("cargo test"));
        proposal("cd sub && cargo test", Some("cargo test"));
        proposal("cargo test -p a && cargo test -p b", Some("cargo test"));
        proposal("npm run lint -- --fix", Some("npm run lint"));
        proposal("npm test", Some("npm test"));
        proposal("pytest -q", Some("pytest"));
        proposal("python -m pytest -q", Some("python -m pytest"));
        proposal(
            "python3 tools/check.py --all",
            Some("python3 tools/check.py"),
        );
        proposal("./check.sh fast", Some("./check.sh"));
        proposal("timeout 60 cargo test -q", Some("timeout 60 cargo test"));
        proposal("make test", Some("make test"));
        proposal("git status --short", Some("git status"));
        proposal("npx jest -t x", Some("npx jest"));
        proposal("uv run pytest -q", Some("uv run pytest"));
        proposal("ls", Some("ls"));
    }

    #[test]
    fn proposes_only_the_command_itself_where_its_like_could_do_anything() {
        for script in [
            "make -j4",
            "find . -name '*.rs'",
            "rg foo",
            "awk '{print $1}' x",
            "sed -n 1,5p x",
            "tar tf x.tar",
            "git config user.name",
            "git submodule status",
            "docker run x",
            "pip install x",
            "python -W ignore x.py",
            "python -m timeit x",
            "deno run x.ts",
            "strange thing",
            "uv run strange",
        ] {
            proposal(script, Some(&format!("= {script}")));
        }
    }

    #[test]
    fn proposes_nothing_that_allows_arbitrary_code() {
        for script in [
            "bash -c 'ls'",
            "sh -ec ls",
            "python -c 'print(1)'",
            "node -e 1",
            "perl -pe s/a/b/",
            "eval ls",
            "sudo ls",
            "rm -rf build",
            "xargs rm",
            "python",
            "bash",
            "env",
            "export A",
            "cargo test > log",
            "cargo build && cargo test",
            "echo hi",
            "",
        ] {
            proposal(script, None);
        }
    }
}
