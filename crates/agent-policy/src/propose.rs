//! Proposes rules for the answer "always".

use super::command::{commands_within, name_of, without_wrappers};
use super::names::{self, is_a, is_in};
use super::options;
use super::programs::is_relative;
use super::rules::{Rule, RuleExtent};
use super::shell;
use super::{Decision, Policy};

/// The maximum length of a proposed rule, in bytes; nobody would check a longer one.
const MAX_PROPOSAL: usize = 200;

impl Policy {
    /// Proposes rules that let a script run without a question from now on.
    ///
    /// Empty if no rule can: the script is opaque, refused, or asked about by a rule that no allow
    /// rule overrides.
    pub fn propose(&self, script: &str) -> Vec<Rule> {
        self.proposal(script).unwrap_or_default()
    }

    fn proposal(&self, script: &str) -> Option<Vec<Rule>> {
        let commands = shell::read(script).ok()?;
        // If similar commands must not be allowed, this exact one must not be allowed either.
        let like = self.missing_rules(&commands, beginning)?;
        let exactly = self.missing_rules(&commands, |command| rule(command, RuleExtent::Whole));
        let mut proposals = std::iter::once(like).chain(exactly);
        proposals.find(|rules| {
            let mut policy = self.clone();
            policy.person.always.extend_from_slice(rules);
            policy.explain(script)[0].decision == Decision::Allow
        })
    }

    fn missing_rules(
        &self,
        commands: &[Vec<String>],
        rule_for: impl Fn(&[String]) -> Option<Rule>,
    ) -> Option<Vec<Rule>> {
        let mut missing = Vec::new();
        for command in commands.iter().filter(|command| !is_neutral(command)) {
            let rule = rule_for(command)?;
            let known = [&self.person.allow, &self.person.always, &missing];
            if !known.iter().any(|rules| rules.contains(&rule)) {
                missing.push(rule);
            }
        }
        Some(missing)
    }
}

/// The rule for one plain command and similar ones, or for that command alone if similar ones could
/// do anything. `None` if the rule would allow arbitrary code.
fn beginning(command: &[String]) -> Option<Rule> {
    let is_never = |inner: &[String]| is_a("never-proposed", name_of(inner));
    if commands_within(command).any(is_never) {
        return None;
    }
    let inner = without_wrappers(command);
    let arguments = inner.get(1..)?;
    let name = name_of(inner);
    let is_open = arguments.is_empty() || arguments.iter().any(|word| runs_its_argument(word));
    if is_in("env command builtin", name) || names::runs_code(name) && is_open {
        return None;
    }
    match words_of_its_like(inner) {
        Some(taken) => {
            let named = command.len() - inner.len() + 1 + taken;
            rule(&command[..named], RuleExtent::Beginning)
        }
        None => rule(command, RuleExtent::Whole),
    }
}

/// The number of arguments that determine what a command does, so that any others may follow;
/// `None` if all of them are needed.
fn words_of_its_like(command: &[String]) -> Option<usize> {
    let word = |at: usize| command.get(at).map_or("", String::as_str);
    let (name, first, second) = (name_of(command), word(1), word(2));
    let takes = |is_so: bool, count: usize| is_so.then_some(count);
    match name {
        _ if is_a("interpreters", name) && first == "-m" => takes(is_a("checkers", second), 2),
        _ if names::runs_code(name) => {
            takes(!first.starts_with('-') && first.contains(['.', '/']), 1)
        }
        "npm" | "pnpm" | "yarn" | "bun" if first == "run" => takes(!second.is_empty(), 2),
        "git" => takes(is_a("git-looks git-work", first), 1),
        _ if is_a("builders", name) => takes(!first.is_empty() && !first.starts_with('-'), 1),
        // A program of the workspace does what the workspace says, whatever follows.
        _ if is_relative(word(0)) => Some(0),
        _ => takes(is_a("looks checkers", name), 0),
    }
}

fn runs_its_argument(word: &str) -> bool {
    is_in("--eval --print eval /c /k -", word)
        || word.starts_with('-') && !word.starts_with("--") && word.contains(['c', 'e', 'p', 'r'])
}

/// Returns true if a plain command runs no code of the workspace, as `make`, `npm test`, `cargo
/// test` and `python check.py` do. Unknown programs may run some.
pub(super) fn runs_nothing_of_the_project(command: &[String]) -> bool {
    let inner = without_wrappers(command);
    let (name, first) = (name_of(inner), inner.get(1).map_or("", String::as_str));
    let named = command.len() - inner.len() + 1;
    // Other wrappers set variables, change the directory or look for programs in the project.
    let is_plain = |words: &[String]| {
        words.len() == inner.len() || is_in("timeout nice ionice nohup", name_of(words))
    };
    let is_known = match name {
        "git" => is_a("git-looks", first),
        _ => is_a("looks self-contained", name),
    };
    is_known
        && commands_within(command).all(is_plain)
        && !is_relative(&inner[0])
        && !options::does_something_else(command, named)
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
        let Ok(commands) = shell::read(script) else {
            return assert_eq!(expected, None, "{script}");
        };
        let commands = commands.iter().filter(|command| !is_neutral(command));
        let mut rules: Vec<Option<Rule>> = commands.map(|command| beginning(command)).collect();
        rules.dedup();
        let rule = rules.pop().flatten().filter(|_| rules.is_empty());
        assert_eq!(
            rule.map(|rule| rule.text()).as_deref(),
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
