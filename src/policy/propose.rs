//! The rule that is proposed for the answer "always".

use super::rules::Rule;
use super::shell::{self, Script};
use super::words::{inner_command, is_code_runner, is_interpreter};

/// The longest rule that is proposed, in bytes; nobody would check a longer one.
const MAX_PROPOSAL: usize = 200;

/// Proposes a rule for the answer "always": what this command and its like begin with.
///
/// Nothing for scripts that are opaque or start different programs, and nothing that would allow
/// arbitrary code at once, such as commands beginning with `bash -c`.
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

/// The rule for one plain command and its like.
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
    let operand = |at: usize| arguments.get(at).filter(|word| !word.starts_with('-'));
    let taken = match name {
        "env" | "command" | "builtin" => return None,
        _ if is_never_proposed(name) => return None,
        _ if is_code_runner(name) || is_interpreter(name) => {
            if arguments.iter().any(|word| runs_its_argument(word)) {
                return None;
            }
            match arguments.first().map(String::as_str) {
                Some("-m") => 2,
                Some(_) => arguments.len().min(1),
                None => return None,
            }
        }
        "npm" | "pnpm" | "yarn" | "bun" if operand(0).is_some_and(|word| word == "run") => 2,
        _ if has_subcommands(name) => match operand(0) {
            Some(_) => 1,
            None => arguments.len(),
        },
        "find" | "tar" | "sed" | "awk" | "dd" | "ssh" | "scp" | "rsync" | "curl" | "wget"
        | "chmod" | "chown" | "mv" | "cp" | "kill" | "pkill" | "tee" | "ln" => arguments.len(),
        _ => 0,
    };
    exactly(&command[..=begins + taken.min(arguments.len())])
}

/// Programs that do too much, or whatever they are told.
fn is_never_proposed(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or(program);
    matches!(
        name,
        "rm" | "sudo"
            | "su"
            | "doas"
            | "pkexec"
            | "eval"
            | "source"
            | "."
            | "exec"
            | "alias"
            | "trap"
            | "export"
            | "set"
            | "unset"
            | "hash"
            | "enable"
            | "xargs"
            | "parallel"
            | "ssh"
    )
}

fn runs_its_argument(word: &str) -> bool {
    matches!(word, "--eval" | "--print" | "eval" | "/c" | "/k" | "-")
        || word.starts_with('-') && !word.starts_with("--") && word.contains(['c', 'e', 'p', 'r'])
}

fn has_subcommands(name: &str) -> bool {
    matches!(
        name,
        "cargo"
            | "git"
            | "npm"
            | "pnpm"
            | "yarn"
            | "bun"
            | "npx"
            | "bunx"
            | "go"
            | "docker"
            | "podman"
            | "pip"
            | "pip3"
            | "uv"
            | "uvx"
            | "pipx"
            | "poetry"
            | "hatch"
            | "dotnet"
            | "mvn"
            | "gradle"
            | "gradlew"
            | "make"
            | "just"
            | "cmake"
            | "kubectl"
            | "helm"
            | "terraform"
            | "apt"
            | "apt-get"
            | "brew"
            | "rustup"
            | "bundle"
            | "composer"
            | "mix"
            | "swift"
            | "gh"
            | "rake"
            | "bazel"
            | "nix"
            | "conda"
            | "mamba"
            | "systemctl"
    )
}

/// The rule for exactly this plain command, and whatever is added to its end.
pub(super) fn exactly(command: &[String]) -> Option<Rule> {
    let rule = Rule::of_words(command);
    (!command.is_empty() && rule.text().len() <= MAX_PROPOSAL).then_some(rule)
}

/// Whether a plain command changes nothing, whatever else stands in the script.
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
        proposal("make -j4", Some("make -j4"));
        proposal("find . -name '*.rs'", Some("find . -name '*.rs'"));
        proposal("ls", Some("ls"));
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
