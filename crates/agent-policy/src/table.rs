//! The rules: built in, and those that follow from the approval mode and the sandbox. Each has the
//! text that `agent policy` prints and the check that applies it.
//!
//! To add a rule, add a row here. The checks, the explanations and the printed table all use these
//! rows.

use super::command::Invocation;
use super::targets::RemovalReach;
use super::{
    Approval, CommandConfinement, Decision, Grant, Policy, Ruling, Strictness, checks, protected,
    shell,
};
use Decision::{Allow, Ask, Deny};
use agent_protocol::RelPath;
use agent_protocol::obeyed::{TOOL_CONFIGURATION, WORKFLOWS};

/// One rule.
pub(super) struct BuiltIn {
    pub decision: Decision,
    /// The rule as `agent policy` prints it.
    pub rule: &'static str,
    /// The reason, for the person and the model.
    pub why: &'static str,
    /// Advice for the model: what it can do instead.
    pub hint: &'static str,
    /// The grant under which it is not in force. A step that it is about needs the grant, which the
    /// person gives with a yes.
    pub lifted_by: Option<Grant>,
    pub check: RuleCheck,
    /// Says with which settings it is in force.
    is_meant: fn(&Policy) -> bool,
}

/// The subject that a rule checks.
#[derive(Clone, Copy)]
pub(super) enum RuleCheck {
    /// The text of a script.
    Text(fn(&str) -> bool),
    /// A program that a script seems to start, by a section of `programs.txt`.
    Programs(&'static str),
    /// A program that a script seems to start.
    Command(fn(&Invocation) -> bool),
    /// A program that removes or changes so much.
    Reach(RemovalReach),
    /// A script that could not be examined completely.
    Unreadable,
    /// A path that a step would change.
    Write(fn(&RelPath, &Policy) -> bool),
    /// A path or glob that a step would read or change.
    Touch(fn(&str, &Policy) -> bool),
    /// Every step of these kinds. With none, the sandbox and not the policy applies the rule.
    Every(&'static [StepKind]),
}

/// A kind of steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StepKind {
    Command,
    Change,
    Reading,
}

impl BuiltIn {
    pub(super) fn is_in_force(&self, policy: &Policy) -> bool {
        let is_granted = |grant| policy.grants.contains(&grant);
        !self.lifted_by.is_some_and(is_granted) && (self.is_meant)(policy)
    }

    pub(super) fn row(&self) -> Ruling {
        Ruling {
            hint: self.hint.to_owned(),
            lifted_by: self.lifted_by,
            ..Ruling::new(self.decision, self.rule, self.why)
        }
    }

    /// The ruling of this rule about a command or a path.
    pub(super) fn ruling(&self, about: &str) -> Ruling {
        Ruling {
            needs: self.lifted_by,
            about: about.to_owned(),
            ..self.row()
        }
    }
}

type Text = &'static str;

const fn row(decision: Decision, rule: Text, why: Text, check: RuleCheck) -> BuiltIn {
    BuiltIn {
        decision,
        rule,
        why,
        hint: "",
        lifted_by: None,
        check,
        is_meant: |_| true,
    }
}

/// A refusal of the strict policy.
const fn strict(rule: Text, check: RuleCheck) -> BuiltIn {
    row(Deny, rule, "the strict policy is on", check)
        .when(|policy| policy.strictness == Strictness::Strict)
}

impl BuiltIn {
    const fn hint(mut self, hint: Text) -> Self {
        self.hint = hint;
        self
    }

    const fn when(mut self, is_meant: fn(&Policy) -> bool) -> Self {
        self.is_meant = is_meant;
        self
    }

