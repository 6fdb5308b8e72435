//! Where package managers inside keep what they download: a layer per base, over the person's own.
//!
//! The person's packages are visible read-only, so `cargo add` and the like cannot write beside
//! them. Once the network is allowed, variables lead the tools to directories below the cache, and
//! these build on the person's packages: Maven and Go read them as a second repository, and for
//! cargo, which has no such thing, links to them are put into the layer. That is done inside, with
//! the rights of the command, so nothing that a command planted there leads out. A layer that was
//! used stays in use without the network: what was downloaded must be found again.
//!
//! Overlay mounts would need no variables. But not every backend and file system has them, and one
//! way that works everywhere is simpler than two.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::{Backend, Confinement};

/// The layers in the cache.
const CARGO: &str = "packages/cargo";
const GO: &str = "packages/go";
const MAVEN: &str = "packages/maven";

/// Files that tools make when they use a layer.
const USED_BY_CARGO: &str = ".package-cache";
const USED_BY_GO: &str = "cache";

impl Confinement {
    /// The cache directory as commands see it.
    pub(super) fn visible_cache(&self) -> PathBuf {
        match (&self.cache, self.backend) {
            (Some(cache), Backend::Landlock) => cache.clone(),
            _ => self.home.join(".cache"),
        }
    }

    /// The variables that lead package managers to their layers.
    pub(super) fn package_environment(&self) -> Vec<(&'static str, OsString)> {
        let Some(kept) = &self.cache else {
            return Vec::new();
        };
        let is_wanted = |layer: &str, used: &str| {
            self.network || kept.join(layer).join(used).symlink_metadata().is_ok()
        };
        let visible = self.visible_cache();
        let mut environment = Vec::new();
        if is_wanted(CARGO, USED_BY_CARGO) {
            environment.push(("CARGO_HOME", visible.join(CARGO).into()));
        }
        if is_wanted(GO, USED_BY_GO) {
            environment.push(("GOMODCACHE", visible.join(GO).into()));
            environment.push(("GOPROXY", self.go_proxies()));
            // Otherwise nobody could remove the layer without changing permissions first.
            let mut flags = std::env::var_os("GOFLAGS").unwrap_or_default();
            flags.push(" -modcacherw");
            environment.push(("GOFLAGS", flags));
        }
        let layer = visible.join(MAVEN);
        let own = self.home.join(".m2/repository");
        // The words of this variable are split at blanks.
        let is_plain = |path: &Path| path.to_str().is_some_and(|path| !path.contains(' '));
        if is_wanted(MAVEN, "") && is_plain(&layer) && is_plain(&own) {
            let (layer, own) = (layer.display(), own.display());
            let options = format!("-Dmaven.repo.local={layer} -Dmaven.repo.local.tail={own}");
            environment.push(("MAVEN_OPTS", options.into()));
        }
        environment
    }

    /// The person's modules first, then the network.
    fn go_proxies(&self) -> OsString {
        let path = std::env::var_os("GOPATH").map(PathBuf::from);
        let path = path.filter(|path| path.is_absolute());
        let path = path.unwrap_or_else(|| self.home.join("go"));
        let mut proxies = OsString::from("file://");
        proxies.push(path.join("pkg/mod/cache/download"));
        proxies.push(if self.network {
            ",https://proxy.golang.org,direct"
        } else {
            ",off"
        });
        proxies
    }

    /// The person's own `CARGO_HOME`.
    #[cfg(target_os = "linux")]
    fn own_cargo_home(&self) -> PathBuf {
        let parents = self.programs.iter().filter_map(|path| path.parent());
        let is_cargo_home = |path: &&Path| {
            let parts = ["registry", "git"].map(|part| path.join(part));
            parts.iter().all(|part| self.programs.contains(part))
        };
        let named = parents.into_iter().find(is_cargo_home);
        named.map_or_else(|| self.home.join(".cargo"), Path::to_owned)
    }
}

#[cfg(target_os = "linux")]
pub(super) use seed::seed;

/// Links the person's packages into the layer, inside the sandbox.
#[cfg(target_os = "linux")]
mod seed {
    use std::fs::{self, DirEntry, File};
    use std::io;
    use std::os::unix::fs::symlink;
    use std::path::Path;
    use std::time::SystemTime;

    use super::super::Confinement;
    use super::CARGO;

    /// Tells when the links were made.
    const SEEDED: &str = ".seeded";

    /// More files of an index than these are not copied.
    const MAX_FILES: usize = 50_000;

    /// Links the person's crates into the layer of cargo, if commands use it. What cannot be linked
    /// is downloaded again.
    pub(in super::super) fn seed(confinement: &Confinement) {
        let layer = confinement.visible_cache().join(CARGO);
        if std::env::var_os("CARGO_HOME").is_some_and(|used| used == *layer) {
            let _ = seed_cargo(&confinement.own_cargo_home(), &layer);
        }
    }

