//! Decides if the words after those of an allow rule are covered by it.
//!
//! `rg` searches, but `rg --pre` runs a program on every file. `cat` shows files, but `cat
//! /home/me/.ssh/id_rsa` shows one that is not part of the project. A rule that allows the
//! beginning of a command is not meant for these. The words after those of the rule are covered
//! only if they
//!
//! - name no path outside the workspace, and none that the workspace protects, through a link
//!   neither;
//! - have no option that makes the program run, fetch, write or obey something else;
//! - are, if they are code for the program itself (`sed`, `awk`), code that only prints.
//!
//! To allow one of these, name it in the rule.

use super::code::CodeReading;
use super::git::Git;
use super::names::{self, is_in};
use super::targets::PathEnd;
use super::wrappers::{commands_within, is_wrapper, without_wrappers};
use super::{Policy, protected};
use agent_protocol::RelPath;

/// Programs, or their subcommands as in `git-merge`, and their risky options: whole words, options
/// with one dash, which may stand in a cluster or have their value joined to them, and long options,
/// of which every prefix counts.
#[rustfmt::skip]
static RISKY: &[(&str, &str)] = &[
    ("find", "-exec -execdir -ok -okdir -delete -fprint -fprint0 -fprintf -fls -files0-from"),
    ("fd fdfind", "-x -X --exec --exec-batch"),
    ("rg", "--pre --hostname-bin"),
    ("ag bat", "--pager"),
    ("ack", "--pager --output --ackrc"),
    ("less", "-o -O -k --log-file --LOG-FILE --lesskey-file --lesskey-src --lesskey-content"),
    ("man", "-C -P -H --config-file --pager --html"),
    ("file", "-C -f --compile --files-from"),
    ("tree", "-o -R --output --fromfile"),
    ("sort", "-o --output --compress-program --files0-from"),
    ("wc du", "--files0-from"),
    ("shuf", "-o --output"),
    ("split", "--filter"),
    ("install", "--strip-program"),
    ("tar", "-I -F -P -g -T --checkpoint-action --to-command --use-compress-program --rsh-command \
        --rmt-command --info-script --new-volume-script --absolute-names --listed-incremental \
        --index-file --remove-files --volno-file --files-from"),
    ("zip", "-TT -m --unzip-command --move"),
    ("unzip", "-: -P"),
    ("rsync", "-e --rsh --rsync-path --remove-source-files --daemon --write-batch --files-from"),
    ("curl", "-o -O -J -K -T -F -d -D -c --output --output-dir --remote-name --remote-name-all \
        --config --upload-file --form --data --data-binary --data-raw --data-urlencode --json \
        --dump-header --cookie-jar --trace --trace-ascii --stderr --libcurl --etag-save --hsts \
        --alt-svc --engine -n --netrc --netrc-file --unix-socket -x --proxy --preproxy"),
    ("scp sftp", "-D -F -J -S -o"),
    ("openssl", "-config -engine -provider -writerand"),
    ("ssh-keygen", "-D -w"),
    ("gpg gpg2", "--agent-program --dirmngr-program --homedir --options --photo-viewer"),
    ("kubectl oc helm", "--kubeconfig --server"),
    ("wget", "-O -o -a -P -i -e --output-document --output-file --append-output \
        --directory-prefix --input-file --execute --config --post-file --post-data --body-file \
        --body-data --use-askpass --save-cookies --warc-file"),
    ("go", "-exec -toolexec -vettool --exec --toolexec --vettool"),
    ("go-env", "-w -u"),
    ("make gmake", "-E --eval"),
    ("cmake", "-E -P"),
    ("cargo", "-Z --config"),
    ("npm", "--script-shell --node-options"),
    ("javac", "-J -processor -Xplugin --processor-path --processor-module-path"),
    ("java", "-javaagent -agentlib -agentpath -XX"),
    ("sqlite3", "-init -cmd -A --init --cmd"),
    ("psql", "-f -o -L --file --output --log-file"),
    ("mysql mariadb", "--init-command --pager --tee"),
    ("gdb", "-ex -iex -x -ix -p --ex --iex --eval-command --init-eval-command --command \
        --init-command --pid"),
    ("lldb", "-o -O -s -S -k -K -p --one-line --source --attach-pid"),
    ("gh", "alias extension ext auth config secret ssh-key"),
    ("printf", "-v"),
    ("test [", "-v -R"),
    ("wait", "-p"),
    ("git", "-O -x run foreach --output --open-files-in-pager --no-index --exec --extcmd \
        --ext-diff --textconv --filters --upload-pack --receive-pack --template --config \
        --separate-git-dir --sendmail-cmd --tree-filter --repo --remote --strategy --unsafe-paths \
        --edit-description --output-directory --pathspec-from-file"),
    ("git-clone", "-u -c"),
    ("git-archive git-format-patch git-bugreport git-diagnose", "-o"),
    ("git-merge git-pull git-rebase", "-s"),
    ("git-difftool git-mergetool", "-t"),
];