    const fn without(mut self, grant: Grant) -> Self {
        self.lifted_by = Some(grant);
        self
    }
}

const EVERY_CHANGE: RuleCheck = RuleCheck::Every(&[StepKind::Change]);
const EVERY_COMMAND: RuleCheck = RuleCheck::Every(&[StepKind::Command]);

/// Every rule, the refusals first, those on every step of a kind last.
#[rustfmt::skip]
pub(super) static BUILT_IN: &[BuiltIn] = &[
    row(Deny, "scripts of more than 32 KiB",
        "the script is too long to check",
        RuleCheck::Text(|script| script.len() > shell::MAX_BYTES))
        .hint("write it to a file with CREATE_FILE and run that"),
    row(Deny, "scripts with control characters or characters that change the direction of text",
        "such a character can hide what a script does",
        RuleCheck::Text(checks::has_deceptive_characters))
        .hint("write it as an escape such as `\\x1b`, or leave it out"),
    row(Deny, "fork bombs",
        "it starts copies of itself until the machine hangs",
        RuleCheck::Programs("fork-bombs")),
    row(Deny, "`rm -r` of `/`, a system directory, a home directory, the workspace itself or a \
            directory above it, with `find -delete`, `rsync --delete`, `chmod -R` and similar too",
        "it would remove or change far too much",
        RuleCheck::Reach(RemovalReach::Everything))
        .hint("name the files or directories that you mean"),
    row(Deny, "`mkfs`, `mkswap`, `wipefs`, `fdisk` and similar",
        "it would wipe a disk",
        RuleCheck::Programs("wipes-disks")),
    row(Deny, "writing to a device, as with `dd of=/dev/...`",
        "it would overwrite a disk or another device",
        RuleCheck::Command(checks::writes_to_a_device)),
    row(Deny, "`shutdown`, `reboot`, `halt`, `poweroff`",
        "commands must not switch the machine off",
        RuleCheck::Programs("shuts-down")),
    row(Deny, "`sudo`, `su`, `doas`, `Start-Process -Verb RunAs` and similar",
        "commands must not run as another user",
        RuleCheck::Programs("other-users"))
        .hint("ask the person to run this"),
    strict("every `rm -rf`, `del /s`, `rd /s`, `Remove-Item -Recurse`",
        RuleCheck::Programs("forced-removals removes-trees-on-windows"))
        .hint("remove files with DELETE_FILE or `rm` without `-f`"),
    strict("`curl`, `wget`, `Invoke-WebRequest`",
        RuleCheck::Programs("fetches"))
        .hint("ask the person to download what you need"),
    strict("`format`, `diskpart`, `Invoke-Expression`, `Set-ExecutionPolicy`, `reg` and encoded \
            commands of PowerShell",
        RuleCheck::Programs("administers-windows")),
    strict("reading the environment: `env`, `printenv`, `set`, `export -p`, \
            `/proc/*/environ`, `Env:`",
        RuleCheck::Command(checks::reads_the_environment))
        .hint("ask the person for the value you need"),
    strict("user administration: `useradd`, `passwd`, `net user` and similar",
        RuleCheck::Programs("administers-users")),
    row(Deny, "reading or changing anything under `.agent`",
        "`agent` keeps its own records there; they are hidden",
        RuleCheck::Touch(|text, _| protected::names_our_state(text))),
    row(Deny, "changing hooks, configuration or anything else in `.git` that the grant `git-write` \
            does not open",
        "git would run or obey it",
        RuleCheck::Write(|path, _| protected::is_in_closed_git(path)))
        .hint("ask the person to change it"),
    row(Deny, "changing anything in `.git` without the grant `git-write`",
        "`.git` is read-only",
        RuleCheck::Write(|path, _| protected::is_in_git(path))).without(Grant::GitWrite),
    row(Ask, "file steps that change `.vscode`, `.idea`, `.envrc` or `.mcp.json`",
        "editors and tools run commands from these files when the person opens the project",
        RuleCheck::Write(|path, _| protected::has_any(path, &TOOL_CONFIGURATION))),
    row(Ask, "file steps that change `.claude`, `.cursor`, `.codex`, `.gemini`, `.devcontainer`, `.zed`, \
            `*.code-workspace`, `.nvim.lua`, `.gitmodules`, `.pre-commit-config.yaml`, shell start \
            files and similar",
        "other tools of the person run or obey these files",
        RuleCheck::Write(|path, _| protected::is_other_configuration(path))),
    row(Ask, "file steps that change workflow files of build services, such as `.github/workflows` and \
            `.gitlab-ci.yml`",
        "the build service runs these files with the project's secrets",
        RuleCheck::Write(|path, _| protected::has_any(path, &WORKFLOWS))),
    row(Ask, "git commands that write to `.git`, such as `git add` and `git commit`, without the grant \
            `git-write`",
        "`.git` is read-only",
        RuleCheck::Programs("writes-to-git")).without(Grant::GitWrite),
    row(Ask, "`git push`",
        "it sends commits to others",
        RuleCheck::Programs("pushes")),
    row(Ask, "discarding work: `git clean -f`, `git reset --hard`, `git checkout .`, `git branch -D`, \
            `git stash drop`, `rm -r .git`",
        "discarded work may be lost for good",
        RuleCheck::Command(checks::discards_work)),
    row(Ask, "publishing: `cargo publish`, `npm publish`, `twine upload`, `docker push`, `gh release` \
            and similar",
        "publishing cannot be undone",
        RuleCheck::Programs("publishes")),
    row(Ask, "`rm -r` outside the workspace and the temporary directories",
        "it would remove files that do not belong to the workspace",
        RuleCheck::Reach(RemovalReach::Outside)),
    row(Ask, "`rm -r`, `find -delete`, `chmod -R` or `dd` of a path that only the shell knows, as in \
            `rm -r \"$x\"`, and `rm $x /`, which may have `-r`",
        "the path or the option may be anything, or empty",
        RuleCheck::Reach(RemovalReach::Unknown))
        .hint("write it out"),
    row(Ask, "programs whose name only the shell knows, as in `$x --flag` and `timeout $x`",
        "it may be any program",
        RuleCheck::Command(checks::is_unknown_program))
        .hint("write its name out"),
    row(Ask, "code that only the shell knows, as in `curl ... | sh`, `bash $x` and `eval \"ls $x\"`",
        "it may run anything",
        RuleCheck::Programs("unknown-code"))
        .hint("write the code out, or save it to a file, read it and run that"),
    row(Ask, "git commands that do not come with git, and `git -c alias...`",
        "an alias can run any program",
        RuleCheck::Command(checks::is_unknown_to_git))
        .hint("write the command out"),
    row(Ask, "creating or changing a file named `HEAD`, which makes a directory a git repository",
        "git runs programs that a repository's configuration names, wherever the repository is",
        RuleCheck::Write(|path, _| protected::heads_a_repository(path))),
    row(Ask, "scripts that cannot be read: syntax that bash or the reader does not understand, \
            nested too deeply, or more than some hundred lines of commands",
        "it is unclear what it would do",
        RuleCheck::Unreadable)
        .hint("simplify it"),
    row(Deny, "reading or changing the settings and records of `agent` itself",
        "it belongs to `agent` itself and is hidden",
        RuleCheck::Touch(|text, policy| {
            RelPath::parse(text).is_ok_and(|path| policy.is_of_a_base(&path))
        })),
    row(Ask, "changing the person's own git configuration, and files that its `core.hooksPath`, \
            `include.path` or `core.attributesFile`, or those of the repository, name",
        "git runs or obeys it the next time the person uses git",
        RuleCheck::Write(|path, policy| protected::is_in_any(path, &policy.obeyed_by_git))),
    row(Ask, "changing files that dotfiles in the home directory are links to",
        "a dotfile in the person's home directory is a link to it, so a program obeys it",
        RuleCheck::Write(|path, policy| protected::is_in_any(path, &policy.linked_from_home))),
    row(Deny, "in plan mode, every change and every command",
        "plan mode is on, so only steps that read are executed",
        RuleCheck::Every(&[StepKind::Change, StepKind::Command]))
        .hint("send a PLAN and wait for the person to approve it")
        .when(|policy| policy.approval == Approval::Plan),
    row(Ask, "with `--approval ask`, every change and every command", "because `Approval` is `ask`",
        RuleCheck::Every(&[StepKind::Change, StepKind::Command]))
        .when(|policy| policy.approval == Approval::Ask),
    row(Ask, "with `--approval edits`, every command", "because `Approval` is `edits`", EVERY_COMMAND)
        .when(|policy| policy.approval == Approval::Edits),
    row(Deny, "every command, since a sandbox is required and this machine has none",
        "the settings require a sandbox and this machine has none; `agent doctor` says what is \
            missing",
        EVERY_COMMAND).when(|policy| policy.confinement == CommandConfinement::Required),
    row(Ask, "every command, one by one, since this machine has no sandbox",
        "it would run without a sandbox, with all of the person's rights",
        EVERY_COMMAND).when(|policy| policy.confinement == CommandConfinement::Missing),
    row(Ask, "every command, one by one, since this sandbox cannot hide the records of `agent` in the \
            workspace",
        "the sandbox of this machine cannot keep commands away from the records of `agent` in the \
            workspace, which include approvals",
        EVERY_COMMAND).when(|policy| policy.confinement == CommandConfinement::RecordsExposed),
    row(Ask, "every command, since the sandbox is switched off",
        "it would run without a sandbox, with all of the person's rights",
        EVERY_COMMAND).when(|policy| policy.confinement == CommandConfinement::SwitchedOff),
    row(Allow, "commands in the sandbox", "the sandbox confines it to the workspace", EVERY_COMMAND)
        .when(|policy| {
            policy.approval == Approval::Auto && policy.confinement == CommandConfinement::Sandboxed
        }),
    row(Allow, "changing files in the workspace",
        "it stays in the workspace and can be undone",
        EVERY_CHANGE).when(|policy| matches!(policy.approval, Approval::Auto | Approval::Edits)),
    row(Allow, "reading, listing, searching, plans, messages and questions",
        "it changes nothing",
        RuleCheck::Every(&[StepKind::Reading])),
    row(Allow, "network access in commands", "the person granted it", RuleCheck::Every(&[]))
        .when(|policy| policy.has_sandbox() && policy.grants.contains(&Grant::Network)),
    row(Deny, "network access in commands, without the grant `network`",
        "the sandbox has no network",
        RuleCheck::Every(&[]))
        .when(Policy::has_sandbox).without(Grant::Network),
];
