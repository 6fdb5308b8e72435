//! Sends requests and reads streams: one blocking call, told about as it goes.
//!
//! It always holds that the key goes to the endpoint's host only (no redirect is followed, and never
//! unencrypted over the internet); a request is sent again only if no text of an answer came, so that no
//! piece of it is told twice; whatever came before a break is returned as a cut answer;
//! nothing waits longer than the idle limit without a byte from the server.

use std::borrow::Cow;
use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::io::Read;
use std::net::IpAddr;
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;
use ureq::http::{HeaderMap, Response, Uri};
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Body, Proxy};

use crate::error::{ApiError, ApiErrorKind};
use crate::key::{ApiKey, KeyFilter, KeyFilters};
use crate::provider::{KeyHeader, Provider};
use crate::request::ModelRequest;
use crate::retry::{RetryPolicy, retry_after};
use crate::sse::{SseEvent, SseReader};
use crate::stop::StopSignal;
use crate::surrogate::SurrogateJoiner;
use crate::usage::TokenUsage;
use crate::wire::{FinishReason, StreamDelta, Wire, complaint_in};

/// Nothing comes for so long: the server is stuck. Models may think for minutes before they begin.
const IDLE_LIMIT: Duration = Duration::from_mins(5);
/// A connection is made within this time, the handshake and the proxy included.
const CONNECT_LIMIT: Duration = Duration::from_secs(20);
/// The longest answer, which is the longest reply that `agent` reads.
const LONGEST_ANSWER: usize = 16 * 1024 * 1024;
/// The longest body of an error that is read.
const LONGEST_ERROR: u64 = 64 * 1024;
/// The longest body that is read whole: lists of models, and answers that are not streamed.
const LONGEST_BODY: u64 = 64 * 1024 * 1024;
/// A stream is read in pieces of at most this size.
const PIECE: usize = 16 * 1024;

/// A provider at an address, with a key.
#[derive(Debug, Clone)]
pub struct ApiEndpoint {
    /// The provider, which decides the wire.
    pub provider: &'static Provider,
    base: String,
    key: Option<ApiKey>,
    /// Find the key, and others that the caller knows.
    filters: KeyFilters,
}

impl ApiEndpoint {
    /// The provider at its own address, or at `url`.
    pub fn new(
        provider: &'static Provider,
        url: Option<&str>,
        key: Option<ApiKey>,
    ) -> Result<Self, ApiError> {
        let url = url
            .filter(|url| !url.is_empty())
            .or(provider.url.as_deref());
        let Some(url) = url else {
            let words = format!("`{}` has no address of its own", provider.name);
            return Err(ApiError::new(ApiErrorKind::BadUrl, words));
        };
        let base = url.trim_end_matches('/').to_owned();
        check_url(&base, key.is_some())?;
        if provider.needs_key && key.is_none() {
            let words = format!(
                "`{}` wants one, in {}",
                provider.name, provider.key_variable
            );
            return Err(ApiError::new(ApiErrorKind::KeyMissing, words));
        }
        let forms = key.iter().flat_map(ApiKey::forms);
        let filters = forms.map(KeyFilter::new).collect();
        Ok(Self {
            provider,
            base,
            key,
            filters,
        })
    }

    /// The base URL.
    pub fn url(&self) -> &str {
        &self.base
    }

    /// Returns true if there is a key.
    pub fn has_key(&self) -> bool {
        self.key.is_some()
    }

    /// Removes the keys from a text.
    pub fn scrub(&self, text: String) -> String {
        self.filters.scrub(text)
    }

    fn is_loopback(&self) -> bool {
        host_of(&self.base).is_some_and(|host| is_loopback(&host))
    }
}

fn host_of(url: &str) -> Option<String> {
    let uri: Uri = url.parse().ok()?;
    let host = uri.host()?.trim_start_matches('[').trim_end_matches(']');
    Some(host.to_ascii_lowercase())
}

