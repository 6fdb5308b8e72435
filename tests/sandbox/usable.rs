//! The tools of people's projects work inside, with the home hidden and without a network.
//!
//! A tool that the machine lacks is not tried; a line that begins with `skipped:` says so.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use super::Place;

/// Returns true if a program can be tried; says so if not.
fn has(program: &str, arguments: &[&str]) -> bool {
    let tried = Command::new(program).args(arguments).output();
    let works = tried.is_ok_and(|output| output.status.success());
    if !works {
        let _ = writeln!(
            std::io::stderr(),
            "skipped: `{program} {}` does not work on this machine",
            arguments.join(" ")
        );
    }
    works
}

/// A project in a place of its own, in the home of the person who runs the tests: their tools are
/// there.
fn project(files: &[(&str, &str)]) -> Place {
    let mut place = files
        .iter()
        .fold(Place::new(), |place, (path, text)| place.file(path, text));
    if let Some(home) = std::env::home_dir() {
        place.confinement.home = home;
    }
    place.confinement.cache = Some(place.directory.path().join("cache"));
    fs::create_dir(place.directory.path().join("cache")).unwrap();
    place
}

#[test]
fn cargo_builds_and_tests_with_a_dependency_of_the_registry() {
    // One of our own dependencies: building the tests has put it into the registry.
    let lock = include_str!("../../Cargo.lock");
    let name = "itoa";
    let version = lock
        .split("[[package]]")
        .find(|package| package.contains(&format!("name = \"{name}\"\n")))
        .and_then(|package| package.split("version = \"").nth(1)?.split('"').next())
        .unwrap();
    if !has("cargo", &["--version"]) {
        return;
    }
    let place = project(&[
        (
            "Cargo.toml",
            &format!(
                "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[dependencies]\n{name} = \"={version}\"\n[workspace]\n"
            ),
        ),
        (
            "src/lib.rs",
            "pub fn text() -> String {\n    itoa::Buffer::new().format(42).to_owned()\n}\n#[test]\nfn works() {\n    assert_eq!(text(), \"42\");\n}\n",
        ),
    ]);
    place.works("cargo build --offline -q && cargo test --offline -q");
    // A second build finds the first.
    place.prints(
        "cargo build --offline 2>&1 | grep -c Compiling; true",
        "0\n",
    );
}

#[test]
fn python_tests_run_from_a_virtual_environment_in_the_workspace() {
    let system = "/usr/bin/python3";
    let module = ["-c", "import venv, ensurepip"];
    if !Path::new(system).exists() || !has(system, &module) {
        return;
    }
    let test = "import unittest\n\nclass Test(unittest.TestCase):\n    def test_sum(self):\n        self.assertEqual(1 + 1, 2)\n\ndef test_sum():\n    assert 1 + 1 == 2\n";
    let place = project(&[("test_small.py", test)]);
    let pytest = ["-c", "import pytest"];
    let (options, run) = if has(system, &pytest) {
        ("--system-site-packages", "pytest -q")
    } else {
        ("", "unittest -q")
    };
    place.works(&format!("{system} -m venv {options} .venv"));
    place.works(&format!(". .venv/bin/activate && python -m {run}"));
    place.works(&format!(".venv/bin/python -m {run}"));
}

#[test]
fn npm_tests_run() {
    if !has("npm", &["--version"]) {
        return;
    }
    let place = project(&[
        (
            "package.json",
            r#"{"name": "small", "version": "1.0.0", "scripts": {"test": "node test.js"}}"#,
        ),
        ("test.js", "require('assert').equal(1 + 1, 2);\n"),
    ]);
    place.works("npm test");
}

#[test]
fn go_tests_run() {
    if !has("go", &["version"]) {
        return;
    }
    let place = project(&[
        ("go.mod", "module small\n\ngo 1.18\n"),
        (
            "small_test.go",
            "package small\n\nimport \"testing\"\n\nfunc TestSum(t *testing.T) {\n\tif 1+1 != 2 {\n\t\tt.Fatal()\n\t}\n}\n",
        ),
    ]);
    place.works("go test ./...");
}

#[test]
fn maven_tests_run_offline() {
    if !has("mvn", &["--version"]) {
        return;
    }
    let pom = "<project><modelVersion>4.0.0</modelVersion><groupId>a</groupId><artifactId>small</artifactId><version>1</version><properties><maven.compiler.source>11</maven.compiler.source><maven.compiler.target>11</maven.compiler.target></properties></project>";
    let place = project(&[
        ("pom.xml", pom),
        ("src/main/java/Small.java", "class Small {}\n"),
    ]);
    place.works("mvn --version");
    // Offline it needs its plugins in the local repository: as far as it gets outside.
    let plain = place.plain("mvn -o -q test");
    if plain {
        place.works("mvn -o -q test");
    } else {
        let _ = writeln!(
            std::io::stderr(),
            "skipped: `mvn -o test`: its plugins are not in the local repository"
        );
    }
}