    fn seed_cargo(own: &Path, layer: &Path) -> io::Result<()> {
        let marker = layer.join(SEEDED);
        let seeded = marker.symlink_metadata().and_then(|found| found.modified());
        if seeded.is_ok_and(|seeded| is_unchanged(own, seeded)) {
            return Ok(());
        }
        fs::create_dir_all(layer)?;
        for name in ["config.toml", "config"] {
            if own.join(name).exists() {
                let _ = symlink(own.join(name), layer.join(name));
            }
        }
        let is_unpacked = |path: &Path| path.join(".cargo-ok").exists();
        for part in ["registry/cache", "registry/src"] {
            for registry in entries(&own.join(part)) {
                let target = layer.join(part).join(registry.file_name());
                let is_whole = |path: &Path| part == "registry/cache" || is_unpacked(path);
                link_all(&registry.path(), &target, is_whole)?;
            }
        }
        for part in ["git/db", "git/checkouts"] {
            link_all(&own.join(part), &layer.join(part), |_| true)?;
        }
        let mut left = MAX_FILES;
        // Cargo rewrites these.
        copy_all(
            &own.join("registry/index"),
            &layer.join("registry/index"),
            &mut left,
        );
        // Opening what a command put there could take forever.
        let _ = fs::remove_file(&marker);
        File::create_new(&marker).map(drop)
    }

    /// True if the person has downloaded nothing since.
    fn is_unchanged(own: &Path, seeded: SystemTime) -> bool {
        let caches = entries(&own.join("registry/cache"));
        let places = caches.into_iter().map(|entry| entry.path());
        let mut places = places.chain([own.join("git/db"), own.join("git/checkouts")]);
        places.all(|place| {
            let modified = place.metadata().and_then(|found| found.modified());
            modified.map_or(true, |modified| modified < seeded)
        })
    }

    fn entries(directory: &Path) -> Vec<DirEntry> {
        let entries = fs::read_dir(directory).into_iter().flatten();
        entries.flatten().collect()
    }

    fn link_all(from: &Path, to: &Path, is_whole: impl Fn(&Path) -> bool) -> io::Result<()> {
        let mut all = entries(from);
        all.retain(|entry| is_whole(&entry.path()));
        if !all.is_empty() {
            fs::create_dir_all(to)?;
        }
        for entry in all {
            // What is there already stays.
            let _ = symlink(entry.path(), to.join(entry.file_name()));
        }
        Ok(())
    }

    /// Copies the files that are missing.
    fn copy_all(from: &Path, to: &Path, left: &mut usize) {
        for entry in entries(from) {
            let (from, to) = (entry.path(), to.join(entry.file_name()));
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_directory {
                copy_all(&from, &to, left);
            } else if *left > 0 && to.symlink_metadata().is_err() {
                *left -= 1;
                let _ = copy(&from, &to);
            }
        }
    }

    fn copy(from: &Path, to: &Path) -> io::Result<()> {
        if let Some(directory) = to.parent() {
            fs::create_dir_all(directory)?;
        }
        let (mut from, mut to) = (File::open(from)?, File::create_new(to)?);
        io::copy(&mut from, &mut to).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variable(confinement: &Confinement, name: &str) -> Option<String> {
        let mut environment = confinement.package_environment().into_iter();
        let found = environment.find(|(known, _)| *known == name);
        found.map(|(_, value)| value.into_string().unwrap())
    }

    #[test]
    fn package_managers_have_layers_with_the_network_and_after_they_used_them() {
        let cache = tempfile::tempdir().unwrap();
        let mut confinement = Confinement::of_workspace("/home/me/work");
        confinement.home = "/home/me".into();
        confinement.network = true;
        assert!(confinement.package_environment().is_empty(), "no cache");
        confinement.cache = Some(cache.path().to_owned());
        let cargo = variable(&confinement, "CARGO_HOME");
        assert_eq!(cargo.as_deref(), Some("/home/me/.cache/packages/cargo"));
        let maven = variable(&confinement, "MAVEN_OPTS").unwrap();
        assert!(maven.contains("-Dmaven.repo.local=/home/me/.cache/packages/maven"));
        let proxies = variable(&confinement, "GOPROXY").unwrap();
        assert!(proxies.ends_with("/pkg/mod/cache/download,https://proxy.golang.org,direct"));

        confinement.network = false;
        assert!(confinement.package_environment().is_empty());
        std::fs::create_dir_all(cache.path().join(GO).join(USED_BY_GO)).unwrap();
        let proxies = variable(&confinement, "GOPROXY").unwrap();
        assert!(proxies.ends_with("/cache/download,off"));
        assert_eq!(variable(&confinement, "CARGO_HOME"), None);

        confinement.backend = Backend::Landlock;
        let go = variable(&confinement, "GOMODCACHE").map(PathBuf::from);
        assert_eq!(go, Some(cache.path().join(GO)));
    }
}