fn is_loopback(host: &str) -> bool {
    host == "localhost"
        || host
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

/// A machine of the person's own network, where unencrypted connections are usual.
fn is_near(host: &str) -> bool {
    let is_private = |address: IpAddr| match address {
        IpAddr::V4(v4) => v4.is_private() || v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unique_local() || v6.is_unicast_link_local(),
    };
    let is_local_name = || {
        let ending = host.rsplit_once('.').map(|(_, ending)| ending);
        match ending {
            // Resolvers read `134744072` and `0x8080808` as addresses of the internet.
            None => {
                let hexadecimal = host.strip_prefix("0x").unwrap_or("-");
                let is_number = host.bytes().all(|byte| byte.is_ascii_digit())
                    || hexadecimal.bytes().all(|byte| byte.is_ascii_hexdigit());
                !is_number
            }
            Some(ending) => matches!(ending, "local" | "lan" | "home" | "internal"),
        }
    };
    is_loopback(host) || host.parse().map_or_else(|_| is_local_name(), is_private)
}

fn check_url(url: &str, has_key: bool) -> Result<(), ApiError> {
    let bad = |words: &str| Err(ApiError::new(ApiErrorKind::BadUrl, words));
    let Ok(uri) = url.parse::<Uri>() else {
        return bad("it is no URL");
    };
    let Some(host) = host_of(url).filter(|host| !host.is_empty()) else {
        return bad("it names no host");
    };
    if uri
        .authority()
        .is_some_and(|authority| authority.as_str().contains('@'))
    {
        return bad("it has a user name or a password in it; a key belongs into a variable");
    }
    if uri.query().is_some() {
        return bad("it has a query in it; a key belongs into a variable");
    }
    match uri.scheme_str() {
        Some("https") => Ok(()),
        Some("http") if !has_key || is_near(&host) => Ok(()),
        Some("http") => bad("the key would go over the internet unencrypted; use `https`"),
        _ => bad("it must begin with `https://` or `http://`"),
    }
}

/// Which proxy requests go through.
#[derive(Debug, Clone, Default)]
enum ProxyChoice {
    /// The one that the environment names; none for this machine.
    #[default]
    Environment,
    Only(Proxy),
}

/// Refuses a proxy's variable that is no URL: without the proxy a request would go directly, where the
/// person does not want it to.
fn ensure_proxies_are_urls(variable: impl Fn(&str) -> Option<String>) -> Result<(), ApiError> {
    for name in ["ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY"] {
        for name in [name, &name.to_ascii_lowercase()] {
            let value = variable(name).filter(|value| !value.is_empty());
            if value.is_some_and(|value| Proxy::new(&value).is_err()) {
                // Not its value: that may have a password in it.
                let words = format!("{name} is no address of a proxy, such as `http://host:8080`");
                return Err(ApiError::new(ApiErrorKind::BadProxy, words));
            }
        }
    }
    Ok(())
}

/// Sends requests to one endpoint.
#[derive(Debug, Clone)]
pub struct ApiClient {
    endpoint: ApiEndpoint,
    retries: RetryPolicy,
    idle_limit: Duration,
    proxy: ProxyChoice,
    roots: RootCerts,
}

/// An event in the course of a request.
#[derive(Debug)]
pub enum RequestProgress<'a> {
    /// It is sent, for this time.
    Sending {
        /// From 1.
        number: u32,
    },
    /// It failed, and is sent again after the wait.
    Waiting {
        /// How long.
        wait: Duration,
        /// How often it was tried.
        tried: u32,
        /// How often it is tried at most.
        tries: u32,
        /// Why it failed.
        why: &'a ApiError,
    },
    /// A piece of the answer.
    Text(&'a str),
    /// A piece of the model's reasoning.
    Reasoning(&'a str),
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// Its text, without the model's reasoning.
    pub text: String,
    /// How it ended.
    pub end: CompletionEnd,
    /// Tokens, as the server counted them.
    pub usage: TokenUsage,
    /// How long it took.
    pub timing: ReplyTiming,
    /// How often the request was sent.
    pub tries: u32,
    /// True if it came as a stream, in however many pieces.
    pub is_streamed: bool,
}

/// How an answer ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompletionEnd {
    /// It is whole.
    Whole,
    /// It met the limit of tokens.
    LengthLimit,
    /// The model refused, with these words; a filter has none.
    Refused(String),
    /// It broke off.
    Broken(ApiError),
    /// The person stopped it.
    Stopped,
}

/// How long an answer took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReplyTiming {
    /// Until the first piece of text or reasoning came.
    pub to_first: Duration,
    /// In whole.
    pub total: Duration,
}

impl ReplyTiming {
    /// Tokens a second after the first piece, in tenths; `None` if all came at once.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "for people"
    )]
    pub fn tenths_per_second(&self, tokens: u64) -> Option<u64> {
        let streaming = self.total.saturating_sub(self.to_first).as_secs_f64();
        (streaming >= 0.1 && tokens > 0).then(|| (tokens as f64 * 10.0 / streaming) as u64)
    }
}

