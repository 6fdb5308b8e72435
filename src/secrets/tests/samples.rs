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

/// Tokens of well-known formats: what they are, a text in which one stands, and the token alone.
#[rustfmt::skip] // A table, one format a line.
pub(super) fn samples(seed: u64) -> Vec<(&'static str, String, String)> {
    let alphanumeric = |length| random(seed, ALPHANUMERIC, length);
    let hex = |length| random(seed + 1, HEX, length);
    let upper = |length| random(seed + 2, UPPER, length);
    let base64 = |length| random(seed + 3, BASE64, length);
    let digits = |length| random(seed + 4, "123456789", length);
    let mut samples = Vec::new();
    let mut plain = |kind, token: String| samples.push((kind, format!("x = '{token}';"), token));
    plain("aws", format!("AK{}{}", "IA", upper(16)));
    plain("aws-temporary", format!("AS{}{}", "IA", upper(16)));
    plain("github", format!("gh{}{}", "p_", alphanumeric(36)));
    plain("github-oauth", format!("gh{}{}", "o_", alphanumeric(36)));
    plain("github-app", format!("gh{}{}", "s_", alphanumeric(36)));
    plain("github-fine", format!("github_{}{}_{}", "pat_", alphanumeric(22), alphanumeric(59)));
    plain("gitlab", format!("gl{}{}", "pat-", alphanumeric(20)));
    plain("gitlab-runner", format!("gl{}{}", "rt-", alphanumeric(20)));
    plain("slack-bot", format!("xo{}{}-{}-{}", "xb-", digits(12), digits(12), alphanumeric(24)));
    plain("slack-user", format!("xo{}{}-{}-{}-{}", "xp-", digits(12), digits(12), digits(12), hex(32)));
    plain("slack-app", format!("xa{}1-A{}-{}-{}", "pp-", upper(10), digits(13), hex(64)));
    plain("stripe", format!("sk_{}{}", "live_", alphanumeric(24)));
    plain("stripe-restricted", format!("rk_{}{}", "live_", alphanumeric(24)));
    plain("stripe-webhook", format!("wh{}{}", "sec_", alphanumeric(32)));
    plain("google", format!("AI{}{}", "za", alphanumeric(35)));
    plain("google-oauth", format!("GOC{}{}", "SPX-", alphanumeric(28)));
    plain("google-access", format!("ya{}{}", "29.", alphanumeric(120)));
    plain("openai", format!("sk-{}{}T3Blb{}{}", "proj-", alphanumeric(74), "kFJ", alphanumeric(74)));
    plain("openai-old", format!("s{}{}T3Blb{}{}", "k-", alphanumeric(20), "kFJ", alphanumeric(20)));
    plain("anthropic", format!("sk-{}api03-{}AA", "ant-", alphanumeric(93)));
    plain("npm", format!("np{}{}", "m_", alphanumeric(36)));
    plain("pypi", format!("py{}AgEIcHlwaS5vcmc{}", "pi-", alphanumeric(100)));
    plain("jwt", format!("ey{}.ey{}.{}", "JhbGciOiJIUzI1NiJ9", "JzdWIiOiIxMjM0NTYifQ", alphanumeric(43)));
    plain("sendgrid", format!("S{}{}.{}", "G.", alphanumeric(22), alphanumeric(43)));
    plain("twilio", format!("S{}{}", "K", hex(32)));
    plain("digitalocean", format!("do{}{}", "p_v1_", hex(64)));
    plain("huggingface", format!("h{}{}", "f_", alphanumeric(34)));
    plain("telegram", format!("{}:A{}{}", digits(10), "A", alphanumeric(33)));
    plain("shopify", format!("shp{}{}", "at_", hex(32)));
    plain("square", format!("sq0{}{}", "atp-", alphanumeric(22)));
    plain("mailgun", format!("ke{}{}", "y-", hex(32)));
    plain("mailchimp", format!("{}-u{}", hex(32), "s14"));
    plain("databricks", format!("da{}{}", "pi", hex(32)));
    plain("heroku", format!("HR{}AA{}", "KU-", alphanumeric(58)));
    plain("docker", format!("dckr_{}{}", "pat_", alphanumeric(27)));
    plain("vault", format!("hv{}{}", "s.", alphanumeric(90)));
    plain("terraform", format!("{}.atlas{}{}", alphanumeric(14), "v1.", alphanumeric(64)));
    plain("age", format!("AGE-SECRET-{}{}", "KEY-1", random(seed, BECH32, 58)));
    plain("rubygems", format!("ruby{}{}", "gems_", hex(48)));
    plain("crates", format!("ci{}{}", "o", alphanumeric(32)));
    plain("nuget", format!("oy{}{}", "2", random(seed, "abcdefghijklmnop0123456789", 43)));
    plain("grafana", format!("gl{}{}_{}", "sa_", alphanumeric(32), hex(8)));
    plain("newrelic", format!("NR{}{}", "AK-", upper(27)));
    plain("sentry", format!("sn{}{}", "tryu_", hex(64)));
    plain("linear", format!("lin_{}{}", "api_", alphanumeric(40)));
    plain("notion", format!("nt{}{}", "n_", alphanumeric(46)));
    plain("figma", format!("fi{}{}", "gd_", alphanumeric(40)));
    plain("postman", format!("PM{}{}-{}", "AK-", hex(24), hex(34)));
    plain("airtable", format!("pa{}{}.{}", "t", alphanumeric(14), hex(64)));
    plain("doppler", format!("dp.{}{}", "pt.", alphanumeric(43)));
    plain("supabase", format!("sb{}{}", "p_", hex(40)));
    plain("groq", format!("gs{}{}", "k_", alphanumeric(52)));
    plain("replicate", format!("r{}{}", "8_", alphanumeric(37)));
    plain("circleci", format!("CCI{}{}_{}", "PAT_", alphanumeric(22), hex(40)));
    plain("atlassian", format!("AT{}{}={}", "ATT3", alphanumeric(184), upper(8)));
    plain("dynatrace", format!("dt{}{}.{}", "0c01.", upper(24), upper(64)));
    plain("pulumi", format!("pu{}{}", "l-", hex(40)));
    plain("planetscale", format!("pscale_{}{}", "tkn_", alphanumeric(43)));
    plain("azure-client", format!("{}8{}{}", alphanumeric(3), "Q~", alphanumeric(34)));
    plain("bedrock", format!("AB{}{}", "SK", base64(128)));
    plain("mapbox", format!("s{}{}.{}", "k.eyJ", alphanumeric(80), alphanumeric(22)));
    plain("fly", format!("fm{}{}", "2_", base64(3000)));
    plain("langsmith", format!("ls{}{}_{}", "v2_pt_", hex(32), hex(10)));
    plain("typeform", format!("tf{}{}", "p_", alphanumeric(59)));
    plain("contentful", format!("CF{}{}", "PAT-", alphanumeric(43)));
    plain("nvidia", format!("nv{}{}", "api-", alphanumeric(64)));
    plain("pinecone", format!("pc{}{}_{}", "sk_", alphanumeric(6), alphanumeric(63)));
    plain("tavily", format!("tv{}{}", "ly-", alphanumeric(32)));
    plain("resend", format!("r{}{}_{}", "e_", alphanumeric(8), alphanumeric(24)));
    plain("jwt-long", format!("ey{}.ey{}{}.{}", "JhbGciOiJIUzI1NiJ9", "J", alphanumeric(6000), alphanumeric(43)));
    plain("django", format!("django-{}{}", "insecure-", random(seed, DJANGO, 50)));
    let mut within = |kind, before: String, token: String, after: &str| { samples.push((kind, format!("{before}{token}{after}"), token)); };
    within("aws-secret", "aws_secret_access_key = ".to_owned(), base64(40), "\n");
    within("azure-storage", "AccountName=a;AccountKey=".to_owned(), format!("{}==", base64(86)), ";");
    within("slack-webhook", format!("https://hooks.{}/services/", "slack.com"), format!("T{}/B{}/{}", upper(8), upper(8), alphanumeric(24)), "\"");
    within("discord-webhook", "https://discord.com/api/webhooks/".to_owned(), format!("{}/{}", digits(18), alphanumeric(68)), "\n");
    within("discord", "DISCORD_TOKEN=".to_owned(), format!("M{}.{}.{}", alphanumeric(23), alphanumeric(6), alphanumeric(38)), "\n");
    within("twilio-token", "TWILIO_AUTH_TOKEN=".to_owned(), hex(32), "\n");
    within("bearer", "Authorization: Bearer ".to_owned(), alphanumeric(40), "\n");
    within("url", "postgres://app:".to_owned(), alphanumeric(20), "@db.internal:5432/app");
    within("password", "password = \"".to_owned(), alphanumeric(16), "\"");
    within("json", "\"clientSecret\": \"".to_owned(), alphanumeric(32), "\"");
    within("rust", "const API_KEY: &str = \"".to_owned(), alphanumeric(32), "\";");
    within("escaped", "\"a\\n".to_owned(), format!("gh{}{}", "p_", alphanumeric(36)), "\\nb\"");
    within("quoted in a URL", "?q=%22".to_owned(), format!("gh{}{}", "p_", alphanumeric(36)), "%22");
    within("repr", "b'\\x00".to_owned(), format!("AK{}{}", "IA", upper(16)), "\\x00'");
    within("coloured", "\u{1b}[1;31m".to_owned(), format!("gl{}{}", "pat-", alphanumeric(20)), "\u{1b}[0m");
    within("django-old", "SECRET_KEY = '".to_owned(), random(seed, DJANGO, 50), "'");
    within("curl", "curl -u admin:".to_owned(), alphanumeric(16), " https://x");
    within("header", "'Authorization': 'Token ".to_owned(), alphanumeric(40), "'");
    within("openai-name", "OPENAI_KEY: \"".to_owned(), alphanumeric(40), "\"");
    within("environment", "APP_SECRET=".to_owned(), alphanumeric(32), "\n");
    samples
}
