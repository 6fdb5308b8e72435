//! Decides about every request before anything else looks at it.
//!
//! A page that can run commands is a target for every other page that the browser has open, and for
//! every program of the machine. Each of these rules holds on its own:
//!
//! - `Host` is exactly our address: a name that an attacker resolves to 127.0.0.1 does not get in.
//! - `Origin`, where there is one, is our own; a request that changes something must have it.
//! - `Sec-Fetch-Site`, where the browser sends it, says `same-origin`. Only the document itself may be
//!   opened from elsewhere, as a page of its own; it has nothing in it.
//! - Everything but the document and its parts needs the token, which no cookie carries.
//! - What changes something is a POST with JSON.

use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, ORIGIN};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};

use super::keys::AccessKeys;

/// Where the page lives: what `Host` and `Origin` must say.
#[derive(Debug, Clone)]
pub(super) struct OwnAddress {
    /// `127.0.0.1:PORT`
    pub(super) host: String,
    /// `http://127.0.0.1:PORT`
    pub(super) origin: String,
}

impl OwnAddress {
    pub(super) fn at(port: u16) -> Self {
        let host = format!("127.0.0.1:{port}");
        let origin = format!("http://{host}");
        Self { host, origin }
    }
}

/// A request that is not answered, with what its sender is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RefusedRequest {
    pub(super) status: StatusCode,
    pub(super) why: &'static str,
}

const fn refused(status: StatusCode, why: &'static str) -> RefusedRequest {
    RefusedRequest { status, why }
}

const WRONG_HOST: RefusedRequest = refused(
    StatusCode::MISDIRECTED_REQUEST,
    "This is not the address of the page. Use the one that `agent serve` printed.",
);
const FOREIGN: RefusedRequest = refused(
    StatusCode::FORBIDDEN,
    "Requests from other pages are refused.",
);
const NO_TOKEN: RefusedRequest = refused(
    StatusCode::UNAUTHORIZED,
    "This page is not signed in, or `agent serve` was started again. Open the link that it printed.",
);
const WRONG_METHOD: RefusedRequest = refused(
    StatusCode::METHOD_NOT_ALLOWED,
    "Only GET, and POST with JSON.",
);
const NOT_JSON: RefusedRequest = refused(
    StatusCode::UNSUPPORTED_MEDIA_TYPE,
    "A POST must have JSON in it.",
);

/// Refuses whatever does not come from our own page.
pub(super) fn admit(
    request: &Parts,
    own: &OwnAddress,
    keys: &AccessKeys,
) -> Result<(), RefusedRequest> {
    let headers = &request.headers;
    if only(headers, &HOST) != Some(&own.host) || request.uri.authority().is_some() {
        return Err(WRONG_HOST);
    }
    let is_post = match request.method {
        Method::GET => false,
        Method::POST => true,
        _ => return Err(WRONG_METHOD),
    };
    let origin = headers.contains_key(ORIGIN);
    if (origin || is_post) && only(headers, &ORIGIN) != Some(&own.origin) {
        return Err(FOREIGN);
    }
    let path = request.uri.path();
    let is_api = path.starts_with("/api/");
    if !is_from_here(headers, is_api || path != "/") {
        return Err(FOREIGN);
    }
    if !is_api {
        return if is_post { Err(WRONG_METHOD) } else { Ok(()) };
    }
    if is_post && !is_json(headers) {
        return Err(NOT_JSON);
    }
    let is_signing_in = is_post && path == "/api/sign-in";
    let has_token = only(headers, &AUTHORIZATION).is_some_and(|value| keys.admits(value));
    if is_signing_in || has_token {
        Ok(())
    } else {
        Err(NO_TOKEN)
    }
}

/// The value of a header that stands there once.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?;
    if values.next().is_some() {
        return None;
    }
    value.to_str().ok()
}

/// Returns true if the browser says that our own page asks, or if it says nothing.
fn is_from_here(headers: &HeaderMap, is_part: bool) -> bool {
    const SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
    const DESTINATION: HeaderName = HeaderName::from_static("sec-fetch-dest");
    if !headers.contains_key(SITE) {
        return true;
    }
    match only(headers, &SITE) {
        Some("same-origin") => true,
        // Typed by the person, or opened by `agent serve` and by links: a page, and no frame.
        Some(_) if !is_part => only(headers, &DESTINATION) == Some("document"),
        _ => false,
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = only(headers, &CONTENT_TYPE).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default();
    kind.trim().eq_ignore_ascii_case("application/json")
}

/// The headers of every answer, refusals included.
const EVERY_ANSWER: [(&str, &str); 9] = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cache-control", "no-store"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-embedder-policy", "require-corp"),
    (
        "permissions-policy",
        "camera=(), microphone=(), geolocation=(), display-capture=(), payment=(), usb=()",
    ),
];