impl ApiClient {
    /// A client with the default limits.
    pub fn new(endpoint: ApiEndpoint) -> Self {
        Self {
            endpoint,
            retries: RetryPolicy::default(),
            idle_limit: IDLE_LIMIT,
            proxy: ProxyChoice::default(),
            roots: RootCerts::PlatformVerifier,
        }
    }

    /// Tries as often as this says.
    #[must_use]
    pub fn with_retries(self, retries: RetryPolicy) -> Self {
        Self { retries, ..self }
    }

    /// Gives up when the server is silent for so long.
    #[must_use]
    pub fn with_idle_limit(self, idle_limit: Duration) -> Self {
        Self { idle_limit, ..self }
    }

    /// Goes through this proxy, whatever the environment says.
    pub fn with_proxy(self, url: &str) -> Result<Self, ApiError> {
        let proxy = Proxy::new(url)
            .map_err(|error| ApiError::new(ApiErrorKind::Proxy, error.to_string()))?;
        let proxy = ProxyChoice::Only(proxy);
        Ok(Self { proxy, ..self })
    }

    /// Trusts these certificates (PEM) in place of the system's.
    pub fn with_root_certificate(self, pem: &str) -> Result<Self, ApiError> {
        let certificate = Certificate::from_pem(pem.as_bytes())
            .map_err(|error| ApiError::new(ApiErrorKind::Tls, error.to_string()))?;
        let roots = RootCerts::new_with_certs(&[certificate]);
        Ok(Self { roots, ..self })
    }

    /// Keeps other keys out of answers and errors as well.
    #[must_use]
    pub fn hiding(mut self, others: KeyFilters) -> Self {
        self.endpoint.filters = self.endpoint.filters.and(others);
        self
    }

    /// The endpoint.
    pub fn endpoint(&self) -> &ApiEndpoint {
        &self.endpoint
    }