/// Programs, and the letters of their options with a value. What follows such a letter in a cluster is
/// the value: `-XPOST` is `-X POST`. Of other programs every letter of a cluster counts.
static VALUED: &[(&str, &str)] = &[
    ("curl", "AbCcDdEeFHhKmoPQrTtUuVwXxYyz"),
    ("wget", "AaBDeIilOoPQRTtUwX"),
];

/// Programs that reach files which no word names, and the options with which they do so, or `unless`
/// and those with which they do not: they follow every link in a directory, or write what is in an
/// archive, a patch or a directory. Only a sandbox keeps them from protected files.
#[rustfmt::skip]
static REACH_UNNAMED: &[(&str, &str)] = &[
    ("grep egrep fgrep", "-R --dereference-recursive"),
    ("rg fd fdfind", "-L --follow"),
    ("ag", "-f --follow"),
    ("ack", "--follow"),
    ("find", "-L -follow"),
    ("ls du", "-L --dereference"),
    ("tree", "-l"),
    ("diff", "unless --no-dereference"),
    ("diff", "-r --recursive"),
    ("cp", "-L -r -R -a --dereference --recursive --archive"),
    ("chmod chown chgrp", "-L"),
    ("tar", "-h -x --dereference --extract --get"),
    ("zip", "-r -R --recurse-paths --recurse-patterns"),
    ("rsync", "-L -k --copy-links --copy-dirlinks --copy-unsafe-links --keep-dirlinks"),
    ("patch cpio pax bsdtar 7z 7za 7zz rsync", "unless --dry-run"),
    ("unzip", "unless -l"),
    ("ar jar", "-x --extract"),
    ("gunzip bunzip2 unxz unlzma unzstd uncompress", "unless -c -l -t --stdout --list --test"),
    ("gzip bzip2 xz lzma zstd", "-d --decompress --uncompress"),
    ("git-apply git-am", "unless --check --stat"),
    ("git-apply", "--apply"),
];

/// Programs that translate, link and pack. Each takes arguments from a file, with `@file`.
const COMPILERS: &str = "gcc g++ cc c++ cpp clang clang++ clang-cpp clang-cl gfortran gccgo gdc \
    ccache sccache distcc rustc";
const BINARY_TOOLS: &str = "ld ld.bfd ld.gold ld.lld lld gold mold as ar nm ranlib strip strings \
    objcopy objdump readelf size addr2line java javac javadoc jar";

/// How options of these programs begin that make them run or obey something else, without dashes.
const COMPILER_OPTIONS: &str = "wrapper specs plugin fplugin fpass-plugin load fmodule-mapper \
    fuse-ld ld-path gcc-toolchain gcc-install-dir iplugindir sysroot prefix config for- cc1 ccc- \
    Clink codegen=link link-arg linker= codegen-backend Zcodegen-backend";

