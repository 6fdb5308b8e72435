//! The line between what is read and what is asked about: literal words are judged, everything
//! that only the running shell knows is asked about where it matters.

use super::*;

#[test]
fn what_is_not_literal_is_asked_about() {
    cases(
        &policy(),
        Decision::Ask,
        &[
            "rm -rf {*,.*}",
            "find / -type f | xargs rm -rf",
            "find ~ -name '*.txt' | xargs -0 rm -rf",
            "bash -c 'rm -rf \"$1\"' _ /",
            "''$X; X='rm -rf /'; ''$X",
            "for d in /; do rm -rf $d; done",
            "X=/; rm -rf $X",
            "X=/; rm -rf \"${X}\"",
            "export X=/; rm -rf $X",
            "X='rm -rf /'; $X",
            "X=rm; $X -rf /",
            "rm -rf ${X:-/}",
            "rm${IFS}-rf${IFS}/",
            "{rm,-rf,/}",
            "a=(rm -rf /); \"${a[@]}\"",
            "\"$(echo sudo)\" ls",
            "$(which sudo) ls",
            "\"$(command -v sudo)\" ls",
            "`echo sudo` ls",
            "s=sudoX; ${s%X} ls",
            "s=sudoX; ${s/X/} ls",
            "s=Xsudo; ${s#X} ls",
            "s=su; s+=do; $s ls",
            "a=(sudo ls); \"${a[@]}\"",
            "a=(x sudo); ${a[1]} ls",
            "set -- sudo ls; \"$@\"",
            "set -- sudo ls; $1 ls",
            "read x <<< sudo; $x ls",
            "echo sudo | { read x; $x ls; }",
            "rm -rf $(echo /)",
            "rm -rf `echo /`",
            "rm -rf \"$(printf /)\"",
            "set -- /; rm -rf $1",
            "set -- /; rm -rf \"$@\"",
            "x=(/); rm -rf ${x[0]}",
            "x[0]=/; rm -rf ${x[0]}",
            "read x <<< /; rm -rf $x",
            "rm -rf $(dirname /x)",
            "cd \"$(dirname /x)\" && rm -rf *",
        ],
    );
}

#[test]
fn what_cannot_be_parsed_is_asked_about() {
    cases(
        &policy(),
        Decision::Ask,
        &[
            "cat <<EOF\nx\nrm -rf /",
            "((rm -rf /); ls)",
            "{fd}>/dev/null ls",
            "if true; then",
            "ls )",
            "echo \"x",
            "for x in; do",
        ],
    );
    // A refusal counts all the same.
    case(&policy(), "sudo ls; if true; then", Decision::Deny);
}

/// `docs/security.md` names these.
#[test]
fn everyday_removals_of_paths_that_only_the_shell_knows_are_asked_about() {
    cases(
        &policy(),
        Decision::Ask,
        &[
            "rm -rf \"$(mktemp -d)\"",
            "find . -name '*.pyc' | xargs rm -rf",
            "tmp=$(mktemp -d); trap 'rm -rf \"$tmp\"' EXIT",
            "find . -name __pycache__ -type d | xargs rm -rf",
            "find . -type d -name dist | while read -r d; do rm -rf \"$d\"; done",
            "for d in build dist; do rm -rf \"$d\"; done",
            "tmp=$(mktemp -d); trap 'rm -rf \"$tmp\"' EXIT; cp x \"$tmp\"",
            "tmp=$(mktemp -d) && rm -rf \"$tmp\"",
            "dir=$(cd sub && pwd); rm -rf \"$dir/build\"",
            "root=$(git rev-parse --show-toplevel); rm -rf \"$root/target\"",
        ],
    );
}

#[test]
fn code_of_other_languages_is_not_read() {
    cases(
        &policy(),
        Decision::Allow,
        &[
            "perl -e 'fork while fork'",
            "perl -e 'system(\"rm -rf /\")'",
            "python3 -c \"import os; os.system('rm -rf /')\"",
            "echo 'import os; os.system(\"sudo ls\")' | python3",
            "python3 <<'EOF'\nimport subprocess\nsubprocess.run([\"sudo\", \"ls\"])\nEOF",
            "python3 -c \"import os; os.system('sudo ls')\"",
            "python3 -c 'import subprocess as s; s.run([\"sudo\", \"ls\"])'",
            "perl -e 'exec \"sudo ls\"'",
            "perl -e '`sudo ls`'",
            "node -e 'require(\"child_process\").execSync(\"sudo ls\")'",
            "ruby -e 'system(\"sudo\", \"ls\")'",
            "awk 'BEGIN { system(\"sudo ls\") }'",
            "awk '{ print | \"sudo sh\" }' x",
        ],
    );
    cases(
        &strict(),
        Decision::Allow,
        &[
            "python3 -c 'import os; print(os.environ)'",
            "python3 - <<'EOF'\nimport os\nprint(os.environ)\nEOF",
            "awk 'BEGIN { for (k in ENVIRON) print k }'",
            "node -p process.env",
        ],
    );
}