/// Adds the headers that every answer has.
pub(super) fn protect(headers: &mut HeaderMap) {
    for (name, value) in EVERY_ANSWER {
        headers.insert(
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::Request;

    /// Checks the fate of a request that is right except for these headers.
    #[track_caller]
    fn case(method: &str, path: &str, changes: &[(&str, Option<&str>)], expected: Option<u16>) {
        let own = OwnAddress::at(4321);
        let keys = AccessKeys::new().unwrap();
        let token = keys.exchange(&keys.new_code().unwrap()).unwrap();
        let bearer = format!("Bearer {token}");
        let mut headers = vec![
            ("host", own.host.as_str()),
            ("origin", own.origin.as_str()),
            ("sec-fetch-site", "same-origin"),
            ("content-type", "application/json"),
            ("authorization", bearer.as_str()),
        ];
        for (name, value) in changes {
            headers.retain(|(known, _)| known != name);
            headers.extend(value.map(|value| (*name, value)));
        }
        let request = headers.iter().fold(
            Request::builder().method(method).uri(path),
            |request, (name, value)| request.header(*name, *value),
        );
        let (parts, ()) = request.body(()).unwrap().into_parts();
        let refused = admit(&parts, &own, &keys).err();
        let status = refused.map(|refused| refused.status.as_u16());
        assert_eq!(status, expected, "{method} {path} {changes:?}");
    }

    #[test]
    fn our_own_page_is_admitted() {
        case("GET", "/api/sessions", &[], None);
        case("GET", "/api/sessions", &[("origin", None)], None);
        case("POST", "/api/sessions", &[], None);
        case(
            "GET",
            "/",
            &[("authorization", None), ("origin", None)],
            None,
        );
        let opened = [("origin", None), ("sec-fetch-site", Some("none"))];
        case(
            "GET",
            "/",
            &[&opened[..], &[("sec-fetch-dest", Some("document"))]].concat(),
            None,
        );
        let by_link = [("origin", None), ("sec-fetch-site", Some("cross-site"))];
        case(
            "GET",
            "/",
            &[&by_link[..], &[("sec-fetch-dest", Some("document"))]].concat(),
            None,
        );
        case("POST", "/api/sign-in", &[("authorization", None)], None);
    }

    #[test]
    fn another_name_for_this_machine_is_refused() {
        for host in [
            "evil.test:4321",
            "127.0.0.1",
            "127.0.0.1:80",
            "localhost:4321",
            "127.0.0.1:4321.",
        ] {
            case("GET", "/", &[("host", Some(host))], Some(421));
            case("POST", "/api/sign-in", &[("host", Some(host))], Some(421));
        }
        case("GET", "/", &[("host", None)], Some(421));
        case("GET", "http://evil.test/", &[], Some(421));
    }

    #[test]
    fn other_pages_are_refused() {
        for origin in [
            "null",
            "http://evil.test",
            "http://127.0.0.1:4322",
            "https://127.0.0.1:4321",
        ] {
            case(
                "GET",
                "/api/sessions",
                &[("origin", Some(origin))],
                Some(403),
            );
            case(
                "POST",
                "/api/sessions",
                &[("origin", Some(origin))],
                Some(403),
            );
            case(
                "POST",
                "/api/sign-in",
                &[("origin", Some(origin))],
                Some(403),
            );
        }
        case("POST", "/api/sessions", &[("origin", None)], Some(403));
        for site in ["cross-site", "same-site", "none", "x"] {
            case(
                "GET",
                "/api/sessions",
                &[("sec-fetch-site", Some(site))],
                Some(403),
            );
            case(
                "GET",
                "/app.js",
                &[("sec-fetch-site", Some(site))],
                Some(403),
            );
        }
        let framed = [
            ("sec-fetch-site", Some("cross-site")),
            ("sec-fetch-dest", Some("iframe")),
        ];
        case("GET", "/", &framed, Some(403));
    }

    #[test]
    fn nothing_is_done_without_the_token_or_in_another_form() {
        case(
            "GET",
            "/api/sessions",
            &[("authorization", None)],
            Some(401),
        );
        case("GET", "/api/sign-in", &[("authorization", None)], Some(401));
        case(
            "POST",
            "/api/sessions",
            &[("authorization", Some("Bearer 00"))],
            Some(401),
        );
        case(
            "POST",
            "/api/sessions",
            &[("content-type", Some("text/plain"))],
            Some(415),
        );
        case("POST", "/", &[], Some(405));
        for method in ["PUT", "DELETE", "OPTIONS", "HEAD", "TRACE"] {
            case(method, "/api/sessions", &[], Some(405));
        }
    }
}