/// Returns true if a word makes a compiler or a linker run or obey something else: another linker,
/// a plugin, or a file with arguments.
fn redirects_compiler(name: &str, word: &str) -> bool {
    // `x86_64-linux-gnu-gcc-14`
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || ".-".contains(c));
    let is_for_target = |tool: &str| {
        let target = name.strip_suffix(tool);
        target.is_some_and(|target| target.is_empty() || target.ends_with('-'))
    };
    let is_compiler = COMPILERS.split(' ').any(is_for_target);
    if !is_compiler && !BINARY_TOOLS.split(' ').any(is_for_target) {
        return false;
    }
    // `-Wl,-plugin,x.so`
    word.split(',').any(|piece| {
        let option = piece.trim_start_matches('-');
        // `rustc -C linker=x`
        let is_option = piece.len() > option.len() || option.starts_with("link");
        let begins = |listed: &str| option.starts_with(listed);
        // Linkers take the beginning of an option for the option.
        let given = option.split('=').next().unwrap_or(option);
        let is_plugin = given.len() > 1 && "plugin".starts_with(given);
        piece.starts_with('@')
            || is_compiler && piece.starts_with("-B")
            || is_option && (is_plugin || COMPILER_OPTIONS.split(' ').any(begins))
    })
}

/// The name of the program at the start of these words.
pub(super) fn name_of(words: &[String]) -> &str {
    let program = words.first().map_or("", String::as_str);
    program.rsplit('/').next().unwrap_or(program)
}

/// Returns true if a program obeys files in its working directory, which may be unprotected: a git
/// repository says which programs git runs.
pub(super) fn obeys_its_directory(command: &[String]) -> bool {
    let name = name_of(without_wrappers(command));
    name.starts_with("git-") || is_in("git gh hg jj", name)
}

/// Returns true if a program takes arguments from the output of another one.
pub(super) fn takes_unseen_arguments(command: &[String]) -> bool {
    commands_within(command).any(|inner| is_in("xargs parallel", name_of(inner)))
}

/// Returns true if a builtin changes the meaning of later words in the script, or evaluates its
/// argument. No allow rule matches it, because none says anything about the rest of the script.
pub(super) fn changes_the_shell(command: &[String]) -> bool {
    let inner = without_wrappers(command);
    let name = inner.first().map_or("", String::as_str);
    // Of `test` too: array indices are evaluated, with all substitutions in them.
    let sets = || {
        has_option(RISKY, inner, &inner[1..]) || inner[1..].iter().any(|word| stores_count(word))
    };
    is_in(names::CHANGE_THE_SHELL, name) || is_in("printf test [ wait", name) && sets()
}

/// Returns true if a format of `printf` has a conversion `%n`, which sets a variable.
fn stores_count(format: &str) -> bool {
    format
        .replace("%%", "")
        .split('%')
        .skip(1)
        .any(|conversion| {
            let is_modifier = |c: char| c.is_ascii_digit() || "#-+ '.*$hlLqjzt".contains(c);
            conversion.trim_start_matches(is_modifier).starts_with('n')
        })
}

/// The words after the first `named` ones. The first word for `tar` and the like is options, also
/// without a dash.
fn added_words(name: &str, command: &[String], named: usize) -> Vec<String> {
    let mut added = command[named.min(command.len())..].to_vec();
    if let (true, Some(options)) = (is_in("tar ar jar", name) && named <= 1, added.first_mut())
        && !options.starts_with('-')
    {
        options.insert(0, '-');
    }
    added
}

