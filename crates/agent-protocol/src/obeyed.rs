//! Names in a workspace that programs of the person or of a build service obey.
//!
//! One list for the rules on file commands and for the sandbox of the others.

/// What tells editors and shells what to run when the person opens the project.
pub const TOOL_CONFIGURATION: [&str; 4] = [".vscode", ".idea", ".envrc", ".mcp.json"];

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
