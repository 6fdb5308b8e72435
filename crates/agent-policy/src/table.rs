//! The built-in rules, each with the text that `agent policy` prints and the check that applies it.
//!
//! To add a rule, add a row here. The checks, the explanations and the printed table all use these
//! rows.

use super::reading::Invocation;
use super::{Decision, Grant, KnownDirectories, Policy, Strictness, checks, protected, shell};
use agent_protocol::RelPath;

/// One built-in rule.
pub(super) struct BuiltIn {
    pub decision: Decision,
    pub holds: Holds,
    /// The rule as `agent policy` prints it.
    pub rule: &'static str,
    /// The reason, for the person and the model.
    pub why: &'static str,
    pub check: RuleCheck,
}

/// When a built-in rule is in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holds {
    Always,
    /// Only under the strict policy.
    Strict,
    /// Only while the person has not granted this.
    Without(Grant),
}

/// The subject that a built-in rule checks.
#[derive(Clone, Copy)]
pub(super) enum RuleCheck {
    /// The text of a script.
    Text(fn(&str) -> bool),
    /// A program that a script seems to start, as patterns of `checks`.
    Programs(&'static [&'static str]),
    /// A program that a script seems to start.
    Command(fn(&Invocation, &KnownDirectories) -> bool),
    /// A script that could not be examined completely.
    Unreadable,
    /// A path that a step would change.
    Write(fn(&RelPath) -> bool),
    /// A path or glob that a step would read or change.
    Touch(fn(&str) -> bool),
}

impl BuiltIn {
    pub(super) fn is_in_force(&self, policy: &Policy) -> bool {
        match self.holds {
            Holds::Always => true,
            Holds::Strict => policy.strictness == Strictness::Strict,
            Holds::Without(grant) => !policy.grants.contains(&grant),
        }
    }

    /// The grant that would lift the rule.
    pub(super) fn needs(&self) -> Option<Grant> {
        match self.holds {
            Holds::Without(grant) => Some(grant),
            Holds::Always | Holds::Strict => None,
        }
    }
}

const fn row(
    decision: Decision,
    holds: Holds,
    (rule, why): (&'static str, &'static str),
    check: RuleCheck,
) -> BuiltIn {
    BuiltIn {
        decision,
        holds,
        rule,
        why,
        check,
    }
}

const fn refuse(rule: &'static str, why: &'static str, check: RuleCheck) -> BuiltIn {
    row(Decision::Deny, Holds::Always, (rule, why), check)
}

const fn refuse_strictly(rule: &'static str, why: &'static str, check: RuleCheck) -> BuiltIn {
    row(Decision::Deny, Holds::Strict, (rule, why), check)
}

const fn ask(rule: &'static str, why: &'static str, check: RuleCheck) -> BuiltIn {
    row(Decision::Ask, Holds::Always, (rule, why), check)
}

/// Returns true if the script is longer than the examined maximum.
fn is_too_long(script: &str) -> bool {
    script.len() > shell::MAX_BYTES
}

#[rustfmt::skip]
const WIPES_DISKS: &[&str] = &[
    "mkfs", "mkfs.*", "mke2fs", "mkntfs", "mkdosfs", "mkexfatfs", "mkswap", "pvcreate", "wipefs",
    "blkdiscard", "format-volume", "clear-disk", "initialize-disk", "cryptsetup luksFormat",
    "cfdisk", "fdisk !-l !--list !-V !--version !--help",
    "sfdisk !-l !--list !-d !--dump !-V !--version !--help", "gdisk !-l",
    "sgdisk !-p !--print !-V !--version !--help", "parted !-l !--list !print !--version !--help",
];

#[rustfmt::skip]
const SHUTS_DOWN: &[&str] = &[
    "shutdown", "reboot", "halt", "poweroff", "telinit", "stop-computer", "restart-computer",
    "init 0", "init 6", "systemctl poweroff", "systemctl reboot", "systemctl halt",
    "systemctl kexec", "systemctl suspend", "systemctl hibernate", "systemctl rescue",
    "systemctl emergency", "loginctl poweroff", "loginctl reboot", "loginctl halt",
    "loginctl suspend", "loginctl hibernate",
];

#[rustfmt::skip]
const OTHER_USERS: &[&str] = &[
    "sudo", "su", "doas", "pkexec", "run0", "runuser", "sudoedit", "runas", "gsudo", "machinectl",
    "start-process runas", "saps runas", "start runas",
];

#[rustfmt::skip]
const FETCHES: &[&str] = &[
    "curl", "wget", "wget2", "aria2c", "axel", "xh", "http", "https", "lynx", "w3m", "lwp-request",
    "lwp-download", "ftp", "lftp", "invoke-webrequest", "iwr", "invoke-restmethod", "irm",
    "start-bitstransfer", "bitsadmin", "certutil -urlcache",
];