    /// Sends a request and reads the answer, telling of its pieces as they come.
    ///
    /// An error means that no text came; otherwise what came is returned, however it ended.
    pub fn complete(
        &self,
        request: &ModelRequest,
        stop: &StopSignal,
        told: &mut dyn FnMut(RequestProgress<'_>),
    ) -> Result<Completion, ApiError> {
        let body = self
            .endpoint
            .provider
            .wire
            .encode(request, self.endpoint.provider);
        let body = body.to_string();
        let length = body.chars().count();
        let mut tries = 1;
        // The tokens of tries that broke off before any text came.
        let mut spent = TokenUsage::default();
        loop {
            told(RequestProgress::Sending { number: tries });
            let mut answer = ArrivingAnswer::new(&self.endpoint);
            let outcome = self.try_once(&body, stop, told, &mut answer);
            let error = outcome.err().map(|error| self.scrubbed(error, stop));
            answer.flush(told);
            answer.refusal = self.endpoint.scrub(std::mem::take(&mut answer.refusal));
            let Some(mut error) = error else {
                answer.usage = answer.usage.or_estimated(length, answer.received);
                return answer.complete(tries, spent);
            };
            if answer.is_begun() || error.kind == ApiErrorKind::Stopped {
                answer.usage = answer.usage.at_least(length, answer.received);
            }
            if !answer.text.is_empty() {
                answer.broken = Some(error);
                return answer.complete(tries, spent);
            }
            spent.add(&answer.usage);
            error.spent = spent;
            let wait = (error.kind.is_passing())
                .then(|| self.retries.wait_after(tries, error.retry_after, random()))
                .flatten();
            let Some(wait) = wait else {
                return Err(self.retries.with_asked_wait(error));
            };
            told(RequestProgress::Waiting {
                wait,
                tried: tries,
                tries: self.retries.tries,
                why: &error,
            });
            if !stop.wait(wait) {
                return Err(ApiError {
                    spent,
                    ..ApiError::new(ApiErrorKind::Stopped, "")
                });
            }
            tries += 1;
        }
    }

    fn try_once(
        &self,
        body: &str,
        stop: &StopSignal,
        told: &mut dyn FnMut(RequestProgress<'_>),
        answer: &mut ArrivingAnswer,
    ) -> Result<(), ApiError> {
        let agent = self.connect(stop)?;
        let url = format!(
            "{}/{}",
            self.endpoint.base,
            self.endpoint.provider.wire.path()
        );
        let request = agent
            .post(&url)
            .header("content-type", "application/json")
            .header("accept", "text/event-stream, application/json");
        let request = self
            .headers()
            .into_iter()
            .fold(request, |request, (name, value)| {
                request.header(name, value)
            });
        let response = request
            .send(body)
            .map_err(|error| self.transport_error(&error))?;
        let mut response = accepted(response)?;
        if is_json(response.headers()) {
            return answer.read_whole(&text_of(&mut response, LONGEST_BODY)?, told);
        }
        let mut reader = response.body_mut().with_config().limit(u64::MAX).reader();
        answer.read_stream(&mut reader, told)
    }

    /// The models that the server has.
    pub fn models(&self, stop: &StopSignal) -> Result<Vec<ServedModel>, ApiError> {
        let agent = self.connect(stop)?;
        let url = format!("{}/models", self.endpoint.base);
        let request = agent.get(&url).header("accept", "application/json");
        let request = self
            .headers()
            .into_iter()
            .fold(request, |request, (name, value)| {
                request.header(name, value)
            });
        let found = request
            .call()
            .map_err(|error| self.transport_error(&error))
            .and_then(accepted)
            .and_then(|mut response| text_of(&mut response, LONGEST_BODY))
            .and_then(|text| {
                if is_web_page(text.as_bytes()) {
                    return Err(ApiError::new(ApiErrorKind::WebPage, ""));
                }
                Ok(text)
            });
        let text = found.map_err(|error| self.scrubbed(error, stop))?;
        let mut models = served_models(&text);
        for model in &mut models {
            model.name = self.endpoint.scrub(std::mem::take(&mut model.name));
        }
        Ok(models)
    }

    /// The proxy that requests go through, if they do.
    fn proxy(&self) -> Result<Option<Proxy>, ApiError> {
        let proxy = match &self.proxy {
            ProxyChoice::Only(proxy) => Some(proxy.clone()),
            ProxyChoice::Environment if self.endpoint.is_loopback() => None,
            ProxyChoice::Environment => {
                ensure_proxies_are_urls(|name| std::env::var(name).ok())?;
                Proxy::try_from_env()
            }
        };
        let url: Option<Uri> = self.endpoint.base.parse().ok();
        Ok(proxy.filter(|proxy| !url.is_some_and(|url| proxy.is_no_proxy(&url))))
    }

    /// The error for a request that failed before an answer began; a proxy that refuses or is not there
    /// is named, since the server may be fine.
    fn transport_error(&self, error: &ureq::Error) -> ApiError {
        let told = transport_error(error);
        let kind = if is_without_connection(error) {
            ApiErrorKind::ProxyUnreachable
        } else {
            told.kind
        };
        match self.proxy() {
            Ok(Some(proxy))
                if matches!(kind, ApiErrorKind::ProxyUnreachable | ApiErrorKind::Proxy) =>
            {
                // Only the host: a user name and a password may stand beside it.
                let words = format!("`{}:{}`: {}", proxy.host(), proxy.port(), told.message);
                ApiError::new(kind, words)
            }
            _ => told,
        }
    }

    fn connect(&self, stop: &StopSignal) -> Result<ureq::Agent, ApiError> {
        let proxy = self.proxy()?;
        let tls = TlsConfig::builder().root_certs(self.roots.clone()).build();
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(proxy)
            .tls_config(tls)
            .timeout_resolve(Some(CONNECT_LIMIT))
            .timeout_connect(Some(CONNECT_LIMIT))
            .timeout_per_read(Some(self.idle_limit))
            .timeout_per_write(Some(self.idle_limit))
            .user_agent(concat!("agent/", env!("CARGO_PKG_VERSION")))
            .build();
        let agent = ureq::Agent::new_with_config(config);
        stop.guard(&agent);
        Ok(agent)
    }

    fn headers(&self) -> Vec<(&'static str, String)> {
        let mut headers = Vec::new();
        if let Some(key) = &self.endpoint.key {
            headers.push(match self.endpoint.provider.key_header {
                KeyHeader::Authorization => ("authorization", format!("Bearer {}", key.expose())),
                KeyHeader::XApiKey => ("x-api-key", key.expose().to_owned()),
                KeyHeader::ApiKey => ("api-key", key.expose().to_owned()),
            });
        }
        if self.endpoint.provider.wire == Wire::Messages {
            headers.push(("anthropic-version", "2023-06-01".to_owned()));
        }
        headers
    }

    /// An error without the keys, and for what it really is if the person stopped the request.
    fn scrubbed(&self, mut error: ApiError, stop: &StopSignal) -> ApiError {
        if stop.is_raised() {
            return ApiError::new(ApiErrorKind::Stopped, "");
        }
        // A long message was cut, and half of a key may stand before the cut.
        let parts: Vec<String> = (error.message.split('…'))
            .map(|part| {
                let mut filters = self.endpoint.filters.clone();
                filters.push(part) + &filters.break_off()
            })
            .collect();
        error.message = parts.join("…");
        error
    }
}

/// A model that a server has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedModel {
    /// Its name.
    pub name: String,
    /// The tokens that it reads and writes together, if the server says so.
    pub window: Option<u64>,
}

/// Reads a list of models in any of the forms that servers have for it.
fn served_models(text: &str) -> Vec<ServedModel> {
    let json: Value = serde_json::from_str(text).unwrap_or_default();
    let list = json.get("data").or(json.get("models")).unwrap_or(&json);
    let models = list.as_array().into_iter().flatten();
    models
        .filter_map(|model| {
            let name = model.get("id").or(model.get("name"))?.as_str()?;
            let windows = [
                "/meta/n_ctx",
                "/max_model_len",
                "/context_length",
                "/max_context_length",
                "/max_input_tokens",
            ];
            let window = windows
                .iter()
                .find_map(|path| model.pointer(path)?.as_u64());
            Some(ServedModel {
                // Gemini lists `models/NAME`, and takes NAME.
                name: name.trim_start_matches("models/").to_owned(),
                window,
            })
        })
        .collect()
}

/// An answer that is being read.
struct ArrivingAnswer {
    provider: &'static Provider,
    /// Keep the keys out of text and reasoning, however their pieces are cut.
    text_filters: KeyFilters,
    reasoning_filters: KeyFilters,
    /// Characters of text and reasoning that came.
    received: usize,
    text: String,
    refusal: String,
    has_reasoned: bool,
    usage: TokenUsage,
    finish: Option<FinishReason>,
    broken: Option<ApiError>,
    has_ended: bool,
    is_streamed: bool,
    surrogates: SurrogateJoiner,
    begun: Instant,
    first: Option<Instant>,
}

impl ArrivingAnswer {
    fn new(endpoint: &ApiEndpoint) -> Self {
        Self {
            provider: endpoint.provider,
            text_filters: endpoint.filters.clone(),
            reasoning_filters: endpoint.filters.clone(),
            received: 0,
            text: String::new(),
            refusal: String::new(),
            has_reasoned: false,
            usage: TokenUsage::default(),
            finish: None,
            broken: None,
            has_ended: false,
            is_streamed: false,
            surrogates: SurrogateJoiner::default(),
            begun: Instant::now(),
            first: None,
        }
    }

