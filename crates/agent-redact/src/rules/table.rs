//! The table of rules, and the lists of stop words that its rows refer to.
//!
//! The rows are written from facts about each form: its prefix, alphabet and length, and where it
//! stands. If two rows find the same text, the first one gives the kind.

use super::super::shape::Stop;
use super::{Anchor, SecretRule, ValueCheck, ValueLook};

const SAMPLE: &[Stop] = &[Stop::Sample];
const FILLED_IN: &[Stop] = &[Stop::Sample, Stop::Template];
const WRITTEN: &[Stop] = &[Stop::Sample, Stop::Variable, Stop::StandIn];
const READABLE: &[Stop] = &[Stop::Sample, Stop::Template, Stop::StandIn, Stop::Public];

const fn looks(entropy: f64, look: ValueLook, stops: &'static [Stop]) -> ValueCheck {
    ValueCheck {
        entropy,
        look,
        stops,
    }
}

/// The random part of a token. Sixteen random hex digits have 3 bits each on average.
const TOKEN: ValueCheck = looks(2.0, ValueLook::Any, SAMPLE);
/// A token of a common form; ordinary words have no digits.
const DIGIT: ValueCheck = looks(2.0, ValueLook::Digit, SAMPLE);
/// A value at a place that says that it is a secret, if it looks like one.
const PASSWORD: ValueCheck = looks(0.0, ValueLook::Password, FILLED_IN);
/// Any value, at a place where only passwords occur.
const CHOSEN: ValueCheck = looks(0.0, ValueLook::Any, WRITTEN);
/// A password at a place where words and paths stand too.
const ODD: ValueCheck = looks(1.5, ValueLook::Odd, READABLE);
/// A value at a place that says little.
const RANDOM: ValueCheck = looks(2.75, ValueLook::Random, READABLE);
/// A value that a server issued, at a place that names a secret.
const ISSUED: ValueCheck = looks(2.75, ValueLook::Issued, WRITTEN);
/// The base64 of a login.
const LOGIN: ValueCheck = looks(0.0, ValueLook::Login, SAMPLE);

/// A token with a prefix of its own.
const fn token(
    kind: &'static str,
    keywords: &'static [&'static str],
    pattern: &'static str,
) -> SecretRule {
    SecretRule::new(Anchor::Word, kind, keywords, pattern, TOKEN)
}

/// A value that is known by what stands around it.
const fn place(
    kind: &'static str,
    keywords: &'static [&'static str],
    pattern: &'static str,
) -> SecretRule {
    SecretRule::new(Anchor::Anywhere, kind, keywords, pattern, PASSWORD)
}

/// The value of a name.
const fn name(
    kind: &'static str,
    keywords: &'static [&'static str],
    pattern: &'static str,
) -> SecretRule {
    SecretRule::new(Anchor::Name, kind, keywords, pattern, PASSWORD)
}

/// The contents of a file that is there to keep secrets.
const fn file(kind: &'static str, files: &'static str, pattern: &'static str) -> SecretRule {
    SecretRule::new(Anchor::File(files), kind, &[], pattern, CHOSEN)
}

