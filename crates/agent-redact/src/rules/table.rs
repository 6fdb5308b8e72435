//! The lists of patterns that rules and checks refer to.

/// Names of which the value is about a secret, or public: `_name_` after a telling word.
pub(in super::super) const ABOUT: &str = r"_(?:(?:type|kind|name|path|folder|file|store|field|length|size|count|limit|expir|lifetime|timeout|header|prefix|suffix|regex|pattern|format|label|title|message|hint|placeholder|prompt|algo|mode|fingerprint|hash|digest|checksum|policy|scope|issuer|audience|provider|version|endpoint|reset|help|commit|revision|email|level|region|bucket|host|domain|locale|timezone|feature)[a-z0-9]*|url|uri|dir|len|max|min|ttl|re|msg|alg|sha|env|var|arn|id|tag|rev|mail|zone|build|release|image|branch)_";

/// Names of keys that are public or an index, and of tokens that are a position in a list.
pub(in super::super) const OPEN: &str = r"_(?:public|pub|publishable|verifying|verification|verify|host|primary|foreign|unique|cache|sort|partition|row|group|index|map|object|s3|bucket|etag|build|artifact|idempotency|storage|lookup|registry|routing|site|search|translation|hot|shortcut|recv|gpg|pgp|trusted)_key_|_(?:page|next|continuation|sync|cursor)_token_|_pub(?:lic)?key_";

/// Files of settings, in which values are not quoted.
pub(in super::super) const SETTINGS: &str = r"\.(?:ini|cfg|cnf|conf|properties|env|ya?ml|tfvars|npmrc|pypirc|toml|json|config)\z|\Acredentials\z";

/// Files of environment variables.
pub(in super::super) const ENVIRONMENT: &str = r"\A\.env(?:rc|\..*)?\z|\.env\z";

/// Names of files that are templates for settings, or samples.
pub(in super::super) const EXAMPLES: &str = r"example|sample|template|dist|schema";

/// Paths of tests, fixtures and documentation, in which secrets are often made up.
pub(in super::super) const TESTS: &str = r"(?i)(?:\A|/)(?:tests?|specs?|__tests__|fixtures?|testdata|test[_-]data|mocks?|__mocks__|e2e|examples?|samples?|docs?|benches|cypress|playwright)/|(?:\A|/)(?:test_|tests?\.|conftest)[^/]*\z|[._-](?:test|tests|spec|mock|fixture|e2e)s?\.[^/]*\z|(?:Test|Tests|Spec)\.[a-z]+\z|\.mdx?\z";

/// Values of a `.env` file that are no secrets: switches, variables of the shell, stand-ins between
/// brackets, and URLs, in which only the password is secret, and that has a rule.
pub(in super::super) const HARMLESS: &str =
    r"\A(?i:true|false|none|null|yes|no|on|off)\z|\A\$(?:[{(].*|[A-Z0-9_]*|[a-z_]*)\z|\A<.*>\z|://";

/// Words in samples and templates.
pub(in super::super) const SAMPLES: &str = r"(?i)example|sample|dummy|change[_-]?me|placeholder|redacted|your[_pstk-]|x{4}|\*{4}|\.{4}|1234567890|0123456789|abcdefgh|0{8}|deadbeef|\[secret-|insert";

/// Marks of texts that a program fills in.
pub(in super::super) const TEMPLATES: &str = r"[{}<>()\\`]|\A[$%@&]|\$\(|%s";

/// Variables, calls and conversions, at places where everything else is a password.
pub(in super::super) const VARIABLES: &str = r"\$[{(]|\{\{|\{[\w.\[\]() ]*\}|<[A-Za-z_][\w .-]*>|\A[$@%&][A-Za-z_]+%?\z|\A[$@%&][A-Z_]+[0-9]*%?\z|%[sdv]|%\(|[A-Za-z_]\w*\([^()]*\)|\\|`";

/// Marks of texts that a program fills in and that no random text has: names between brackets,
/// conversions, escapes, ranges, words.
pub(in super::super) const WRITTEN_MARKS: &str = r"\$\{|\{\{|%\(|\(\?|\(\)|</|/>|=>|->|\\|`|a-z|A-Z|0-9|\{\w*\}|<\w{2,}>|\(\w*\)|\A[$@%&]\w+\z|%[-0-9.]{0,4}[a-zA-Z]%|[A-Za-z_]\w*\([^()]*\)|[a-z]{5}|[A-Z]{6}";

/// Words that stand for a password.
pub(in super::super) const STAND_INS: &str = r"(?i)\A(?:my|the|some|new|old|db|user|your)?[_-]?(?:pass|passwd|password|passwort|secret|sekrit|token|user|username|test|root|admin|guest|postgres|mysql|string|text|str|varchar|required|optional|none|null|nil|true|false|yes|no|undefined|value|variable|optional|hidden|masked|prompt|default|empty|invalid|incorrect|wrong|missing|literal|foo|bar|baz|foobar|key|apikey|api_key|pwd|hash|field|bytes|object|enabled|disabled|any)[0-9]{0,3}\z|\A[.*?:_-]+\z|\A:[a-z_]+\z|\A[a-z]+(?:(?:%20|\+)[a-z]+)+\z";

/// Paths, URLs, numbers with a unit and digests.
pub(in super::super) const LOCATIONS: &str = r"://|::|\A(?:\.{0,2}/|~/|0x|sha[125]|md5)";

/// UUIDs.
pub(in super::super) const UUID: &str = r"\A[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}\z";

/// Names of files, and e-mail addresses.
pub(in super::super) const FILES: &str = r"\A(?:[0-9A-Za-z_.~ @/-]*/)?[0-9A-Za-z_.~ @-]+\.(?i:pem|crt|cer|der|csr|key|pub|p12|pfx|jks|keystore|jsonc?|ya?ml|toml|xml|txt|env|conf|cfg|ini|properties|sqlite3?|sql|log|csv|png|jpe?g|svg|gif|pdf|html|css|md|sh|py|zip|tar|gz)\z|\A[0-9A-Za-z_.+-]+@(?:[0-9A-Za-z-]+\.)+[a-z]{2,}\z";

/// Paths whose parts are words, at most followed by a number. Base64 has no such parts.
pub(in super::super) const PATHS: &str = r"\A[.~/]*(?:[A-Za-z]?[a-z]*[0-9]*[/_.-])*[A-Za-z][a-z]{2,}[0-9]*(?:[/_.-][A-Za-z]?[a-z]*[0-9]*)*\z";

/// Words separated by punctuation, and versions.
pub(in super::super) const LISTS: &str = r"\A(?:(?:\pL(?:\p{Ll}{0,15}|\p{Lu}{0,15}))?[,;|:_./ -])*(?:\pL(?:\p{Ll}{0,15}|\p{Lu}{0,15}))?\z|\Av?[0-9]+[.-]";

/// A few words.
pub(in super::super) const WORDS: &str =
    r"\A(?:(?:\pL(?:\p{Ll}+|\p{Lu}+))?[\s_./,-])*(?:\pL(?:\p{Ll}+|\p{Lu}+))?\z";

/// MD5, SHA-1 and SHA-2.
pub(in super::super) const DIGEST: &str = r"\A(?:[0-9a-fA-F]{32}|[0-9a-fA-F]{40}|[0-9a-fA-F]{56}|[0-9a-fA-F]{64}|[0-9a-fA-F]{96}|[0-9a-fA-F]{128})\z";