    /// Returns true if the server has begun to answer.
    fn is_begun(&self) -> bool {
        self.received > 0 || !self.usage.is_empty()
    }

    /// Tells what the filters hold back, when nothing more comes.
    fn flush(&mut self, told: &mut dyn FnMut(RequestProgress<'_>)) {
        self.flush_reasoning(told);
        let rest = self.text_filters.break_off();
        self.push_text(&rest, told);
    }

    fn flush_reasoning(&mut self, told: &mut dyn FnMut(RequestProgress<'_>)) {
        let rest = self.reasoning_filters.break_off();
        if !rest.is_empty() {
            told(RequestProgress::Reasoning(&rest));
        }
    }

    fn push_text(&mut self, text: &str, told: &mut dyn FnMut(RequestProgress<'_>)) {
        if !text.is_empty() {
            self.text.push_str(text);
            told(RequestProgress::Text(text));
        }
    }

    fn read_stream(
        &mut self,
        reader: &mut dyn Read,
        told: &mut dyn FnMut(RequestProgress<'_>),
    ) -> Result<(), ApiError> {
        self.is_streamed = true;
        let mut events = SseReader::default();
        let mut piece = vec![0; PIECE];
        let mut is_first = true;
        while !self.has_ended {
            let read = match reader.read(&mut piece) {
                Ok(read) => read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                // After its last words a server may end as it likes.
                Err(_) if self.finish.is_some() => 0,
                Err(error) => return Err(broken(&error.into())),
            };
            if read == 0 {
                // Half an event is no wrong one: the stream broke inside of it.
                let last = events.finish();
                let last = last.map_or(Ok(Vec::new()), |event| self.decode(event));
                for delta in last.unwrap_or_default() {
                    self.take(delta, told)?;
                }
                break;
            }
            if std::mem::take(&mut is_first) && is_web_page(&piece[..read]) {
                return Err(ApiError::new(ApiErrorKind::WebPage, ""));
            }
            for event in events.push(&piece[..read])? {
                for delta in self.decode(event)? {
                    self.take(delta, told)?;
                }
            }
        }
        if self.finish.is_none() {
            let words = "the stream ended before the answer did";
            return Err(ApiError::new(ApiErrorKind::Broken, words));
        }
        Ok(())
    }

    fn read_whole(
        &mut self,
        body: &str,
        told: &mut dyn FnMut(RequestProgress<'_>),
    ) -> Result<(), ApiError> {
        if is_web_page(body.as_bytes()) {
            return Err(ApiError::new(ApiErrorKind::WebPage, ""));
        }
        for delta in self
            .provider
            .wire
            .decode_body(&self.surrogates.join(body))?
        {
            self.take(delta, told)?;
        }
        Ok(())
    }

    fn decode(&mut self, mut event: SseEvent) -> Result<Vec<StreamDelta>, ApiError> {
        if let Cow::Owned(joined) = self.surrogates.join(&event.data) {
            event.data = joined;
        }
        Ok(self.provider.wire.decode_event(&event)?)
    }

    fn take(
        &mut self,
        delta: StreamDelta,
        told: &mut dyn FnMut(RequestProgress<'_>),
    ) -> Result<(), ApiError> {
        match delta {
            StreamDelta::Text(text) => {
                if self.text.len() + text.len() > LONGEST_ANSWER {
                    return Err(ApiError::new(ApiErrorKind::TooLong, ""));
                }
                self.first.get_or_insert_with(Instant::now);
                self.received += text.chars().count();
                self.flush_reasoning(told);
                let passed = self.text_filters.push(&text);
                self.push_text(&passed, told);
            }
            StreamDelta::Reasoning(text) => {
                self.first.get_or_insert_with(Instant::now);
                self.has_reasoned = true;
                self.received += text.chars().count();
                let passed = self.reasoning_filters.push(&text);
                if !passed.is_empty() {
                    told(RequestProgress::Reasoning(&passed));
                }
            }
            StreamDelta::Refusal(text) => {
                self.received += text.chars().count();
                if self.refusal.len() + text.len() <= LONGEST_ANSWER {
                    self.refusal.push_str(&text);
                }
            }
            StreamDelta::Usage(mut usage) => {
                usage.billed_micros = usage.billed_micros.filter(|_| self.provider.tells_cost);
                self.usage.merge(usage);
            }
            StreamDelta::Finish(finish) => self.finish = Some(finish),
            StreamDelta::Failed(complaint) => return Err(ApiError::from_stream(&complaint)),
            StreamDelta::End => self.has_ended = true,
        }
        Ok(())
    }

    fn complete(self, tries: u32, spent: TokenUsage) -> Result<Completion, ApiError> {
        let mut usage = self.usage;
        usage.add(&spent);
        let end = match (self.broken, self.finish) {
            (Some(why), _) if why.kind == ApiErrorKind::Stopped => CompletionEnd::Stopped,
            (Some(why), _) => CompletionEnd::Broken(why),
            (None, Some(FinishReason::Refused)) => CompletionEnd::Refused(self.refusal),
            (None, Some(FinishReason::Length)) => CompletionEnd::LengthLimit,
            (None, _) if self.text.is_empty() && !self.refusal.is_empty() => {
                CompletionEnd::Refused(self.refusal)
            }
            (None, _) => CompletionEnd::Whole,
        };
        let is_refusal = matches!(end, CompletionEnd::Refused(_));
        if self.text.trim().is_empty() && !is_refusal {
            let words = match (end, self.has_reasoned) {
                (CompletionEnd::LengthLimit, _) => "the model met its limit before it wrote any",
                (_, true) => "the model only reasoned",
                (_, false) => "",
            };
            return Err(ApiError {
                spent: usage,
                ..ApiError::new(ApiErrorKind::Empty, words)
            });
        }
        Ok(Completion {
            text: self.text,
            end,
            usage,
            timing: ReplyTiming {
                to_first: self
                    .first
                    .map_or(Duration::ZERO, |first| first - self.begun),
                total: self.begun.elapsed(),
            },
            tries,
            is_streamed: self.is_streamed,
        })
    }
}

/// The response if it has an answer in it.
fn accepted(mut response: Response<Body>) -> Result<Response<Body>, ApiError> {
    let status = response.status().as_u16();
    if response.status().is_success() {
        if has_type(response.headers(), "text/html") {
            return Err(ApiError::new(ApiErrorKind::WebPage, ""));
        }
        return Ok(response);
    }
    let wait = asked_wait(response.headers());
    let location = response.headers().get("location");
    let location = location
        .and_then(|value| value.to_str().ok())
        .map(str::to_owned);
    let body = beginning_of(&mut response, LONGEST_ERROR);
    let mut complaint = serde_json::from_str(&body)
        .ok()
        .as_ref()
        .and_then(complaint_in)
        .unwrap_or_default();
    if complaint.message.is_empty() && !body.trim_start().starts_with('<') {
        complaint.message = body;
    }
    if let (300..=399, Some(location)) = (status, location) {
        // Only the host: the rest may be long, or have something secret in it.
        complaint.message = format!("to `{}`", host_of(&location).unwrap_or(location));
    }
    Err(ApiError {
        retry_after: wait,
        ..ApiError::from_status(status, &complaint)
    })
}

fn asked_wait(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let millis = text("retry-after-ms").and_then(|value| value.trim().parse().ok());
    if let Some(millis) = millis {
        return Some(Duration::from_millis(millis));
    }
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    retry_after(text("retry-after")?, now.unwrap_or_default().as_secs())
}

fn is_json(headers: &HeaderMap) -> bool {
    has_type(headers, "application/json")
}

fn has_type(headers: &HeaderMap, name: &str) -> bool {
    let kind = headers
        .get("content-type")
        .and_then(|value| value.to_str().ok());
    kind.is_some_and(|kind| kind.trim_start().to_ascii_lowercase().starts_with(name))
}

/// Returns true if a body begins as HTML does, and neither JSON nor a stream of events.
fn is_web_page(body: &[u8]) -> bool {
    body.trim_ascii_start().starts_with(b"<")
}

/// The beginning of a body, as far as it comes.
fn beginning_of(response: &mut Response<Body>, limit: u64) -> String {
    let mut bytes = Vec::new();
    let reader = response.body_mut().with_config().limit(u64::MAX).reader();
    // What came before a break is still the server's words.
    let _ = reader.take(limit).read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

fn text_of(response: &mut Response<Body>, limit: u64) -> Result<String, ApiError> {
    let mut bytes = Vec::new();
    let reader = response.body_mut().with_config().limit(u64::MAX).reader();
    match reader.take(limit + 1).read_to_end(&mut bytes) {
        Ok(read) if read as u64 > limit => Err(ApiError::new(ApiErrorKind::TooLong, "")),
        Ok(_) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) => Err(broken(&error.into())),
    }
}

/// The error for a request that failed before an answer began.
fn transport_error(error: &ureq::Error) -> ApiError {
    let kind = match error {
        ureq::Error::Rustls(_) | ureq::Error::Tls(_) | ureq::Error::Pem(_) => ApiErrorKind::Tls,
        ureq::Error::Io(cause) if is_about_tls(cause) => ApiErrorKind::Tls,
        ureq::Error::ConnectProxyFailed(_) | ureq::Error::InvalidProxyUrl => ApiErrorKind::Proxy,
        ureq::Error::Timeout(ureq::Timeout::Connect | ureq::Timeout::Resolve) => {
            ApiErrorKind::Unreachable
        }
        ureq::Error::Timeout(_) => ApiErrorKind::Idle,
        ureq::Error::BadUri(_) | ureq::Error::Http(_) => ApiErrorKind::BadUrl,
        ureq::Error::Protocol(_) | ureq::Error::LargeResponseHeader(..) => ApiErrorKind::Malformed,
        _ => ApiErrorKind::Unreachable,
    };
    ApiError::new(kind, words_of(error))
}

/// The error for an answer that broke off.
fn broken(error: &ureq::Error) -> ApiError {
    let kind = match error {
        ureq::Error::Timeout(_) => ApiErrorKind::Idle,
        _ => ApiErrorKind::Broken,
    };
    ApiError::new(kind, words_of(error))
}

/// Returns true if there was no connection at all.
fn is_without_connection(error: &ureq::Error) -> bool {
    match error {
        ureq::Error::HostNotFound
        | ureq::Error::ConnectionFailed
        | ureq::Error::Timeout(ureq::Timeout::Connect | ureq::Timeout::Resolve) => true,
        ureq::Error::Io(cause) => matches!(
            cause.kind(),
            std::io::ErrorKind::ConnectionRefused
                | std::io::ErrorKind::HostUnreachable
                | std::io::ErrorKind::NetworkUnreachable
        ),
        _ => false,
    }
}

fn words_of(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Timeout(ureq::Timeout::Connect | ureq::Timeout::Resolve) => {
            format!("no connection within {} s", CONNECT_LIMIT.as_secs())
        }
        // The kind says it in words.
        ureq::Error::Timeout(_) => String::new(),
        ureq::Error::Io(cause) if cause.kind() == std::io::ErrorKind::UnexpectedEof => {
            "the server closed it".to_owned()
        }
        ureq::Error::Io(cause) => cause.to_string(),
        error => error.to_string(),
    }
}

/// The handshake's errors arrive as errors of the socket.
fn is_about_tls(cause: &std::io::Error) -> bool {
    cause.kind() == std::io::ErrorKind::InvalidData
}

/// Any number; nothing depends on its quality.
fn random() -> u64 {
    RandomState::new().hash_one(0_u8)
}

impl fmt::Display for ApiEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.provider.name, self.base)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_goes_to_nobody_unencrypted_over_the_internet() {
        let provider = Provider::named("custom").unwrap();
        let key = || ApiKey::new("sk-123456");
        let made = |url: &str, key| ApiEndpoint::new(provider, Some(url), key).map(|_| ());
        for url in [
            "https://api.example.com/v1",
            "http://127.0.0.1:1/v1",
            "http://[::1]:1/v1",
            "http://localhost:1",
            "http://192.168.1.5/v1",
            "http://box.local",
            "http://gpu:8000/v1",
            "http://3d-box:8000/v1",
        ] {
            made(url, key()).unwrap();
        }
        for url in [
            "http://api.example.com/v1",
            "http://8.8.8.8/v1",
            "http://134744072/v1",
            "http://0x08080808/v1",
            "http://0X8080808:80/v1",
            "http://01002004010/v1",
            "http://8.526344/v1",
            "http://[2001:db8::1]/v1",
        ] {
            assert_eq!(
                made(url, key()).unwrap_err().kind,
                ApiErrorKind::BadUrl,
                "{url}"
            );
            made(url, None).unwrap();
        }
        for url in [
            "",
            "x",
            "ftp://h/",
            "https://",
            "https://u:p@h/v1",
            "https://h/v1?key=1",
        ] {
            assert!(made(url, None).is_err(), "{url}");
        }
    }

    #[test]
    fn a_proxy_that_is_no_url_is_refused_by_its_name() {
        let refused = |name: &str, value: &str| {
            ensure_proxies_are_urls(|asked| (asked == name).then(|| value.to_owned()))
        };
        for name in ["ALL_PROXY", "HTTPS_PROXY", "http_proxy"] {
            for value in ["http://", "gopher://h:1", "ht!tp://me:secret@h"] {
                let error = refused(name, value).unwrap_err();
                assert_eq!(error.kind, ApiErrorKind::BadProxy, "{value}");
                assert!(error.message.starts_with(name), "{error}");
                assert!(!error.message.contains("secret"), "{error}");
            }
            for value in ["", "http://h:1", "h:3128", "socks5://me:secret@h:1080"] {
                refused(name, value).unwrap();
            }
        }
    }

    #[test]
    fn a_missing_key_is_told_before_anything_is_sent() {
        let provider = Provider::named("openai").unwrap();
        let error = ApiEndpoint::new(provider, None, None).unwrap_err();
        assert_eq!(error.kind, ApiErrorKind::KeyMissing);
        assert!(error.message.contains("OPENAI_API_KEY"), "{error}");
    }

    #[test]
    fn lists_of_models_are_read_in_every_form() {
        let model = |name: &str, window| ServedModel {
            name: name.to_owned(),
            window,
        };
        let case = |json: &str, models: &[ServedModel]| assert_eq!(served_models(json), models);
        case(
            r#"{"object":"list","data":[{"id":"a","meta":{"n_ctx":8192}},{"id":"b","max_model_len":5}]}"#,
            &[model("a", Some(8192)), model("b", Some(5))],
        );
        case(
            r#"{"data":[{"id":"models/gemini-x"}]}"#,
            &[model("gemini-x", None)],
        );
        case(r#"[{"id":"c","context_length":7}]"#, &[model("c", Some(7))]);
        case("<html>", &[]);
    }

    #[test]
    fn speed_is_counted_from_the_first_token() {
        let timing = ReplyTiming {
            to_first: Duration::from_secs(3),
            total: Duration::from_secs(5),
        };
        assert_eq!(timing.tenths_per_second(100), Some(500));
        let at_once = ReplyTiming {
            to_first: Duration::from_millis(400),
            total: Duration::from_millis(480),
        };
        assert_eq!(at_once.tenths_per_second(100), None);
    }
}
