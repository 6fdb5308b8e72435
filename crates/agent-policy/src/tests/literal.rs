//! The line between what is read and what is asked about: literal words are judged, everything
//! that only the running shell knows is asked about where it matters.

use super::*;

#[test]
fn what_is_not_literal_is_asked_about() {
    cases(
        &policy(),
        Decision::Ask,
        &[
            "printf '%s' 'rm -rf /' | bash",
            "tee >(sh) <<< reboot",
            "printf '/\\n' | xargs rm -rf",
            "echo sudo ls | xargs -I{} sh -c '{}'",
            "printf '%s' 'sudo ls' | sh",
            "printf '%s %s' sudo ls | sh",
            "printf -- '\\x73udo ls' | sh",
            "printf 'sudo ls\\n' | bash",
            "echo -e '\\x73udo ls' | sh",
            "echo '\\163udo ls' | sh",
            ". <(printf 'sudo ls')",
            "/bin/[r]m -rf /",
            "/sbin/reboo[t]",
            "ls | tee >(sh)",
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

#[test]
fn a_file_that_is_opened_for_reading_and_writing_is_judged_like_one_that_is_written() {
    let allowed = [
        "exec 3<>file",
        "exec 3<> \"$x\"; read -r line <&3",
        "cat <>file",
        "echo '<>' \"<>\" \\<\\> '1 <> 2'",
        "cat > x.html <<'EOF'\n<>a</>\nEOF",
    ];
    cases(&policy(), Decision::Allow, &allowed);
    let refused = [
        "exec 3<>/dev/sda",
        "exec 3<>file; sudo ls",
        "<>file sudo ls",
        "rm <>file -rf /",
        "echo \\<>x; sudo ls",
        "bash <>x -c 'sudo ls'",
    ];
    cases(&policy(), Decision::Deny, &refused);
    cases(
        &policy(),
        Decision::Ask,
        &["cat <>>x", "cat <<>x", "cat <>"],
    );
}

/// Text where the grammar and bash disagree about what is run.
#[test]
fn what_bash_reads_otherwise_than_the_grammar_is_not_allowed() {
    for script in [
        "cat <<E\"O\"F\nx\nEOF\nsudo ls\nE\"O\"F\n",
        "cat <<EOF\n EOF\n: <<'Q'\nEOF\nsudo ls\nQ\n",
        "cat <<EOF;\nx\nEOF\nsudo ls\nEOF;\n",
        "cat <<EOF\nEOFX\n: <<'Q'\nEOF\nsudo ls\nQ\n",
        "echo \\ # ; sudo ls",
        "echo \\ #; sudo ls",
        "cat <<EOF\n`sudo ls`\nEOF",
        "ls > x; rm > x -rf /",
        "rm 2>/dev/null -rf /",
        "ls && rm > x -rf /",
        "rm <<E -rf /\nE\n",
        "echo x | sh <<E\nsudo ls\nE\n",
        "ls && echo x | sh <<E\nsudo ls\nE\n",
        "[[ x =~ $(sudo ls) ]]",
        "echo ${x#$(sudo ls)}",
        "echo ${x/$(sudo ls)/y}",
        "case x in $(sudo ls)) ls;; esac",
        "a[$(sudo ls)]=1",
        "echo $((a[$(sudo ls)]))",
        "coproc sudo ls",
        "select x in a; do sudo ls; done",
        "for ((i=0; i<$(sudo ls); i++)); do ls; done",
        "x=(a $(sudo ls))",
        "echo \"${x:-`sudo ls`}\"",
        "echo \"a\nb $(sudo ls)\"",
        "/usr/bin/su*o ls",
        "ls\n\\sudo ls",
        "ls a\n\\sudo ls",
        "echo `ls``sudo ls`",
        "echo `ls` `sudo ls`",
        "echo $'a\\\\'; sudo ls; echo 'b'",
        "echo $'a\\\\'; sudo ls; echo $'b'",
        "\\s\\u\\d\\o ls",
        "r\\\nm -rf ./*",
        "r\\\n\\\n\\\n\\\n\\\n\\\nm -rf ./*",
        "re\\\nboot",
        "mk\\\nfs /dev/sda",
        "s\\\nudo ls",
        "dd if=x of=/de\\\nv/sda",
        "bash -c 're\\\nboot'",
        "bash -c \"re\\\nboot\"",
        "echo $(re\\\nboot) `ls`",
        "echo `re\\\nboot`",
        "bash <<EOF\nre\\\nboot\nEOF",
        "bash <<'EOF'\nre\\\nboot\nEOF",
        "# x\\\nre\\\nboot",
        "x\\\n# x\\\ny\nre\\\nboot",
        "cat <<'EOF'\nx\\\nEOF\nre\\\nboot",
        "cat <<EOF\nx\\\nEOF\n'\nEOF\nre\\\nboot",
        "cat <<EOF\nE\\\nOF\nsudo ls\nEOF",
        "cat <<EOF\nx\\\nEOF\nsudo ls\nEOF",
        "echo '\\\n'; re\\\nboot",
        "ls |& sudo tee x",
        "until sudo ls; do ls; done",
        "if ! sudo ls; then ls; fi",
        "{ ls; } 2>&1 | sudo tee x",
        "time -f x -- sudo ls",
        "exec 3<>/dev/sda",
        "cat x >| /dev/sda",
        "cat x &> /dev/sda",
        "cat x >> /dev/sda",
    ] {
        let ruling = policy().rule_on(&run(script));
        assert_ne!(ruling.decision, Decision::Allow, "{script:?}");
    }
}

#[test]
fn operands_that_only_the_shell_knows_are_asked_about() {
    cases(
        &policy(),
        Decision::Ask,
        &[
            "rm -rf build/$x",
            "rm -rf /tmp/$x",
            "rm -r -- \"$x\"",
            "F=-rf; rm $F /",
            "rm \"$x\" ~",
            "rm $x ..",
            "rm $x *",
            "dd if=x of=$y",
            "dd $x",
            "dd if=x of=/tmp/$y",
            "chmod -R 777 \"$x\"",
            "chown -R me $x/y",
            "find \"$x\" -delete",
            "find $x -exec rm {} +",
            "echo x | xargs -I{} rm -rf $y{}",
            "bash -c \"rm -rf '$x'\"",
            "eval \"rm -rf $x\"",
        ],
    );
    cases(
        &policy(),
        Decision::Allow,
        &[
            "rm \"$x\"",
            "rm -f \"$x\" a.o *.o /tmp/y",
            "dd if=$x of=disk.img",
            "chmod -R \"$mode\" src",
            "chown -R \"$USER\" .",
            "find . -name \"$x\"",
            "find build -name \"$x\" -delete",
            "\"$venv\"/bin/python x.py",
            "git show HEAD@{1}",
            "mkdir -p src/{a,b}",
            "cat > x.md <<EOF\n$x uses \\`ls\\` and \\$(ls)\nEOF",
            "cat > x.md <<'EOF'\nuse `sudo` and $(sudo)\nEOF",
            "cat > x.md <<EOF\nas of `date`\nand $(date)\nEOF",
            "echo \\`x\\`",
            "echo a\\ b c\\ # d",
            "echo $'it\\'s' $'a\\\\'",
            "ls \\\n  -la \\\n  x",
            "ls `git ls-files`",
            "echo a # b\n# c\nls;# d",
            "# uses `ls` and $(ls)\nls # `ls`",
            "grep=${GREP:-grep -E}",
            "echo ${x:+a b} \"${0##*/}: $x\" >&2",
            "cat <<EOF\nas of `date`\nEOF",
            "cat <<EOF\n$x as of `date`\nEOF",
        ],
    );
}

/// The value of a variable may be an option, or end one command and begin another.
#[test]
fn code_that_only_the_shell_knows_is_asked_about() {
    cases(
        &policy(),
        Decision::Ask,
        &[
            "X='-c reboot'; bash $X",
            "X='-c reboot'; sh -e $X",
            "X='-c reboot'; zsh $X x.sh",
            "X='-c reboot'; env dash $X",
            "X='-c reboot'; nice ksh \"$@\"",
            "A=-c; B=reboot; bash \"$A\" \"$B\"",
            "X='-c reboot'; bash $X -c ls",
            "X='; reboot'; bash -c \"echo $X\"",
            "X='; reboot'; eval \"echo $X\"",
            "X='; reboot'; eval echo $X",
            "X='; reboot'; sh <<< \"echo $X\"",
            "X='; reboot'; sh <<EOF\necho $X\nEOF",
            "X='; reboot'; cat <<EOF | sh\necho $X\nEOF",
            "X='; reboot'; bash <(echo \"echo $X\")",
            "X='echo reboot'; bash <<EOF\n$($X)\nEOF",
            "X='; reboot'; ssh host <<EOF\nls $X\nEOF",
            "ls | xargs -I{} sh -c 'echo {}'",
            "X='5 reboot'; timeout $X",
            "X='reboot'; env -S\"$X\"",
            "X='reboot'; env --split-string=\"$X now\"",
            "X='-n1 reboot'; xargs $X < list",
            "X=reboot; xargs $X < list",
            "X=reboot; nohup $X",
            "X='-n 1 reboot'; nice $X",
        ],
    );
    cases(
        &policy(),
        Decision::Allow,
        &[
            "bash run.sh \"$x\"",
            "bash -x run.sh $x",
            "bash -c 'echo \"$1\"' _ \"$x\"",
            "bash -c 'echo $x'",
            "bash \"$dir/run.sh\" \"$x\"",
            "bash \"$(pwd)/run.sh\"",
            "bash -euo pipefail run.sh",
            "sh <<'EOF'\necho $x\nEOF",
            "bash <<EOF\necho \\$x \\`date\\`\nEOF",
            "source \"$x\"",
            ". \"$venv/bin/activate\"",
            "trap \"rm -f $tmp\" EXIT",
            "command -v \"$tool\"",
            "timeout \"$seconds\" cargo test",
            "nice -n \"$n\" make",
            "env X=\"$x\" cargo test",
            "find . -name '*.sh' -exec bash -n {} +",
            "eval 'echo $x'",
        ],
    );
    case(&policy(), "X=ls; bash -c \"sudo $X\"", Decision::Deny);
    case(&policy(), "sh <<EOF\necho $x\nsudo ls\nEOF", Decision::Deny);
}

#[test]
fn a_redirected_command_has_its_own_words_once() {
    let mut policy = policy();
    policy.person.deny = rules(&["= zz a"]);
    let all = ["zz a", "zz a > b", "zz a 2>&1", "zz a < b > c", "zz > b a"];
    cases(&policy, Decision::Deny, &all);
    cases(&policy, Decision::Allow, &["zz a a > b", "zz > a"]);
}