/// Returns true if a word is a command of a database's client, or SQL that runs a program or reads
/// and writes files.
fn leaves_sql(word: &str) -> bool {
    const LEAVING: &str = "load_extension readfile writefile edit( fsdir attach program pg_read \
        pg_ls lo_import lo_export load_file outfile dumpfile infile system source copy";
    let is_command = |line: &str| {
        let line = line.trim_start();
        line.starts_with('.') && !line.starts_with("./") && !line.starts_with("../")
    };
    let lower = word.to_ascii_lowercase();
    // In `select payload` these are no words of their own.
    let mut words = lower.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.any(|word| is_in("load vacuum", word))
        || word.lines().any(is_command)
        || word.contains('\\')
        || LEAVING.split_whitespace().any(|name| lower.contains(name))
}

/// Returns true if the words after the first `named` ones make the program do something else than
/// those say, or name a path outside the workspace. The command runs in one of the directories.
pub(super) fn goes_beyond(
    command: &[String],
    named: usize,
    policy: &Policy,
    directories: &[String],
) -> bool {
    let inner = without_wrappers(command);
    let begins = command.len() - inner.len();
    // The program that does the work must be named.
    if named <= begins || does_something_else(command, named) {
        return true;
    }
    let name = name_of(inner);
    let added = added_words(name, inner, named - begins);
    if !policy.has_sandbox() && has_option(REACH_UNNAMED, inner, &added) {
        return true;
    }
    let code = CodeReading::of(name, inner).map_or_else(Vec::new, |reading| reading.code);
    let mut added = (0..inner.len()).skip(named - begins);
    added.any(|at| !code.contains(&at) && leads_out(name, &inner[at], policy, directories))
}

/// Returns true if the words after the first `named` ones make a program run, fetch, write or obey
/// something that those do not mention.
pub(super) fn does_something_else(command: &[String], named: usize) -> bool {
    let inner = without_wrappers(command);
    let name = name_of(inner);
    let named = named.saturating_sub(command.len() - inner.len());
    let added = &added_words(name, inner, named);
    has_option(RISKY, inner, added)
        || added.iter().any(|word| redirects_compiler(name, word))
        || CodeReading::of(name, inner).is_some_and(|reading| reading.does_more(inner, named))
        || match name {
            "git" => redirects_git(inner, named),
            // `host:file` is on another machine.
            "tar" => added.iter().any(|word| word.contains(':')),
            "curl" => added.iter().any(|word| word.contains("%output{")),
            "sqlite3" | "psql" | "mysql" | "mariadb" => added.iter().any(|word| leaves_sql(word)),
            // A wrapper without a command, as in `env -S...`.
            _ => is_wrapper(name) && !added.is_empty(),
        }
}

/// Returns true if these words of a command have an option that the table lists for its program.
fn has_option(table: &[(&str, &str)], command: &[String], words: &[String]) -> bool {
    let name = name_of(command);
    let git = Git::of(command.get(1..).unwrap_or_default()).filter(|_| name == "git");
    let first = command.get(1).map_or("", String::as_str);
    let subcommand = format!("{name}-{}", git.map_or(first, |git| git.subcommand));
    let is_meant = |programs: &str| is_in(programs, name) || is_in(programs, &subcommand);
    let mut rows = table.iter().filter(|(programs, _)| is_meant(programs));
    rows.any(|(_, options)| match options.strip_prefix("unless ") {
        Some(others) => !words.is_empty() && !words.iter().any(|word| is_in(others, word)),
        None => words.iter().any(|word| is_risky(name, options, word)),
    })
}

fn is_risky(name: &str, options: &str, word: &str) -> bool {
    let given = word.split('=').next().unwrap_or(word);
    let is_cluster = word.starts_with('-') && !word.starts_with("--");
    let valued = VALUED.iter().find(|(programs, _)| is_in(programs, name));
    let is_valued = |letter: char| valued.is_some_and(|(_, letters)| letters.contains(letter));
    let ends = word.find(is_valued).map_or(word.len(), |at| at + 1);
    let word = if is_cluster { &word[..ends] } else { word };
    options.split(' ').any(|option| match option.as_bytes() {
        [b'-', b'-', ..] => given.len() > 2 && option.starts_with(given),
        [b'-', _, ..] => is_cluster && word[1..].contains(&option[1..]),
        _ => option == given,
    })
}