#[rustfmt::skip]
const ADMINISTERS_USERS: &[&str] = &[
    "useradd", "usermod", "userdel", "adduser", "deluser", "addgroup", "delgroup", "groupadd",
    "groupmod", "groupdel", "passwd", "chpasswd", "gpasswd", "chsh", "chage", "visudo", "vipw",
    "newusers", "sysadminctl", "dscl", "new-localuser", "set-localuser", "remove-localuser",
    "add-localgroupmember", "net user", "net localgroup", "net accounts", "net1 user",
    "net1 localgroup", "net1 accounts",
];

#[rustfmt::skip]
const PUSHES: &[&str] = &[
    "git push", "git send-pack", "git send-email", "git subtree push", "git lfs push",
];

#[rustfmt::skip]
const PUBLISHES: &[&str] = &[
    "cargo publish", "cargo yank", "cargo owner", "npm publish", "npm unpublish", "npm deprecate",
    "pnpm publish", "pnpm unpublish", "yarn publish", "bun publish", "twine upload",
    "poetry publish", "uv publish", "hatch publish", "flit publish", "pdm publish", "gem push",
    "gem yank", "mvn deploy", "mvn deploy:deploy", "mvn release:perform", "gradle publish",
    "gradle uploadArchives", "gradlew publish", "gradlew uploadArchives", "docker push",
    "podman push", "helm push", "nuget push", "dotnet push", "gh create", "gh merge", "gh delete",
    "gh edit", "gh close", "gh comment", "gh upload", "gh review", "gh fork", "gh sync",
    "vsce publish", "jsr publish", "deno publish", "python* twine upload",
    "python* poetry publish", "python* flit publish",
];

#[rustfmt::skip]
const EVADES: &[&str] = &[
    "iex", "invoke-expression", "set-executionpolicy", "reg", "regedit", "powershell -encodedcommand",
    "pwsh -encodedcommand", "powershell -ec", "pwsh -ec",
];