/// The rules.
#[rustfmt::skip] // A table, one rule a line.
pub(in super::super) static RULES: &[SecretRule] = &[
    // Tokens of vendors.
    token("aws-access-key", &["akia", "asia", "abia", "acca"], r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}"),
    place("aws-secret-key", &["aws_secret", "aws-secret", "awssecret", "secretaccesskey"], r"(?i:aws[_-]?secret|secretaccesskey)[A-Za-z_-]{0,24}[^A-Za-z0-9/+\n]{1,12}([A-Za-z0-9/+]{40})").check(TOKEN),
    place("aws-session-token", &["aws_session_token", "sessiontoken"], r"(?i:aws_session_token|sessiontoken)[^A-Za-z0-9/+\n]{1,12}([A-Za-z0-9/+=]{100,1500})").check(TOKEN),
    token("github-token", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], r"gh[pousr]_[A-Za-z0-9]{36,255}"),
    token("github-token", &["github_pat_"], r"github_pat_[A-Za-z0-9_]{60,255}"),
    token("gitlab-token", &["glpat-", "gldt-", "glrt-", "glptt-", "glft-", "glsoat-", "glcbt-", "glimt-", "glagent-", "gloas-", "glffct-"], r"gl(?:pat|dt|rt|ptt|ft|soat|cbt|imt|agent|oas|ffct)-[A-Za-z0-9_-]{20,300}(?:\.[0-9a-z]{2}\.[0-9a-z]{9})?"),
    token("gitlab-token", &["gr1348941"], r"GR1348941[A-Za-z0-9_-]{20}"),
    token("slack-token", &["xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xoxe."], r"xox[abeoprs][.-][A-Za-z0-9.-]{10,250}"),
    token("slack-token", &["xoxc-", "xoxd-"], r"xox[cd]-[A-Za-z0-9%/+=_-]{20,400}"),
    token("slack-token", &["xapp-"], r"xapp-[0-9]-[A-Z0-9]{8,16}-[0-9]{8,16}-[a-z0-9]{32,80}"),
    place("slack-webhook", &["hooks.slack.com/"], r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_-]{30,120})").check(TOKEN),
    token("stripe-key", &["sk_live_", "rk_live_", "sk_test_", "rk_test_"], r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,247}"),
    token("stripe-webhook-secret", &["whsec_"], r"whsec_[A-Za-z0-9+/]{32,80}={0,2}"),
    token("google-api-key", &["aiza"], r"AIza[0-9A-Za-z_-]{35}"),
    token("google-oauth-secret", &["gocspx-"], r"GOCSPX-[A-Za-z0-9_-]{28}"),
    token("google-oauth-token", &["ya29."], r"ya29\.[0-9A-Za-z_-]{30,1000}"),
    token("google-oauth-token", &["1//0"], r"1//0[0-9A-Za-z_-]{40,200}"),
    token("anthropic-key", &["sk-ant-"], r"sk-ant-[a-z]{2,8}[0-9]{2}-[A-Za-z0-9_-]{60,200}"),
    token("openrouter-key", &["sk-or-v1-"], r"sk-or-v1-[0-9a-f]{64}"),
    token("openai-key", &["sk-proj-", "sk-svcacct-", "sk-admin-", "sk-none-"], r"sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,250}"),
    token("openai-key", &["t3blbkfj"], r"sk-[A-Za-z0-9_-]{20,100}T3BlbkFJ[A-Za-z0-9_-]{20,100}").around(110, 120),
    token("api-key", &["sk-"], r"sk-[A-Za-z0-9]{32,64}").check(DIGIT),
    place("npm-token", &["_authtoken"], r#"(?i:_authtoken) {0,2}= {0,2}"?([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})"#).check(TOKEN),
    token("npm-token", &["npm_"], r"npm_[A-Za-z0-9]{36}"),
    token("pypi-token", &["pypi-ag"], r"pypi-Ag[A-Za-z0-9_-]{50,1000}"),
    token("jwt", &["eyj"], r"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}").around(0, 16_384),
    token("sendgrid-key", &["sg."], r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
    token("twilio-key", &["sk"], r"SK[0-9a-f]{32}"),
    place("twilio-token", &["twilio"], r"(?i:twilio)[A-Za-z0-9_. -]{0,24}[^A-Za-z0-9\n]{1,6}([0-9a-f]{32})").check(TOKEN),
    place("azure-storage-key", &["accountkey="], r"(?i:accountkey)=([A-Za-z0-9+/]{86}==)").check(TOKEN),
    place("azure-access-key", &["sharedaccesskey="], r"(?i:sharedaccesskey)=([A-Za-z0-9+/]{40,88}={0,2})").check(TOKEN),
    place("azure-signature", &["sig="], r"sig=([A-Za-z0-9%]{40,60}%3[Dd])").check(TOKEN),
    token("azure-client-secret", &["q~"], r"[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}").around(4, 40),
    token("azure-devops-token", &["azdo"], r"[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}").around(76, 12),
    token("digitalocean-token", &["dop_v1_", "doo_v1_", "dor_v1_"], r"do[opr]_v1_[0-9a-f]{64}"),
    token("huggingface-token", &["hf_"], r"hf_[A-Za-z0-9]{34,40}"),
    token("huggingface-token", &["api_org_"], r"api_org_[A-Za-z0-9]{34}"),
    token("telegram-token", &[":aa"], r"[0-9]{8,10}:AA[A-Za-z0-9_-]{33}").around(10, 40),
    place("discord-webhook", &["/api/webhooks/"], r"/api/webhooks/([0-9]{17,20}/[A-Za-z0-9_-]{60,80})").check(TOKEN),
    place("discord-token", &["discord", "bot_token", "bottoken", "bot "], r"(?i:discord|bot_?token|bot )[A-Za-z_. -]{0,24}[^A-Za-z0-9\n]{0,6}([MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40})").check(TOKEN),
    token("shopify-token", &["shpat_", "shpca_", "shppa_", "shpss_"], r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    token("square-token", &["sq0atp-", "sq0csp-"], r"sq0(?:atp|csp)-[A-Za-z0-9_-]{22,43}"),
    token("square-token", &["eaaa"], r"EAAA[A-Za-z0-9_-]{60}"),
    token("facebook-token", &["eaa"], r"EAA[A-Za-z0-9]{90,250}"),
    token("mailgun-key", &["key-"], r"key-[0-9a-f]{32}"),
    token("mailchimp-key", &["-us"], r"[0-9a-f]{32}-us[0-9]{1,2}").around(32, 8),
    token("brevo-key", &["xkeysib-"], r"xkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16}"),
    token("databricks-token", &["dapi"], r"dapi[0-9a-f]{32}(?:-[0-9])?"),
    token("heroku-key", &["hrku-"], r"HRKU-[A-Za-z0-9_-]{36,64}"),
    place("heroku-key", &["heroku"], r"(?i:heroku)[A-Za-z0-9_. -]{0,24}[^A-Za-z0-9\n]{1,6}([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12})").check(TOKEN),
    token("docker-token", &["dckr_pat_", "dckr_oat_"], r"dckr_[po]at_[A-Za-z0-9_-]{27,40}"),
    token("vault-token", &["hvs.", "hvb.", "hvr."], r"hv[sbr]\.[A-Za-z0-9_-]{24,300}"),
    token("terraform-token", &[".atlasv1."], r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,70}").around(14, 96),
    token("age-key", &["age-secret-key-1"], r"AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}"),
    token("rubygems-key", &["rubygems_"], r"rubygems_[0-9a-f]{48}"),
    token("crates-token", &["cio"], r"cio[A-Za-z0-9]{32}").check(DIGIT),
    token("nuget-key", &["oy2"], r"oy2[a-z0-9]{43}").check(DIGIT),
    token("dynatrace-token", &["dt0c01.", "dt0s16.", "dt0s02."], r"dt0[cs][0-9]{2}\.[A-Z0-9]{8,24}\.[A-Z0-9]{64}"),
    token("grafana-token", &["glsa_"], r"glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}"),
    token("grafana-token", &["glc_"], r"glc_[A-Za-z0-9+/]{32,400}={0,2}"),
    token("newrelic-key", &["nrak-", "nrii-", "nrra-"], r"NR(?:AK|II|RA)-[A-Za-z0-9_-]{27,42}"),
    token("sentry-token", &["sntrys_"], r"sntrys_eyJ[A-Za-z0-9+/=_-]{40,500}"),
    token("sentry-token", &["sntryu_"], r"sntryu_[0-9a-f]{64}"),
    token("linear-key", &["lin_api_", "lin_oauth_"], r"lin_(?:api|oauth)_[A-Za-z0-9]{40,64}"),
    token("notion-token", &["ntn_"], r"ntn_[A-Za-z0-9]{43,50}").check(DIGIT),
    token("notion-token", &["secret_"], r"secret_[A-Za-z0-9]{43}").check(DIGIT),
    token("figma-token", &["figd_"], r"figd_[A-Za-z0-9_-]{40}"),
    token("postman-key", &["pmak-"], r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    token("airtable-token", &["pat"], r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    token("doppler-token", &["dp.pt.", "dp.st.", "dp.ct.", "dp.sa."], r"dp\.(?:pt|st|ct|sa)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}"),
    token("planetscale-token", &["pscale_"], r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{32,64}"),
    token("supabase-key", &["sbp_"], r"sbp_[0-9a-f]{40}"),
    token("supabase-key", &["sb_secret_"], r"sb_secret_[A-Za-z0-9_-]{20,60}"),
    token("netlify-token", &["nfp_"], r"nfp_[A-Za-z0-9]{36}"),
    token("vercel-token", &["vercel_blob_rw_"], r"vercel_blob_rw_[A-Za-z0-9_]{30,80}"),
    token("circleci-token", &["ccipat_"], r"CCIPAT_[A-Za-z0-9]{22}_[0-9a-f]{40}"),
    token("buildkite-token", &["bkua_"], r"bkua_[0-9a-f]{40}"),
    token("atlassian-token", &["atatt3"], r"ATATT3[A-Za-z0-9_=-]{180,220}"),
    token("bitbucket-password", &["atbb"], r"ATBB[A-Za-z0-9]{32}"),
    token("dropbox-token", &["sl."], r"sl\.(?:u\.)?[A-Za-z0-9_-]{130,1500}"),
    token("easypost-key", &["ezak", "eztk"], r"EZ[AT]K[A-Za-z0-9]{54}"),
    token("groq-key", &["gsk_"], r"gsk_[A-Za-z0-9]{52}"),
    token("perplexity-key", &["pplx-"], r"pplx-[A-Za-z0-9]{48}"),
    token("replicate-token", &["r8_"], r"r8_[A-Za-z0-9]{37}"),
    token("xai-key", &["xai-"], r"xai-[A-Za-z0-9]{80}"),
    token("pulumi-token", &["pul-"], r"pul-[0-9a-f]{40}"),
    token("sonar-token", &["squ_", "sqp_", "sqa_"], r"sq[upa]_[0-9a-f]{40}"),
    token("tailscale-key", &["tskey-"], r"tskey-[a-z]{2,10}-[A-Za-z0-9]{8,24}-[A-Za-z0-9]{20,40}"),
    token("cloudflare-key", &["v1.0-"], r"v1\.0-[0-9a-f]{24}-[0-9a-f]{146}"),
    token("onepassword-token", &["ops_eyj"], r"ops_eyJ[A-Za-z0-9+/=_-]{200,1500}"),
    token("prefect-key", &["pnu_", "pnb_"], r"pn[ub]_[A-Za-z0-9]{36}"),
    token("readme-key", &["rdme_"], r"rdme_[a-z0-9]{70}"),
    token("aws-bedrock-key", &["absk"], r"ABSK[A-Za-z0-9+/]{109,269}={0,2}"),
    token("aws-bedrock-key", &["bedrock-api-key-"], r"bedrock-api-key-[A-Za-z0-9+/]{60,}={0,2}").around(0, 8192),
    token("mapbox-token", &["sk.eyj"], r"sk\.eyJ[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{16,64}"),
    token("fly-token", &["fm2_", "fm1r_", "fm1a_"], r"fm(?:2|1r|1a)_[A-Za-z0-9+/=_-]{60,}").around(0, 8192),
    token("fly-token", &["fo1_"], r"fo1_[A-Za-z0-9_-]{43}"),
    token("langsmith-key", &["lsv2_"], r"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}"),
    token("langfuse-key", &["sk-lf-"], r"sk-lf-[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"),
    token("typeform-token", &["tfp_"], r"tfp_[A-Za-z0-9_.=-]{40,80}"),
    token("contentful-token", &["cfpat-"], r"CFPAT-[A-Za-z0-9_-]{43}"),
    token("nvidia-key", &["nvapi-"], r"nvapi-[A-Za-z0-9_-]{60,70}"),
    token("pinecone-key", &["pcsk_"], r"pcsk_[A-Za-z0-9_]{40,80}"),
    token("tavily-key", &["tvly-"], r"tvly-(?:dev-|prod-)?[A-Za-z0-9]{32}"),
    token("resend-key", &["re_"], r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}"),
    token("render-key", &["rnd_"], r"rnd_[A-Za-z0-9]{28,32}"),
    token("neon-key", &["napi_"], r"napi_[a-z0-9]{60,70}"),
    token("posthog-key", &["phx_"], r"phx_[A-Za-z0-9]{43,50}"),
    token("sourcegraph-token", &["sgp_"], r"sgp_(?:[0-9a-f]{16}_|local_)?[0-9a-f]{40}"),
    token("elevenlabs-key", &["sk_"], r"sk_[0-9a-f]{48}"),
    token("shippo-token", &["shippo_"], r"shippo_(?:live|test)_[0-9a-f]{40}"),
    token("duffel-token", &["duffel_"], r"duffel_(?:live|test)_[A-Za-z0-9_=-]{43}"),
    token("clojars-token", &["clojars_"], r"CLOJARS_[0-9a-f]{60}"),
    token("adafruit-key", &["aio_"], r"aio_[A-Za-z0-9]{28}"),
    token("artifactory-key", &["akcp"], r"AKCp[A-Za-z0-9]{69,73}"),
    token("artifactory-token", &["cmvmdgtu"], r"cmVmdGtu[A-Za-z0-9]{56}"),
    token("openshift-token", &["sha256~"], r"sha256~[A-Za-z0-9_-]{43}"),
    token("django-secret-key", &["django-insecure-"], r"django-insecure-[a-z0-9!@#$%^&*(_=+)-]{50}"),
    token("alibaba-key", &["ltai"], r"LTAI[A-Za-z0-9]{17,21}").check(DIGIT),
    token("tencent-key", &["akid"], r"AKID[A-Za-z0-9]{32}").check(DIGIT),
    token("yandex-key", &["aqvn"], r"AQVN[A-Za-z0-9_-]{35,38}"),
    token("hubspot-token", &["pat-na", "pat-eu"], r"pat-(?:na|eu)[0-9]-[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"),
    token("asana-token", &["1/1", "0/1", "2/1"], r"[0-2]/[0-9]{16}:[0-9a-f]{32}"),
    token("clickup-token", &["pk_"], r"pk_[0-9]{6,9}_[A-Z0-9]{32}"),
    token("klaviyo-key", &["pk_"], r"pk_[0-9a-f]{34}"),
    token("flutterwave-key", &["flwseck"], r"FLWSECK(?:_TEST)?-[0-9a-zA-Z]{32,42}-X"),
    token("razorpay-key", &["rzp_"], r"rzp_(?:live|test)_[A-Za-z0-9]{14}").check(DIGIT),
    token("plaid-token", &["access-sandbox-", "access-production-", "access-development-"], r"access-(?:sandbox|production|development)-[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"),
    token("paypal-token", &["access_token$"], r"access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}"),
    token("woocommerce-key", &["ck_", "cs_"], r"c[ks]_[0-9a-f]{40}"),
    token("octopus-key", &["api-"], r"API-[A-Z0-9]{25,27}").check(DIGIT),
    token("launchdarkly-key", &["sdk-", "api-", "mob-"], r"(?:sdk|api|mob)-[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"),
    token("honeycomb-key", &["hcaik_", "hcxik_"], r"hc[ax]ik_[0-9a-z]{26,64}"),
    token("axiom-token", &["xaat-", "xapt-"], r"xa(?:at|pt)-[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"),
    token("maxmind-key", &["_mmk"], r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk").around(36, 4),
    token("infracost-key", &["ico-"], r"ico-[A-Za-z0-9]{32}"),
    token("harness-token", &["pat.", "sat."], r"[ps]at\.[A-Za-z0-9_-]{22}\.[0-9a-f]{24}\.[A-Za-z0-9]{20}"),
    token("frameio-token", &["fio-u-"], r"fio-u-[A-Za-z0-9_=-]{64}"),
    token("mailersend-key", &["mlsn."], r"mlsn\.[0-9a-f]{64}"),
    token("mandrill-key", &["md-"], r"md-[A-Za-z0-9_-]{22}").check(looks(3.0, ValueLook::Password, SAMPLE)),
    token("packagist-token", &["packagist_"], r"packagist_[ou][ru]t_[0-9a-f]{68}"),
    token("matrix-token", &["syt_"], r"syt_[A-Za-z0-9+/=]{4,120}_[A-Za-z0-9]{20}_[A-Za-z0-9]{6}"),
    token("instagram-token", &["igq"], r"IGQ[A-Za-z0-9_-]{100,250}"),
    token("twitter-token", &["aaaaaaaaaaaaaaaaaaaaa"], r"A{21}[A-Za-z0-9%]{60,120}"),
    token("firebase-key", &["aaaa"], r"AAAA[A-Za-z0-9_-]{7}:[A-Za-z0-9_-]{140}"),
    token("cerebras-key", &["csk-"], r"csk-[a-z0-9]{48}"),
    token("jina-key", &["jina_"], r"jina_[A-Za-z0-9_-]{60}"),
    token("e2b-key", &["e2b_"], r"e2b_[0-9a-f]{40}"),
    token("firecrawl-key", &["fc-"], r"fc-[0-9a-f]{32}"),
    token("nostr-key", &["nsec1"], r"nsec1[qpzry9x8gf2tvdw0s3jn54khce6mua7l]{58}"),
    token("bitcoin-key", &["xprv", "yprv", "zprv", "tprv"], r"[xyzt]prv[1-9A-HJ-NP-Za-km-z]{107}"),
    token("jenkins-secret", &["{aqaaab"], r"\{AQAAAB[A-Za-z0-9+/=]{20,400}\}"),
    token("laravel-key", &["base64:"], r"base64:[A-Za-z0-9+/]{43}="),
    token("scaleway-key", &["scw"], r"SCW[A-Z0-9]{17}").check(DIGIT),
    token("onfido-token", &["api_live", "api_sandbox"], r"api_(?:live|sandbox)(?:_[a-z]{2})?\.[A-Za-z0-9_-]{11}\.[A-Za-z0-9_-]{32}"),
    token("lob-key", &["live_", "test_"], r"(?:live|test)_[0-9a-f]{35}"),
    token("ngrok-token", &["ngrok"], r"(?i:ngrok)[A-Za-z_ -]{0,24}[\s:=\x22']{1,6}([0-9][A-Za-z0-9]{26}_[A-Za-z0-9]{21,22})"),
    token("signify-key", &["secret key"], r"secret key[^\n]{0,80}\n(RW[A-Za-z0-9+/]{60,220}={0,2})"),
    token("kubeadm-token", &["kubeadm", "bootstrap-token", "token:"], r"(?:kubeadm[^\n]{0,80}--token|bootstrap-token[^\n]{0,40}|token:)[ =]{1,3}([a-z0-9]{6}\.[a-z0-9]{16})").check(DIGIT),
    // Values at telling places.
    place("webhook", &["webhook.office.com/", "outlook.office.com/webhook/"], r"office\.com/[A-Za-z0-9/@-]{0,100}?((?:[0-9a-f]{8}-[0-9a-f-]{27}@)?[0-9a-f]{8}-[0-9a-f-]{27}/IncomingWebhook/[0-9a-f]{32}[0-9a-zA-Z/_-]{0,120})").check(TOKEN).around(20, 400),
    place("webhook", &["logic.azure.com"], r"logic\.azure\.com[^\s\x22']{1,300}[?&]sig=([A-Za-z0-9_-]{30,60})").check(TOKEN),
    place("webhook", &["hooks.zapier.com/hooks/catch/"], r"hooks\.zapier\.com/hooks/catch/([0-9]{3,12}/[a-z0-9]{5,16})").check(DIGIT),
    place("webhook", &["maker.ifttt.com/"], r"maker\.ifttt\.com/[^\s\x22']{1,100}/key/([A-Za-z0-9_-]{20,60})").check(TOKEN),
    place("webhook", &[".make.com/"], r"hook\.[a-z0-9.]{2,8}\.make\.com/([a-z0-9]{24,40})").around(20, 60).check(TOKEN),
    place("webhook", &["open.feishu.cn/", "open.larksuite.com/"], r"(?:feishu\.cn|larksuite\.com)/open-apis/bot/v2/hook/([0-9a-f-]{36})").around(10, 100).check(TOKEN),
    place("webhook", &["/cgi-bin/webhook/send?key="], r"/cgi-bin/webhook/send\?key=([0-9a-f-]{36})").check(TOKEN),
    place("webhook", &["chat.googleapis.com/"], r"chat\.googleapis\.com/[^\s\x22']{1,200}[?&]token=([A-Za-z0-9_%-]{30,80})").check(TOKEN),
    place("url-key", &["?key=", "&key=", "?api_key=", "&api_key=", "?apikey=", "&apikey=", "?token=", "&token=", "access_token=", "?sig=", "&sig=", "?auth=", "&auth=", "?secret=", "&secret=", "?appid=", "&appid=", "?signature=", "&signature=", "access_key=", "?hapikey="], r"[?&#]?[A-Za-z_-]{3,12}=([A-Za-z0-9_.~%+-]{16,500})").check(ISSUED),
    place("url-key", &["azurewebsites.net/"], r"azurewebsites\.net/[^\s\x22']{0,120}[?&]code=([A-Za-z0-9_/+-]{40,80})").check(TOKEN),
    place("url-key", &["x-amz-signature=", "x-amz-security-token=", "x-goog-signature="], r"(?i:x-(?:amz|goog)-[a-z-]{5,20})=([A-Za-z0-9%_-]{40,2000})").check(TOKEN),
    place("url-password", &["?password=", "&password=", "?pwd=", "&pwd=", "?pass=", "&pass="], r"[?&][a-z]{3,8}=([^\s&\x22'<>#]{4,128})").check(ODD),
    place("cookie", &["cookie:", "cookie\x22", "cookie'"], r#"(?i)cookie["'\\]{0,3} {0,2}[:=,] {0,2}["'\\]{0,3}([^\r\n"'<>]{8,4000})"#).around(0, 4200).each(r"=([A-Za-z0-9_.~%+/|!:=-]{12,2000})").check(ISSUED),
    place("password", &["password", "identified"], r#"(?is)(?:create|alter)\s+(?:or\s+replace\s+)?(?:user|role|login|group|database)\b[^;]{1,160}?(?:\bpassword|\bidentified\s+(?:with\s+\S{1,40}\s+)?(?:by|as))\s*=?\s*(?:password\s*)?\(?[en]?['"]([^'"\n]{3,128})['"]"#).around(180, 180).check(CHOSEN),
    place("password", &["identified by", "identified with"], r#"IDENTIFIED\s+(?:WITH\s+\S{1,40}\s+)?(?:BY|AS)\s+(?:PASSWORD\s+)?(?:VALUES\s+)?['"]([^'"\n]{3,128})['"]"#).around(0, 260).check(CHOSEN),
    place("password", &["identified by"], r#"(?is)\bgrant\s[^;]{1,160}?\sidentified by\s+['"]([^'"\n]{3,128})['"]"#).around(180, 180).check(CHOSEN),
    place("password", &["identified by"], r#"(?i)identified by ['"]?([A-Za-z0-9_$#!]{4,64})['"]?[;\s]"#).around(0, 100).check(ODD),
    place("password", &["identified by"], r"(?is)(?:create|alter)\s+user\s+\S{1,64}\s+identified by\s+([A-Za-z][A-Za-z0-9_$#]{3,63})\s*(?:;|\n|\z)").around(100, 100).check(CHOSEN),
    place("password", &["set password"], r#"(?i)set password[^;\n]{0,120}?[=(]\s*(?:password\s*\(\s*)?['"]([^'"\n]{3,128})['"]"#).check(CHOSEN),
    place("password", &["mysql", "mariadb"], r#"(?:mysql|mariadb)[a-z-]{0,12}[ \t][^\n|;&]{0,160}?(?:\s|\A)-p(?:'([^'\n]{4,64})'|"([^"\n]{4,64})"|([^\s"'|;&)-][^\s"'|;&)]{3,63}))"#).check(CHOSEN),
    place("password", &["mongo", "docker login", "az login", "sqlcmd", "ldap", "redis-cli", "bcp "], r#"(?:mongo(?:sh|dump|restore|export|import)?\b[^\n|;&]{0,160}?\s(?:-p|--password)|docker login\b[^\n|;&]{0,120}?\s-p|az login\b[^\n|;&]{0,120}?\s-p|sqlcmd\b[^\n|;&]{0,120}?\s-P|bcp [^\n|;&]{0,120}?\s-P|ldap[a-z]{3,8}\b[^\n|;&]{0,160}?\s-w|redis-cli\b[^\n|;&]{0,120}?\s-a)[ =]["']?([^\s"'-][^\s"']{3,63})"#).check(ODD),
    place("password", &["passin", "passout", "-storepass", "-keypass", "requirepass", "masterauth", "bindpw", "rootpw", "insecure-password", "htpasswd -b", "--passphrase ", "smbclient", "add_user", "psk=", "net user"], r#"(?:-?pass(?:in|out) ["']?pass:|-(?:store|key)pass ["']?|(?:requirepass|masterauth|bindpw|rootpw|insecure-password)[ \t]{1,8}["']?|htpasswd -b[a-zA-Z]{0,4} \S{1,80} \S{1,64} ["']?|--passphrase ["']?|smbclient[^\n]{1,120}-U ["']?[^\s%"']{1,64}%|rabbitmqctl add_user \S{1,64} ["']?|add_user \S{1,64} ["']?|\bpsk="?|net user \S{1,64} )([^\s"']{4,64})"#).check(ODD),
    place("password", &["#define "], r#"#define \w*(?:PASSWORD|PASSWD|PASS|PSK|SECRET|TOKEN|API_?KEY)\w{0,16}\s+"([^"\n]{6,128})""#),
    place("password", &["set -", "setx "], r#"(?:set -[a-zA-Z]{1,4}|(?i:setx)) \w{0,40}(?i:password|passwd|secret|token|api_?key)\w{0,16} ["']?([^\s"']{4,200})"#).check(ODD),
    place("password", &["--password-stdin"], r#"echo (?:-n )?["']?([^\s"'|$][^\s"'|]{3,127})["']? ?\|[^\n|]{1,120}--password-stdin"#).around(280, 20).check(CHOSEN),
    place("password", &["cifs"], r"cifs\s[^\n]{0,160}?\bpass(?:word)?=([^\s,]{4,128})").check(CHOSEN),
    place("url-password", &["@tcp(", "@unix("], r#"[A-Za-z0-9_.-]{1,64}:([^\s:@/"'`]{4,128})@(?:tcp|unix)\("#).around(200, 8).check(CHOSEN),
    place("url-key", &["@github.com/", "@gitlab.com/", "@bitbucket.org/"], r"://([A-Za-z0-9_-]{20,255})@").around(264, 8).check(ISSUED),
    place("key", &["accounts"], r#"accounts["']?\s{0,3}[:=]\s{0,3}\[\s{0,40}["'`]((?:0x)?[0-9a-fA-F]{64})"#).check(TOKEN),
    place("password", &["--from-literal"], r#"--from-literal[= ]["']?[\w.-]{1,64}=["']?([^\s"']{6,200})"#).check(ODD),
    place("password", &["convertto-securestring"], r#"(?i)convertto-securestring (?:-string )?["']([^"'\n]{4,128})["']"#).check(CHOSEN),
    place("password", &["db_password", "auth_key", "auth_salt", "logged_in_", "nonce_"], r#"(?:DB_PASSWORD|(?:SECURE_)?AUTH_(?:KEY|SALT)|LOGGED_IN_(?:KEY|SALT)|NONCE_(?:KEY|SALT))['"]\s*,\s*['"]([^'"\n]{4,100})['"]"#).check(CHOSEN),
    place("key", &["validationkey", "decryptionkey"], r#"(?i:(?:validation|decryption)key)\s*=\s*["']([0-9A-Fa-f]{32,160})"#).check(TOKEN),
    place("key", &["\x22d\x22"], r#""d"\s*:\s*"([A-Za-z0-9_-]{40,700})""#).check(DIGIT),
    place("key", &["private", "priv_key", "privkey", "secret_key", "secretkey", "signing", "deployer"], r#"(?i)(?:priv(?:ate)?[_-]?key|secret[_-]?key|signing[_-]?key|deployer[_-]?key|private|deployer)[a-z_\d]{0,16}["'`\]]{0,2}\s{0,3}(?::\s?[a-z &']{1,16}\s)?(?::?=|[:,(])\s{0,3}\[?\s?["'`]?((?:0x)?[0-9a-f]{64})"#).check(TOKEN),
    place("key", &["privatekey", "presharedkey"], r"(?i:privatekey|presharedkey)\s*=\s*([A-Za-z0-9+/]{43}=)").check(TOKEN),
    place("key", &["secret_key"], r#"(?i:secret_key)["'\]]{0,2}\s{0,3}[=:]\s{0,3}r?["']([a-zA-Z0-9!@#$%^&*(\-_=+)~.,:;?/<>|\[\]{}]{40,80})["']"#).check(looks(3.8, ValueLook::Digit, SAMPLE)),
    place("private-key", &["client-key-data"], r"client-key-data\x22?:\s{0,4}\x22?([A-Za-z0-9+/=]{40,20000})").around(0, 20_100).check(TOKEN),
    place("mnemonic", &["mnemonic", "seed_phrase", "seedphrase", "seed phrase"], r#"(?i)(?:mnemonic|seed[_ ]?phrase)["'\]]{0,2}\s{0,3}[=:]\s{0,3}["']?((?:[a-z]{3,8} ){11,23}[a-z]{3,8})"#).check(looks(3.0, ValueLook::Any, SAMPLE)),
    place("password-hash", &["$7$"], r"\$7\$[A-Za-z0-9./]{11}([A-Za-z0-9./$]{20,200})").check(TOKEN),
    place("password-hash", &["$1$", "$5$", "$6$", "$y$", "$2a$", "$2b$", "$2y$", "$apr1$", "$argon2", ":{sha}", ":{ssha}"], r"[^\s:]:(\$(?:1|5|6|y|2[aby]|apr1|argon2[a-z]{1,2})\$[A-Za-z0-9./$=,+]{20,200}|\{S?SHA\}[A-Za-z0-9+/]{27,44}={0,2})").around(2, 260).check(TOKEN),
    place("password", &["password=", "pwd=", "password ="], r"(?i)(?:server|host|data source|user id|uid|user|username|database|initial catalog|endpoint|address|port|addr)\s?=[^;\n\x22']{1,100};(?:[^;\n\x22'=]{1,40}=[^;\n\x22']{0,100};){0,8}\s?(?:password|pwd)\s?=\s?([^;\x22'\s]{4,128})").around(260, 150).check(CHOSEN),
    place("password", &["password=", "pwd=", "password ="], r"(?i)(?:password|pwd)\s?=\s?([^;\x22'\s]{4,128});\s?(?:server|host|data source|user id|uid|user|username|database|initial catalog|port|persist security info|encrypt|trusted_connection|multipleactiveresultsets|trustservercertificate|ssl ?mode|pooling)\s?=").check(CHOSEN),
    place("password", &["login "], r#"login\s+[^\s"'(]{1,64}[\s\d:+-]{1,24}password\s+"?([^\s"]{4,128})"#).check(ODD),
    place("password", &["contribsys__com"], r"(?i:contribsys__com)[\s:=\x22']{1,6}([0-9a-f]{8}:[0-9a-f]{8})").check(TOKEN),
    place("authorization", &["authorization"], r#"(?i:authorization)["'\\]{0,3} {0,2}[:=,] {0,2}["'\\]{0,3}(?i:(?:token|apikey|api-key|key|geniekey|ssws|sso-key|private) {1,2})?(?:token=)?["'\\]{0,3}([A-Za-z0-9_.=+/~-]{16,1500})"#),
    place("password", &["-u ", "--user ", "--user=", "--proxy-user "], r#"(?:-u|--user|--proxy-user)[ =]["']?[^\s:"'/]{1,64}:([^\s"']{4,128})"#),
    place("password", &["sshpass -p"], r#"sshpass -p ?["']?([^\s"']{4,128})"#),
    place("password", &[":5432:", ":*:"], r":(?:5432|\*):[^\s:/]{1,64}:[^\s:/]{1,64}:([^\s:]{4,128})"),
    place("bearer-token", &["bearer "], r"(?i:bearer) {1,3}([A-Za-z0-9_.=+/~-]{20,1500})"),
    place("basic-credentials", &["basic "], r"(?i:basic) {1,3}([A-Za-z0-9+/]{12,200}={0,2})"),
    place("url-password", &["://"], r#"://[^\s:/@"'<>\\]{0,64}:([^\s:/@"'<>\\]{4,128})@[A-Za-z0-9\[]"#).check(CHOSEN),
    // Values of telling names. The names are in the form `_db_password_`.
    name("secret", &["auth"], r"\A_auth_\z").check(LOGIN).doubtful(),
    name("password", &["pass", "pwd"], r"(?:password|passwd|passwort|passphrase|passcode|pwd)_"),
    name("password", &["pass", "pw"], r"(?:[a-z0-9]_(?:pass|pw)|_(?:db|user|root|smtp|ssh|admin|become)pass)_(?:(?:prod|dev|test|stage|staging|live|old|new)_)?\z"),
    name("secret", &["secret", "credential", "salt"], r"(?:secret|credential|salt)_"),
    name("token", &["token"], r"token_"),
    name("key", &["key"], r"(?:api|access|secret|private|signing|encryption|master)key_|_(?:api|access|secret|private|auth|sign|signing|signature|encrypt|encryption|master|subscription|jwt|hmac|preshared|ai|anthropic|aws|azure|cohere|datadog|gemini|github|gitlab|heroku|mailgun|mistral|openai|paypal|relic|sendgrid|sentry|slack|stripe)_key_"),
    name("password", &["pass", "pw"], r"\A_(?:pass|pw)_").check(RANDOM).doubtful(),
    name("key", &["key"], r"[a-z0-9]_key_").check(RANDOM).doubtful(),
    name("secret", &["auth"], r"_auth_").check(RANDOM).doubtful(),
    name("secret", &[], r"_(?:dsn|cert|pin)_").check(RANDOM).doubtful(),
    // Files that are there to keep secrets.
    file("password", r"\A[._]netrc\z|\A\.authinfo\z|\A\.?(?:msmtp|fetchmail)rc\z", r#"(?m)^[^#\n]*?(?:^|\s)pass(?:word)?\s+"?([^\s"]{4,})"#),
    file("password", r"\A\.pgpass\z|\Apgpass\.conf\z", r"(?m)^(?:[^:#\\\n]|\\.)(?:[^:\\\n]|\\.)*:(?:(?:[^:\\\n]|\\.)*:){3}(.{4,}?)\r?$"),
    file("password-hash", r"\A\.?htpasswd", r"(?m)^[^:#\s]+:(\S{4,})\s*$"),
    file("password-hash", r"\Ag?shadow-?\z|\Amaster\.passwd\z", r"(?m)^[^:#\s]+:([^:!*\s]{8,}):"),
    file("key", r"\.key\z|\A\.vault-token\z|\A\.erlang\.cookie\z", r"\A\s*([A-Za-z0-9_.+/=-]{20,200})\s*\z"),
    file("password", r"\A\.?vault[_-]pass(?:word)?(?:\.txt)?\z|\A\.?password(?:\.txt)?\z|\A\.passwd\z", r"\A\s*(\S{6,128})\s*\z"),
];

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