#[test]
fn make_runs_a_compiler() {
    if !has("make", &["--version"]) || !has("cc", &["--version"]) {
        return;
    }
    let place = project(&[
        ("Makefile", "small: small.c\n\tcc -o small small.c\n"),
        ("small.c", "int main(void) { return 0; }\n"),
    ]);
    place.works("make -s && ./small && make -s -q");
}

#[test]
fn a_server_and_its_client_talk_in_one_command() {
    let place = Place::new().file("page.txt", "served\n");
    place.prints(
        "/usr/bin/python3 -m http.server 8123 --bind 127.0.0.1 > /dev/null 2>&1 &\nfor i in $(seq 100); do /usr/bin/python3 -c 'import urllib.request; print(urllib.request.urlopen(\"http://localhost:8123/page.txt\").read().decode(), end=\"\")' 2> /dev/null && exit 0; sleep 0.05; done; exit 1",
        "served\n",
    );
}

#[test]
fn what_a_tool_keeps_in_its_cache_lasts() {
    let place = project(&[]);
    place.works("mkdir -p $XDG_CACHE_HOME/tool && echo kept > $XDG_CACHE_HOME/tool/x");
    place.prints("cat $XDG_CACHE_HOME/tool/x", "kept\n");
    place.works("echo gone > ~/x");
    place.fails("cat ~/x");
}

/// Returns true if this backend works here; says so if not.
fn has_backend(place: &Place) -> bool {
    let works = matches!(place.inside("true").end, agent::runner::RunEnd::Exited(0));
    if !works {
        let name = place.confinement.backend.name();
        let _ = writeln!(std::io::stderr(), "skipped: {name} does not work here");
    }
    works
}

#[test]
fn package_managers_write_to_a_layer_and_the_persons_packages_stay_as_they_are() {
    for backend in agent::sandbox::Backend::ALL {
        let mut place = project(&[]);
        place.confinement.backend = backend;
        place.confinement.home = place.directory.path().canonicalize().unwrap().join("home");
        place
            .confinement
            .programs
            .retain(|path| path.starts_with("/usr"));
        let own = place.confinement.home.join(".cargo/registry");
        for (path, text) in [
            ("cache/r/a-1.crate", "crate"),
            ("src/r/a-1/.cargo-ok", "ok"),
            ("src/r/half-1/x", "no"),
            ("index/r/.cache/a", "index"),
        ] {
            let path = own.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            super::write(&path, text);
        }
        if !has_backend(&place) {
            continue;
        }
        // Without the network there is no layer, and nothing can be written.
        place.works("test -z \"$GOMODCACHE$MAVEN_OPTS\" && ! [[ $CARGO_HOME == *packages* ]]");
        place.withstands("touch ~/.cargo/registry/cache/r/b-1.crate");
        fs::remove_file(own.join("cache/r/b-1.crate")).unwrap();

        place.confinement.network = true;
        place.prints(
            "cd $CARGO_HOME/registry && cat cache/r/a-1.crate src/r/a-1/.cargo-ok index/r/.cache/a && ls src/r",
            "crateokindexa-1\n",
        );
        place.works("cd $CARGO_HOME && echo b > registry/cache/r/b-1.crate && echo new > registry/index/r/.cache/a && touch .package-cache && mkdir -p $GOMODCACHE/cache");
        place.fails("echo spoiled > $CARGO_HOME/registry/cache/r/a-1.crate");

        // What was downloaded is found later, and so is what the person downloads meanwhile.
        place.confinement.network = false;
        super::write(&own.join("cache/r/c-1.crate"), "c");
        place.prints(
            "cd $CARGO_HOME/registry && cat cache/r/*.crate index/r/.cache/a && echo $GOPROXY | grep -o off && test -z \"$MAVEN_OPTS\"",
            "crateb\ncnew\noff\n",
        );
        let names = |path: &str| -> Vec<_> {
            let entries = fs::read_dir(own.join(path)).unwrap();
            let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        };
        assert_eq!(names("cache/r"), ["a-1.crate", "c-1.crate"]);
        assert_eq!(
            fs::read_to_string(own.join("index/r/.cache/a")).unwrap(),
            "index"
        );
    }
}
