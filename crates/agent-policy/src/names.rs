//! Programs by name: how they treat their arguments, their input and the project.
//!
//! A list is a string of names with blanks between.

/// Returns true if a list has this name.
pub(super) fn is_in(list: &str, name: &str) -> bool {
    let mut names = list.as_bytes().split(|byte| *byte == b' ');
    names.any(|one| one == name.as_bytes())
}

/// Programs that run bash code from their arguments or their input.
pub(super) const SHELLS: &str = "sh bash dash zsh ksh mksh ash fish source .";

/// The shells of Windows.
pub(super) const WINDOWS_SHELLS: &str = "cmd powershell pwsh";

const INTERPRETERS: &str = "python pypy node deno perl ruby php lua tclsh osascript";

/// Returns true if a program runs code in a language of its own.
pub(super) fn is_interpreter(name: &str) -> bool {
    let is_version = |c: char| c.is_ascii_digit() || c == '.';
    is_in(INTERPRETERS, name.trim_end_matches(is_version))
}

/// Returns true if a program runs code from its arguments or its input, in any language.
pub(super) fn runs_code(name: &str) -> bool {
    is_in(SHELLS, name) || is_in(WINDOWS_SHELLS, name) || is_interpreter(name)
}

/// Programs that take scripts as arguments.
pub(super) const RUN_STRINGS: &str = "script tmux screen xterm hyperfine concurrently nodemon entr nix-shell nix \
    complete mapfile readarray rsync tar";

const TELLING: &str =
    "rm sudo doas pkexec run0 runuser sudoedit gsudo mkfs mke2fs wipefs blkdiscard";

/// Returns true if the name among the arguments of an unknown program means that it is started.
pub(super) fn is_telling(name: &str) -> bool {
    name.starts_with("mkfs.") || is_in(TELLING, name)
}

/// Programs that only print information, whatever their arguments.
pub(super) const LOOKERS: &str = "ls cat head tail wc grep egrep fgrep which file stat du df tree \
    basename dirname realpath readlink cut nl tac column comm cmp diff md5sum sha1sum sha256sum \
    whoami id uname nproc jq sort";

/// Other programs that run nothing and obey no file of the workspace.
pub(super) const SELF_CONTAINED: &str = "find fd fdfind rg ag sed awk gawk mawk tar mkdir rmdir \
    touch cp mv tee chmod date sleep seq tr uniq paste printf echo test true false type cd pwd ps \
    free uptime hostname od xxd hexdump strings";

/// Programs that run a target of the project, named by the word after them.
pub(super) const BUILDERS: &str = "cargo npm pnpm yarn bun go poetry hatch dotnet mvn gradle \
    gradlew make just composer mix swift rake bazel";

/// Programs that test, check or format the project, and run no other code.
pub(super) const CHECKERS: &str = "pytest unittest compileall mypy pyright ruff black isort flake8 \
    pylint tox nox jest vitest mocha eslint prettier tsc rspec rubocop phpunit ctest ninja rustfmt \
    gofmt javac shellcheck";

/// Other everyday programs that start none of their arguments, or only talk about programs.
const START_NO_ARGUMENT: &str = "less more ln join chown chgrp install yq cargo rustc rustup npm \
    pnpm yarn bun pip pip3 pytest make cmake ninja go gcc g++ cc clang mvn gradle gradlew gh curl wget zip unzip gzip kill export read local declare unset set \
    kubectl helm yum pacman ansible expr let git man whereis command nawk docker podman apt \
    apt-get brew apk dnf rm pkill killall pgrep apropos whatis tldr";

/// Returns true if a program starts none of its arguments.
pub(super) fn starts_no_argument(name: &str) -> bool {
    let lists = [LOOKERS, SELF_CONTAINED, START_NO_ARGUMENT];
    // `fd -x rm`
    lists.iter().any(|list| is_in(list, name)) && !name.starts_with("fd")
}

/// Programs for which no rule is proposed: they do too much, or anything they are told.
pub(super) const NEVER_PROPOSED: &str = "rm sudo su doas pkexec eval source . exec alias trap \
    export set unset hash enable xargs parallel ssh";

/// Builtins that do not depend on `PATH`.
pub(super) const BUILTINS: &str = "cd echo pwd true false test printf type wait exit :";

/// Builtins that change the meaning of later words in the script.
pub(super) const CHANGE_THE_SHELL: &str = ". alias bind complete compopt coproc declare enable \
    eval exec export fc getopts hash let local mapfile read readarray readonly set shopt source \
    trap typeset ulimit umask unalias unset";

/// Subcommands of git that run no hooks; a project may bring its own hooks.
pub(super) const GIT_LOOKS: &str = "blame branch describe diff grep log ls-files rev-list \
    rev-parse shortlog show status tag";

/// Other subcommands of git that do the same thing whatever follows, except for risky options.
pub(super) const GIT_WORK: &str =
    "add checkout cherry-pick commit fetch merge mv pull push restore revert stash switch";

/// Other subcommands of git that a rule without a subcommand covers. The rest changes the
/// configuration, runs programs, prints credentials or sets up timers.
pub(super) const GIT_UNNAMED: &str = "apply cat-file check-ignore cherry clean count-objects \
    diff-files diff-index diff-tree for-each-ref ls-remote ls-tree merge-base name-rev notes \
    range-diff rebase reflog reset rm show-branch show-ref version whatchanged worktree";

/// Other commands that come with git.
const GIT_OTHERS: &str = "am annotate archive bisect bugreport bundle check-attr check-mailmap \
    check-ref-format checkout-index citool clone column commit-graph commit-tree config credential \
    diagnose difftool fast-export fast-import fetch-pack filter-branch filter-repo fmt-merge-msg \
    for-each-repo format-patch fsck gc get-tar-commit-id gui hash-object help hook index-pack init \
    init-db interpret-trailers lfs mailinfo mailsplit maintenance merge-file merge-index \
    merge-tree mergetool mktag mktree multi-pack-index pack-objects pack-refs patch-id prune \
    prune-packed read-tree remote repack replace replay request-pull rerere send-email send-pack \
    show-index sparse-checkout stripspace submodule subtree symbolic-ref unpack-file \
    unpack-objects update-index update-ref var verify-commit verify-pack verify-tag write-tree";

/// Returns true if a subcommand comes with git.
pub(super) fn is_of_git(subcommand: &str) -> bool {
    let lists = [GIT_LOOKS, GIT_WORK, GIT_UNNAMED, GIT_OTHERS];
    lists.iter().any(|list| is_in(list, subcommand))
}
