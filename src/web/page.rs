//! The document and its parts, compiled in.

use std::sync::LazyLock;

use axum::http::HeaderValue;

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const PICTURE: &str = "image/svg+xml";

/// Every part: its path, its kind, its text.
const ASSETS: [(&str, &str, &str); 12] = [
    ("/", HTML, include_str!("page/index.html")),
    ("/app.css", STYLE, include_str!("page/app.css")),
    ("/app.js", SCRIPT, include_str!("page/app.js")),
    ("/dom.js", SCRIPT, include_str!("page/dom.js")),
    ("/server.js", SCRIPT, include_str!("page/server.js")),
    ("/session.js", SCRIPT, include_str!("page/session.js")),
    ("/card.js", SCRIPT, include_str!("page/card.js")),
    ("/begin.js", SCRIPT, include_str!("page/begin.js")),
    ("/diff.js", SCRIPT, include_str!("page/diff.js")),
    ("/files.js", SCRIPT, include_str!("page/files.js")),
    ("/settings.js", SCRIPT, include_str!("page/settings.js")),
    ("/icon.svg", PICTURE, include_str!("page/icon.svg")),
];

static VERSION: LazyLock<HeaderValue> = LazyLock::new(|| {
    let mut hasher = blake3::Hasher::new();
    for (_, _, text) in ASSETS {
        hasher.update(text.as_bytes());
    }
    let hash = hasher.finalize().to_hex();
    HeaderValue::from_str(&hash[..16]).unwrap_or_else(|_| HeaderValue::from_static("0"))
});

/// A mark that changes with the page.
pub(super) fn version() -> &'static HeaderValue {
    &VERSION
}

/// The part at this path, with its kind.
pub(super) fn asset(path: &str) -> Option<(&'static str, &'static str)> {
    let mut assets = ASSETS.iter();
    let (_, kind, text) = assets.find(|(name, _, _)| *name == path)?;
    Some((kind, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_needs_nothing_from_elsewhere_and_parses_no_html() {
        for (path, _, text) in ASSETS {
            for word in ["https://", "//cdn", "@import", "url("] {
                assert!(!text.contains(word), "{path} has `{word}`");
            }
            for word in [
                "innerHTML",
                "outerHTML",
                "insertAdjacentHTML",
                "document.write",
                "eval(",
                "new Function",
                "DOMParser",
                "srcdoc",
                "createPolicy",
                "localStorage",
                "cookie",
                " style=",
                " onclick=",
            ] {
                assert!(!text.contains(word), "{path} has `{word}`");
            }
        }
    }

    #[test]
    fn only_named_parts_are_served() {
        assert!(asset("/").is_some());
        for path in [
            "/..",
            "//",
            "/app.js/",
            "/../Cargo.toml",
            "/%2e%2e/app.js",
            "",
        ] {
            assert_eq!(asset(path), None, "{path}");
        }
    }
}
