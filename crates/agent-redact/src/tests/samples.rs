//! Tokens of well-known formats, put together from their parts.

pub(super) const ALPHANUMERIC: &str =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
pub(super) const HEX: &str = "0123456789abcdef";
pub(super) const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
pub(super) const BECH32: &str = "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L";
pub(super) const DJANGO: &str = "abcdefghijklmnopqrstuvwxyz0123456789!@#$%^&*(-_=+)";
pub(super) const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Random characters, the same in every run, other ones for every seed.
pub(super) fn random(seed: u64, alphabet: &str, length: usize) -> String {
    let alphabet: Vec<char> = alphabet.chars().collect();
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        alphabet[usize::try_from(state >> 33).unwrap() % alphabet.len()]
    };
    for _ in 0..8 {
        next();
    }
    (0..length).map(|_| next()).collect()
}

/// Draws random characters, the same for the same seed.
#[derive(Clone, Copy)]
struct Dice(u64);

impl Dice {
    fn alphanumeric(self, length: usize) -> String {
        random(self.0, ALPHANUMERIC, length)
    }

    fn hex(self, length: usize) -> String {
        random(self.0 + 1, HEX, length)
    }

    fn upper(self, length: usize) -> String {
        random(self.0 + 2, UPPER, length)
    }

    fn base64(self, length: usize) -> String {
        random(self.0 + 3, BASE64, length)
    }

    fn digits(self, length: usize) -> String {
        random(self.0 + 4, "123456789", length)
    }
}