/// Every built-in rule, the refusals first.
pub(super) static BUILT_IN: &[BuiltIn] = &[
    refuse(
        "scripts of more than 32 KiB",
        "the script is too long to check; write it to a file with CREATE_FILE and run that",
        RuleCheck::Text(is_too_long),
    ),
    refuse(
        "scripts with NUL or other control characters",
        "a control character can hide what a script does; write it as an escape such as `\\x1b`",
        RuleCheck::Text(checks::has_control_characters),
    ),
    refuse(
        "scripts with characters that change the direction of text",
        "such a character makes a script look different from what it does; leave it out",
        RuleCheck::Text(checks::has_bidirectional_characters),
    ),
    refuse(
        "fork bombs",
        "it starts copies of itself until the machine hangs",
        RuleCheck::Programs(&["&"]),
    ),
    refuse(
        "`rm -r` of `/`, a system directory, a home directory, the workspace itself or a directory above it",
        "it would remove everything; name the files or directories to remove",
        RuleCheck::Command(checks::removes_everything),
    ),
    refuse(
        "`find` with `-delete` or `rm` over `/`, a home directory, all of the workspace or a directory above it",
        "it would remove everything; start at a directory in the workspace and name the files to remove",
        RuleCheck::Command(checks::finds_and_removes_everything),
    ),
    refuse(
        "`chmod -R`, `chown -R` and `chgrp -R` of `/`, a system directory, a home directory or a directory above the workspace",
        "it would change far more than the workspace",
        RuleCheck::Command(checks::changes_modes_of_everything),
    ),
    refuse(
        "`mkfs`, `mkswap`, `wipefs`, `fdisk` and similar",
        "it would wipe a disk",
        RuleCheck::Programs(WIPES_DISKS),
    ),
    refuse(
        "writing to a device, as with `dd of=/dev/...`",
        "it would overwrite a disk or another device",
        RuleCheck::Command(checks::writes_to_a_device),
    ),
    refuse(
        "`shutdown`, `reboot`, `halt`, `poweroff`",
        "commands must not switch the machine off",
        RuleCheck::Programs(SHUTS_DOWN),
    ),
    refuse(
        "`sudo`, `su`, `doas`, `Start-Process -Verb RunAs` and similar",
        "commands must not run as another user; ask the person to run this",
        RuleCheck::Programs(OTHER_USERS),
    ),
    refuse_strictly(
        "every `rm -rf`",
        "the strict policy is on; remove files with DELETE_FILE or `rm` without `-f`",
        RuleCheck::Command(checks::removes_by_force),
    ),
    refuse_strictly(
        "`del /s`, `rd /s`, `Remove-Item -Recurse`",
        "the strict policy is on; remove files one by one",
        RuleCheck::Programs(checks::REMOVES_TREES_ON_WINDOWS),
    ),
    refuse_strictly(
        "`format`, `diskpart`",
        "the strict policy is on",
        RuleCheck::Programs(&["format", "format.com", "diskpart"]),
    ),
    refuse_strictly(
        "`curl`, `wget`, `Invoke-WebRequest`",
        "the strict policy is on; ask the person to download what you need",
        RuleCheck::Programs(FETCHES),
    ),
    refuse_strictly(
        "`Invoke-Expression`, `Set-ExecutionPolicy`, `reg` and encoded commands of PowerShell",
        "the strict policy is on; write the command out",
        RuleCheck::Programs(EVADES),
    ),
    refuse_strictly(
        "reading the environment: `env`, `printenv`, `set`, `export -p`, `/proc/*/environ`, `Env:`",
        "the strict policy is on; ask the person for the value you need",
        RuleCheck::Command(checks::reads_the_environment),
    ),
    refuse_strictly(
        "user administration: `useradd`, `passwd`, `net user` and similar",
        "the strict policy is on",
        RuleCheck::Programs(ADMINISTERS_USERS),
    ),
    refuse(
        "reading or changing anything under `.agent`",
        "`agent` keeps its own records there; they are hidden",
        RuleCheck::Touch(protected::names_our_state),
    ),
    refuse(
        "changing hooks, configuration or anything else in `.git` that the grant `git-write` does not open",
        "git would run or obey it; ask the person to change it",
        RuleCheck::Write(protected::is_in_closed_git),
    ),
    BuiltIn {
        decision: Decision::Deny,
        holds: Holds::Without(Grant::GitWrite),
        rule: "changing anything in `.git` without the grant `git-write`",
        why: "`.git` is read-only; the person can allow it with `--grant git-write`",
        check: RuleCheck::Write(protected::is_in_git),
    },
    ask(
        "changing `.vscode`, `.idea`, `.envrc` or `.mcp.json`",
        "editors and tools run commands from these files when the person opens the project",
        RuleCheck::Write(protected::is_tool_configuration),
    ),
    ask(
        "changing `.claude`, `.cursor`, `.codex`, `.gemini`, `.devcontainer`, `.zed`, `*.code-workspace`, `.nvim.lua`, `.gitmodules`, `.pre-commit-config.yaml`, shell start files and similar",
        "other tools of the person run or obey these files",
        RuleCheck::Write(protected::is_other_configuration),
    ),
    ask(
        "changing workflow files of build services, such as `.github/workflows` and `.gitlab-ci.yml`",
        "the build service runs these files with the project's secrets",
        RuleCheck::Write(protected::is_build_service_file),
    ),
    BuiltIn {
        decision: Decision::Ask,
        holds: Holds::Without(Grant::GitWrite),
        rule: "git commands that write to `.git`, such as `git add` and `git commit`, without the grant `git-write`",
        why: "`.git` is read-only; the person can allow it with `--grant git-write`",
        check: RuleCheck::Command(checks::writes_to_git),
    },
    ask(
        "`git push`",
        "it sends commits to others",
        RuleCheck::Programs(PUSHES),
    ),
    ask(
        "discarding work: `git clean -f`, `git reset --hard`, `git checkout .`, `git branch -D`, `git stash drop`, `rm -r .git`",
        "discarded work may be lost for good",
        RuleCheck::Command(checks::discards_work),
    ),
    ask(
        "publishing: `cargo publish`, `npm publish`, `twine upload`, `docker push`, `gh release` and similar",
        "publishing cannot be undone",
        RuleCheck::Programs(PUBLISHES),
    ),
    ask(
        "`rm -r` outside the workspace and the temporary directories",
        "it would remove files that do not belong to the workspace",
        RuleCheck::Command(checks::removes_outside),
    ),
    ask(
        "`rm -r`, `find -delete`, `chmod -R` or `dd` of a path that only the shell knows, as in `rm -r \"$x\"`",
        "the path may be anything, or empty; write it out",
        RuleCheck::Command(checks::reaches_the_unknown),
    ),
    ask(
        "programs whose name only the shell knows, as in `$x --flag`",
        "it may be any program; write its name out",
        RuleCheck::Command(checks::is_unknown_program),
    ),
    ask(
        "piping the output of a program into a shell or an interpreter, as in `curl ... | sh`",
        "it may run anything; save the output to a file, read it and run that",
        RuleCheck::Programs(&["|"]),
    ),
    ask(
        "git commands that do not come with git, and `git -c alias...`",
        "an alias can run any program; write the command out",
        RuleCheck::Command(checks::is_unknown_to_git),
    ),
    ask(
        "creating or changing a file named `HEAD`, which makes a directory a git repository",
        "git runs programs that a repository's configuration names, wherever the repository is",
        RuleCheck::Write(protected::heads_a_repository),
    ),
    ask(
        "scripts that cannot be read: syntax that bash or the reader does not understand, nested too deeply",
        "it is unclear what it would do; simplify it",
        RuleCheck::Unreadable,
    ),
];
