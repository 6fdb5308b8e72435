//! Names in a workspace that programs of the person or of a build service obey.
//!
//! One list for the rules on file commands and for the sandbox of the others.

/// What tells editors and shells what to run when the person opens the project.
pub const TOOL_CONFIGURATION: [&str; 4] = [".vscode", ".idea", ".envrc", ".mcp.json"];

/// What other tools of the person run or obey, when they open the project, enter the directory or use
/// git there. Commands may change it, because projects do; file steps ask, and the person is told.
pub const OTHER_CONFIGURATION: [&str; 32] = [
    ".claude",
    ".claude.json",
    ".cursor",
    ".codex",
    ".gemini",
    ".windsurf",
    ".aider.conf.yml",
    ".devcontainer",
    ".devcontainer.json",
    ".zed",
    ".fleet",
    ".nvim.lua",
    ".nvimrc",
    ".exrc",
    ".vimrc",
    ".dir-locals.el",
    ".gdbinit",
    ".lldbinit",
    ".gitmodules",
    ".gitconfig",
    ".pre-commit-config.yaml",
    ".pre-commit-config.yml",
    ".lefthook.yml",
    "lefthook.yml",
    ".profile",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
];

/// The ends of the names of files of that kind.
pub const OTHER_CONFIGURATION_ENDS: [&str; 1] = [".code-workspace"];

/// What tells a build service what to run, with the project's secrets.
pub const WORKFLOWS: [&str; 26] = [
    ".github/workflows",
    ".github/actions",
    ".gitea/workflows",
    ".gitea/actions",
    ".forgejo/workflows",
    ".forgejo/actions",
    ".gitlab-ci.yml",
    ".gitlab-ci.yaml",
    ".travis.yml",
    ".drone.yml",
    ".woodpecker.yml",
    ".appveyor.yml",
    "appveyor.yml",
    ".cirrus.yml",
    ".semaphore.yml",
    "azure-pipelines.yml",
    "azure-pipelines.yaml",
    "bitbucket-pipelines.yml",
    "cloudbuild.yaml",
    "cloudbuild.yml",
    "Jenkinsfile",
    ".circleci",
    ".buildkite",
    ".woodpecker",
    ".semaphore",
    ".azure-pipelines",
];