/// The kind of a token, a text that contains it, and the token alone.
type Sample = (&'static str, String, String);

/// Tokens of well-known formats.
pub(super) fn samples(seed: u64) -> Vec<Sample> {
    let mut samples = Vec::new();
    let mut plain = |kind, token: String| samples.push((kind, format!("x = '{token}';"), token));
    tokens(Dice(seed), &mut plain);
    more_tokens(Dice(seed), &mut plain);
    let mut within = |kind, before: String, token: String, after: &str| {
        samples.push((kind, format!("{before}{token}{after}"), token));
    };
    tokens_in_their_places(Dice(seed), &mut within);
    samples
}

#[rustfmt::skip] // A table, one format a line.
fn tokens(dice: Dice, plain: &mut dyn FnMut(&'static str, String)) {
    plain("aws", format!("AK{}{}", "IA", dice.upper(16)));
    plain("aws-temporary", format!("AS{}{}", "IA", dice.upper(16)));
    plain("github", format!("gh{}{}", "p_", dice.alphanumeric(36)));
    plain("github-oauth", format!("gh{}{}", "o_", dice.alphanumeric(36)));
    plain("github-app", format!("gh{}{}", "s_", dice.alphanumeric(36)));
    plain("github-fine", format!("github_{}{}_{}", "pat_", dice.alphanumeric(22), dice.alphanumeric(59)));
    plain("gitlab", format!("gl{}{}", "pat-", dice.alphanumeric(20)));
    plain("gitlab-runner", format!("gl{}{}", "rt-", dice.alphanumeric(20)));
    plain("slack-bot", format!("xo{}{}-{}-{}", "xb-", dice.digits(12), dice.digits(12), dice.alphanumeric(24)));
    plain("slack-user", format!("xo{}{}-{}-{}-{}", "xp-", dice.digits(12), dice.digits(12), dice.digits(12), dice.hex(32)));
    plain("slack-app", format!("xa{}1-A{}-{}-{}", "pp-", dice.upper(10), dice.digits(13), dice.hex(64)));
    plain("stripe", format!("sk_{}{}", "live_", dice.alphanumeric(24)));
    plain("stripe-restricted", format!("rk_{}{}", "live_", dice.alphanumeric(24)));
    plain("stripe-webhook", format!("wh{}{}", "sec_", dice.alphanumeric(32)));
    plain("google", format!("AI{}{}", "za", dice.alphanumeric(35)));
    plain("google-oauth", format!("GOC{}{}", "SPX-", dice.alphanumeric(28)));
    plain("google-access", format!("ya{}{}", "29.", dice.alphanumeric(120)));
    plain("openai", format!("sk-{}{}T3Blb{}{}", "proj-", dice.alphanumeric(74), "kFJ", dice.alphanumeric(74)));
    plain("openai-old", format!("s{}{}T3Blb{}{}", "k-", dice.alphanumeric(20), "kFJ", dice.alphanumeric(20)));
    plain("anthropic", format!("sk-{}api03-{}AA", "ant-", dice.alphanumeric(93)));
    plain("npm", format!("np{}{}", "m_", dice.alphanumeric(36)));
    plain("pypi", format!("py{}AgEIcHlwaS5vcmc{}", "pi-", dice.alphanumeric(100)));
    plain("jwt", format!("ey{}.ey{}.{}", "JhbGciOiJIUzI1NiJ9", "JzdWIiOiIxMjM0NTYifQ", dice.alphanumeric(43)));
    plain("sendgrid", format!("S{}{}.{}", "G.", dice.alphanumeric(22), dice.alphanumeric(43)));
    plain("twilio", format!("S{}{}", "K", dice.hex(32)));
    plain("digitalocean", format!("do{}{}", "p_v1_", dice.hex(64)));
    plain("huggingface", format!("h{}{}", "f_", dice.alphanumeric(34)));
    plain("telegram", format!("{}:A{}{}", dice.digits(10), "A", dice.alphanumeric(33)));
    plain("shopify", format!("shp{}{}", "at_", dice.hex(32)));
    plain("square", format!("sq0{}{}", "atp-", dice.alphanumeric(22)));
    plain("mailgun", format!("ke{}{}", "y-", dice.hex(32)));
    plain("mailchimp", format!("{}-u{}", dice.hex(32), "s14"));
    plain("databricks", format!("da{}{}", "pi", dice.hex(32)));
    plain("heroku", format!("HR{}AA{}", "KU-", dice.alphanumeric(58)));
    plain("docker", format!("dckr_{}{}", "pat_", dice.alphanumeric(27)));
    plain("vault", format!("hv{}{}", "s.", dice.alphanumeric(90)));
    plain("terraform", format!("{}.atlas{}{}", dice.alphanumeric(14), "v1.", dice.alphanumeric(64)));
    plain("age", format!("AGE-SECRET-{}{}", "KEY-1", random(dice.0, BECH32, 58)));
    plain("rubygems", format!("ruby{}{}", "gems_", dice.hex(48)));
    plain("crates", format!("ci{}{}", "o", dice.alphanumeric(32)));
    plain("nuget", format!("oy{}{}", "2", random(dice.0, "abcdefghijklmnop0123456789", 43)));
}

#[rustfmt::skip] // A table, one format a line.
fn more_tokens(dice: Dice, plain: &mut dyn FnMut(&'static str, String)) {
    plain("grafana", format!("gl{}{}_{}", "sa_", dice.alphanumeric(32), dice.hex(8)));
    plain("newrelic", format!("NR{}{}", "AK-", dice.upper(27)));
    plain("sentry", format!("sn{}{}", "tryu_", dice.hex(64)));
    plain("linear", format!("lin_{}{}", "api_", dice.alphanumeric(40)));
    plain("notion", format!("nt{}{}", "n_", dice.alphanumeric(46)));
    plain("figma", format!("fi{}{}", "gd_", dice.alphanumeric(40)));
    plain("postman", format!("PM{}{}-{}", "AK-", dice.hex(24), dice.hex(34)));
    plain("airtable", format!("pa{}{}.{}", "t", dice.alphanumeric(14), dice.hex(64)));
    plain("doppler", format!("dp.{}{}", "pt.", dice.alphanumeric(43)));
    plain("supabase", format!("sb{}{}", "p_", dice.hex(40)));
    plain("groq", format!("gs{}{}", "k_", dice.alphanumeric(52)));
    plain("replicate", format!("r{}{}", "8_", dice.alphanumeric(37)));
    plain("circleci", format!("CCI{}{}_{}", "PAT_", dice.alphanumeric(22), dice.hex(40)));
    plain("atlassian", format!("AT{}{}={}", "ATT3", dice.alphanumeric(184), dice.upper(8)));
    plain("dynatrace", format!("dt{}{}.{}", "0c01.", dice.upper(24), dice.upper(64)));
    plain("pulumi", format!("pu{}{}", "l-", dice.hex(40)));
    plain("planetscale", format!("pscale_{}{}", "tkn_", dice.alphanumeric(43)));
    plain("azure-client", format!("{}8{}{}", dice.alphanumeric(3), "Q~", dice.alphanumeric(34)));
    plain("bedrock", format!("AB{}{}", "SK", dice.base64(128)));
    plain("mapbox", format!("s{}{}.{}", "k.eyJ", dice.alphanumeric(80), dice.alphanumeric(22)));
    plain("fly", format!("fm{}{}", "2_", dice.base64(300)));
    plain("langsmith", format!("ls{}{}_{}", "v2_pt_", dice.hex(32), dice.hex(10)));
    plain("typeform", format!("tf{}{}", "p_", dice.alphanumeric(59)));
    plain("contentful", format!("CF{}{}", "PAT-", dice.alphanumeric(43)));
    plain("nvidia", format!("nv{}{}", "api-", dice.alphanumeric(64)));
    plain("pinecone", format!("pc{}{}_{}", "sk_", dice.alphanumeric(6), dice.alphanumeric(63)));
    plain("tavily", format!("tv{}{}", "ly-", dice.alphanumeric(32)));
    plain("resend", format!("r{}{}_{}", "e_", dice.alphanumeric(8), dice.alphanumeric(24)));
    plain("django", format!("django-{}{}", "insecure-", random(dice.0, DJANGO, 50)));
}

#[rustfmt::skip] // A table, one place a line.
fn tokens_in_their_places(dice: Dice, within: &mut dyn FnMut(&'static str, String, String, &str)) {
    within("aws-secret", "aws_secret_access_key = ".to_owned(), dice.base64(40), "\n");
    within("azure-storage", "AccountName=a;AccountKey=".to_owned(), format!("{}==", dice.base64(86)), ";");
    within("slack-webhook", format!("https://hooks.{}/services/", "slack.com"), format!("T{}/B{}/{}", dice.upper(8), dice.upper(8), dice.alphanumeric(24)), "\"");
    within("discord-webhook", "https://discord.com/api/webhooks/".to_owned(), format!("{}/{}", dice.digits(18), dice.alphanumeric(68)), "\n");
    within("discord", "DISCORD_TOKEN=".to_owned(), format!("M{}.{}.{}", dice.alphanumeric(23), dice.alphanumeric(6), dice.alphanumeric(38)), "\n");
    within("twilio-token", "TWILIO_AUTH_TOKEN=".to_owned(), dice.hex(32), "\n");
    within("bearer", "Authorization: Bearer ".to_owned(), dice.alphanumeric(40), "\n");
    within("url", "postgres://app:".to_owned(), dice.alphanumeric(20), "@db.internal:5432/app");
    within("password", "password = \"".to_owned(), dice.alphanumeric(16), "\"");
    within("json", "\"clientSecret\": \"".to_owned(), dice.alphanumeric(32), "\"");
    within("rust", "const API_KEY: &str = \"".to_owned(), dice.alphanumeric(32), "\";");
    within("escaped", "\"a\\n".to_owned(), format!("gh{}{}", "p_", dice.alphanumeric(36)), "\\nb\"");
    within("quoted in a URL", "?q=%22".to_owned(), format!("gh{}{}", "p_", dice.alphanumeric(36)), "%22");
    within("repr", "b'\\x00".to_owned(), format!("AK{}{}", "IA", dice.upper(16)), "\\x00'");
    within("coloured", "\u{1b}[1;31m".to_owned(), format!("gl{}{}", "pat-", dice.alphanumeric(20)), "\u{1b}[0m");
    within("django-old", "SECRET_KEY = '".to_owned(), random(dice.0, DJANGO, 50), "'");
    within("curl", "curl -u admin:".to_owned(), dice.alphanumeric(16), " https://x");
    within("header", "'Authorization': 'Token ".to_owned(), dice.alphanumeric(40), "'");
    within("openai-name", "OPENAI_KEY: \"".to_owned(), dice.alphanumeric(40), "\"");
    within("environment", "APP_SECRET=".to_owned(), dice.alphanumeric(32), "\n");
}