/// Returns true if a git command uses another repository, configuration or machine, or has a
/// subcommand that a rule without one does not cover.
fn redirects_git(command: &[String], named: usize) -> bool {
    let redirects = |word: &String| !is_in("--no-pager --version", word);
    let Some(git) = Git::of(&command[1..]) else {
        return command[named.min(command.len())..].iter().any(redirects);
    };
    let at = command.len() - git.arguments.len() - 1;
    let lists = [names::GIT_LOOKS, names::GIT_WORK, names::GIT_UNNAMED];
    let is_covered = lists.iter().any(|list| is_in(list, git.subcommand));
    if command[named.clamp(1, at.max(1))..at].iter().any(redirects) || at >= named && !is_covered {
        return true;
    }
    let added = &command[named.max(at + 1).min(command.len())..];
    let is_option = |word: &&String| word.starts_with('-');
    // An `ext::` address runs a program.
    added.iter().any(|word| word.contains("::"))
        || match git.subcommand {
            "push" | "fetch" | "pull" | "ls-remote" => {
                // The remote is the first word, or anywhere among options and their values.
                let remotes = if added.iter().any(|word| is_option(&word)) {
                    added.len()
                } else {
                    1
                };
                let is_whole = added.len() == git.arguments.len();
                added
                    .iter()
                    .any(|word| word.contains("://") || word.contains('@'))
                    || is_whole && added.iter().take(remotes).any(|word| word.contains(':'))
            }
            // `git config user.name`, `git config --get x.y`, `git config --list`
            "config" => {
                let reads = "--get --get-all --get-regexp --list -l";
                let keys = || git.operands().filter(|word| !is_in("get list", word));
                let only_reads = keys().count() <= 1 && keys().all(|key| key.contains('.'));
                let mut options = added.iter().filter(is_option);
                !added.is_empty() && (!only_reads || options.any(|word| !is_in(reads, word)))
            }
            _ => false,
        }
}

/// Returns true if a word, or a value in it, is a path outside the workspace or a protected one.
fn leads_out(program: &str, word: &str, policy: &Policy, directories: &[String]) -> bool {
    // Longer clusters of options are nothing that a rule was written for.
    const LONGEST_CLUSTER: usize = 32;
    let only_reads = program == "git" || is_in(names::LOOKERS, program);
    let is_closed = |path: &RelPath| {
        protected::names_our_state(path.as_str())
            || policy.is_of_a_base(path)
            || !only_reads && policy.protects(path)
    };
    let leads = |piece: &str, directory: &String| {
        let named = policy.places.relative(directory, piece);
        match policy.places.end_of(directory, piece, policy.has_sandbox()) {
            PathEnd::Outside => true,
            PathEnd::Inside(real) => named.iter().chain(&real).any(is_closed),
        }
    };
    // The value of an option may begin behind any letter of a word such as `-xfvalue`.
    let cluster = word.strip_prefix('-').unwrap_or_default();
    let letters = cluster.find(['/', '.', '-']).unwrap_or(cluster.len());
    let starts = cluster.char_indices().map(|(at, _)| at);
    let starts = starts.skip(usize::from(letters > 0));
    let joined = starts
        .take_while(|at| *at <= letters)
        .map(|at| &cluster[at..]);
    // In an address, what is behind `//` is no path.
    let is_address = |piece: &&str| piece.starts_with("//") && piece.len() < word.len();
    let is_local = word.starts_with("file:");
    let pieces = word.split(['=', ':', ',', '@']);
    let pieces = pieces.filter(|piece| is_local || !is_address(piece));
    let mut paths = pieces.chain([word]).chain(joined);
    letters > LONGEST_CLUSTER
        || paths.any(|piece| directories.iter().any(|directory| leads(piece, directory)))
}
