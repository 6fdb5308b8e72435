//! Names in a workspace that the person's own programs or a build service obey.
//!
//! The rules on file commands and the sandbox share these lists.

/// Configuration that makes editors and shells run something when the person opens the project.
pub const TOOL_CONFIGURATION: [&str; 4] = [".vscode", ".idea", ".envrc", ".mcp.json"];

/// Configuration that the person's other tools run or obey when the person opens the project, enters
/// the directory or uses git there. Commands may change it, because projects do; file steps ask, and
/// the person is told.
pub const OTHER_CONFIGURATION: [&str; 33] = [
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
    "hgrc",
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

/// Endings of the names of such configuration files.
pub const OTHER_CONFIGURATION_ENDS: [&str; 1] = [".code-workspace"];

/// Configuration that makes a build service run something, with the project's secrets.
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
