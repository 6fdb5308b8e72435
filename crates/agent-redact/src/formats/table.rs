//! The table of token formats, one line each.

/// The number of bytes from the start of its word that a pattern sees, unless the format says
/// otherwise.
const REACH: usize = 2048;

/// The format of a token.
pub(super) struct TokenFormat {
    pub(super) kind: &'static str,
    /// Words of which each token contains one, in any letter case.
    pub(super) words: &'static [&'static str],
    /// The number of bytes before the word where a token may begin.
    pub(super) before: usize,
    /// The number of bytes after the start of the word that are examined.
    pub(super) reach: usize,
    pub(super) pattern: &'static str,
}

const fn format(
    kind: &'static str,
    words: &'static [&'static str],
    pattern: &'static str,
) -> TokenFormat {
    TokenFormat {
        kind,
        words,
        before: 0,
        reach: REACH,
        pattern,
    }
}

impl TokenFormat {
    /// A format whose tokens begin up to `before` bytes before the word and end up to `reach` bytes
    /// after its start. The window is small, because such a pattern is not anchored.
    const fn around(mut self, before: usize, reach: usize) -> Self {
        self.before = before;
        self.reach = reach;
        self
    }

    /// A format with long tokens.
    const fn reach(mut self, reach: usize) -> Self {
        self.reach = reach;
        self
    }

    /// Returns true if tokens are longer than the default reach.
    pub(super) const fn is_long(&self) -> bool {
        self.reach > REACH
    }
}

/// The kind of passwords in URLs, which the form alone does not prove.
pub(super) const URL_PASSWORD: &str = "url-password";

/// The kind of values next to a login.
pub(super) const PASSWORD: &str = "password";
/// The kind of values in an `Authorization` header, whatever they are.
pub(super) const AUTHORIZATION: &str = "authorization";

/// The formats. If two find the same text, the first one gives the kind.
#[rustfmt::skip] // A table, one format a line.
pub(super) static FORMATS: &[TokenFormat] = &[
    format("aws-access-key", &["akia", "asia", "abia", "acca"], r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}"),
    format("aws-secret-key", &["aws_secret", "aws-secret", "awssecret", "secretaccesskey"], r"(?i:aws[_-]?secret|secretaccesskey)[A-Za-z_-]{0,24}[^A-Za-z0-9/+\n]{1,12}([A-Za-z0-9/+]{40})"),
    format("aws-session-token", &["aws_session_token", "sessiontoken"], r"(?i:aws_session_token|sessiontoken)[^A-Za-z0-9/+\n]{1,12}([A-Za-z0-9/+=]{100,1500})"),
    format("github-token", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], r"gh[pousr]_[A-Za-z0-9]{36,255}"),
    format("github-token", &["github_pat_"], r"github_pat_[A-Za-z0-9_]{60,255}"),
    format("gitlab-token", &["glpat-", "gldt-", "glrt-", "glptt-", "glft-", "glsoat-", "glcbt-", "glimt-", "glagent-", "gloas-", "glffct-"], r"gl(?:pat|dt|rt|ptt|ft|soat|cbt|imt|agent|oas|ffct)-[A-Za-z0-9_-]{20,300}(?:\.[0-9a-z]{2}\.[0-9a-z]{9})?"),
    format("gitlab-token", &["gr1348941"], r"GR1348941[A-Za-z0-9_-]{20}"),
    format("slack-token", &["xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xoxe."], r"xox[abeoprs][.-][A-Za-z0-9.-]{10,250}"),
    format("slack-token", &["xoxc-", "xoxd-"], r"xox[cd]-[A-Za-z0-9%/+=_-]{20,400}"),
    format("slack-token", &["xapp-"], r"xapp-[0-9]-[A-Z0-9]{8,16}-[0-9]{8,16}-[a-z0-9]{32,80}"),
    format("slack-webhook", &["hooks.slack.com/"], r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_-]{30,120})"),
    format("stripe-key", &["sk_live_", "rk_live_", "sk_test_", "rk_test_"], r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,247}"),
    format("stripe-webhook-secret", &["whsec_"], r"whsec_[A-Za-z0-9+/]{32,80}={0,2}"),
    format("google-api-key", &["aiza"], r"AIza[0-9A-Za-z_-]{35}"),
    format("google-oauth-secret", &["gocspx-"], r"GOCSPX-[A-Za-z0-9_-]{28}"),
    format("google-oauth-token", &["ya29."], r"ya29\.[0-9A-Za-z_-]{30,1000}"),
    format("google-oauth-token", &["1//0"], r"1//0[0-9A-Za-z_-]{40,200}"),
    format("anthropic-key", &["sk-ant-"], r"sk-ant-[a-z]{2,8}[0-9]{2}-[A-Za-z0-9_-]{60,200}"),
    format("openrouter-key", &["sk-or-v1-"], r"sk-or-v1-[0-9a-f]{64}"),
    format("openai-key", &["sk-proj-", "sk-svcacct-", "sk-admin-", "sk-none-"], r"sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,250}"),
    format("openai-key", &["t3blbkfj"], r"sk-[A-Za-z0-9_-]{20,100}T3BlbkFJ[A-Za-z0-9_-]{20,100}").around(110, 120),
    format("api-key", &["sk-"], r"sk-[A-Za-z0-9]{32,64}"),
    format("npm-token", &["_authtoken"], r#"(?i:_authtoken) {0,2}= {0,2}"?([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})"#),
    format("npm-token", &["npm_"], r"npm_[A-Za-z0-9]{36}"),
    format("pypi-token", &["pypi-ag"], r"pypi-Ag[A-Za-z0-9_-]{50,1000}"),
    format("jwt", &["eyj"], r"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}").reach(16_384),
    format("sendgrid-key", &["sg."], r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
    format("twilio-key", &["sk"], r"SK[0-9a-f]{32}"),
    format("twilio-token", &["twilio"], r"(?i:twilio)[A-Za-z0-9_. -]{0,24}[^A-Za-z0-9\n]{1,6}([0-9a-f]{32})"),
    format("azure-storage-key", &["accountkey="], r"(?i:accountkey)=([A-Za-z0-9+/]{86}==)"),
    format("azure-access-key", &["sharedaccesskey="], r"(?i:sharedaccesskey)=([A-Za-z0-9+/]{40,88}={0,2})"),
    format("azure-signature", &["sig="], r"sig=([A-Za-z0-9%]{40,60}%3[Dd])"),
    format("azure-client-secret", &["q~"], r"[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}").around(4, 40),
    format("azure-devops-token", &["azdo"], r"[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}").around(76, 12),
    format("digitalocean-token", &["dop_v1_", "doo_v1_", "dor_v1_"], r"do[opr]_v1_[0-9a-f]{64}"),
    format("huggingface-token", &["hf_"], r"hf_[A-Za-z0-9]{34,40}"),
    format("huggingface-token", &["api_org_"], r"api_org_[A-Za-z0-9]{34}"),
    format("telegram-token", &[":aa"], r"[0-9]{8,10}:AA[A-Za-z0-9_-]{33}").around(10, 40),
    format("discord-webhook", &["/api/webhooks/"], r"/api/webhooks/([0-9]{17,20}/[A-Za-z0-9_-]{60,80})"),
    format("discord-token", &["discord", "bot_token", "bottoken", "bot "], r"(?i:discord|bot_?token|bot )[A-Za-z_. -]{0,24}[^A-Za-z0-9\n]{0,6}([MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40})"),
    format("shopify-token", &["shpat_", "shpca_", "shppa_", "shpss_"], r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    format("square-token", &["sq0atp-", "sq0csp-"], r"sq0(?:atp|csp)-[A-Za-z0-9_-]{22,43}"),
    format("square-token", &["eaaa"], r"EAAA[A-Za-z0-9_-]{60}"),
    format("facebook-token", &["eaa"], r"EAA[A-Za-z0-9]{90,250}"),
    format("mailgun-key", &["key-"], r"key-[0-9a-f]{32}"),
    format("mailchimp-key", &["-us"], r"[0-9a-f]{32}-us[0-9]{1,2}").around(32, 8),
    format("brevo-key", &["xkeysib-"], r"xkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16}"),
    format("databricks-token", &["dapi"], r"dapi[0-9a-f]{32}(?:-[0-9])?"),
    format("heroku-key", &["hrku-"], r"HRKU-[A-Za-z0-9_-]{36,64}"),
    format("heroku-key", &["heroku"], r"(?i:heroku)[A-Za-z0-9_. -]{0,24}[^A-Za-z0-9\n]{1,6}([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12})"),
    format("docker-token", &["dckr_pat_", "dckr_oat_"], r"dckr_[po]at_[A-Za-z0-9_-]{27,40}"),
    format("vault-token", &["hvs.", "hvb.", "hvr."], r"hv[sbr]\.[A-Za-z0-9_-]{24,300}"),
    format("terraform-token", &[".atlasv1."], r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,70}").around(14, 96),
    format("age-key", &["age-secret-key-1"], r"AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}"),
    format("rubygems-key", &["rubygems_"], r"rubygems_[0-9a-f]{48}"),
    format("crates-token", &["cio"], r"cio[A-Za-z0-9]{32}"),
    format("nuget-key", &["oy2"], r"oy2[a-z0-9]{43}"),
    format("dynatrace-token", &["dt0c01.", "dt0s16.", "dt0s02."], r"dt0[cs][0-9]{2}\.[A-Z0-9]{8,24}\.[A-Z0-9]{64}"),
    format("grafana-token", &["glsa_"], r"glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}"),
    format("grafana-token", &["glc_"], r"glc_[A-Za-z0-9+/]{32,400}={0,2}"),
    format("newrelic-key", &["nrak-", "nrii-", "nrra-"], r"NR(?:AK|II|RA)-[A-Za-z0-9_-]{27,42}"),
    format("sentry-token", &["sntrys_"], r"sntrys_eyJ[A-Za-z0-9+/=_-]{40,500}"),
    format("sentry-token", &["sntryu_"], r"sntryu_[0-9a-f]{64}"),
    format("linear-key", &["lin_api_", "lin_oauth_"], r"lin_(?:api|oauth)_[A-Za-z0-9]{40,64}"),
    format("notion-token", &["ntn_"], r"ntn_[A-Za-z0-9]{43,50}"),
    format("notion-token", &["secret_"], r"secret_[A-Za-z0-9]{43}"),
    format("figma-token", &["figd_"], r"figd_[A-Za-z0-9_-]{40}"),
    format("postman-key", &["pmak-"], r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    format("airtable-token", &["pat"], r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    format("doppler-token", &["dp.pt.", "dp.st.", "dp.ct.", "dp.sa."], r"dp\.(?:pt|st|ct|sa)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}"),
    format("planetscale-token", &["pscale_"], r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{32,64}"),
    format("supabase-key", &["sbp_"], r"sbp_[0-9a-f]{40}"),
    format("supabase-key", &["sb_secret_"], r"sb_secret_[A-Za-z0-9_-]{20,60}"),
    format("netlify-token", &["nfp_"], r"nfp_[A-Za-z0-9]{36}"),
    format("vercel-token", &["vercel_blob_rw_"], r"vercel_blob_rw_[A-Za-z0-9_]{30,80}"),
    format("circleci-token", &["ccipat_"], r"CCIPAT_[A-Za-z0-9]{22}_[0-9a-f]{40}"),
    format("buildkite-token", &["bkua_"], r"bkua_[0-9a-f]{40}"),
    format("atlassian-token", &["atatt3"], r"ATATT3[A-Za-z0-9_=-]{180,220}"),
    format("bitbucket-password", &["atbb"], r"ATBB[A-Za-z0-9]{32}"),
    format("dropbox-token", &["sl."], r"sl\.(?:u\.)?[A-Za-z0-9_-]{130,1500}"),
    format("easypost-key", &["ezak", "eztk"], r"EZ[AT]K[A-Za-z0-9]{54}"),
    format("groq-key", &["gsk_"], r"gsk_[A-Za-z0-9]{52}"),
    format("perplexity-key", &["pplx-"], r"pplx-[A-Za-z0-9]{48}"),
    format("replicate-token", &["r8_"], r"r8_[A-Za-z0-9]{37}"),
    format("xai-key", &["xai-"], r"xai-[A-Za-z0-9]{80}"),
    format("pulumi-token", &["pul-"], r"pul-[0-9a-f]{40}"),
    format("sonar-token", &["squ_", "sqp_", "sqa_"], r"sq[upa]_[0-9a-f]{40}"),
    format("tailscale-key", &["tskey-"], r"tskey-[a-z]{2,10}-[A-Za-z0-9]{8,24}-[A-Za-z0-9]{20,40}"),
    format("cloudflare-key", &["v1.0-"], r"v1\.0-[0-9a-f]{24}-[0-9a-f]{146}"),
    format("onepassword-token", &["ops_eyj"], r"ops_eyJ[A-Za-z0-9+/=_-]{200,1500}"),
    format("prefect-key", &["pnu_", "pnb_"], r"pn[ub]_[A-Za-z0-9]{36}"),
    format("readme-key", &["rdme_"], r"rdme_[a-z0-9]{70}"),
    format("aws-bedrock-key", &["absk"], r"ABSK[A-Za-z0-9+/]{109,269}={0,2}"),
    format("aws-bedrock-key", &["bedrock-api-key-"], r"bedrock-api-key-[A-Za-z0-9+/]{60,}={0,2}").reach(8192),
    format("mapbox-token", &["sk.eyj"], r"sk\.eyJ[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{16,64}"),
    format("fly-token", &["fm2_", "fm1r_", "fm1a_"], r"fm(?:2|1r|1a)_[A-Za-z0-9+/=_-]{60,}").reach(8192),
    format("fly-token", &["fo1_"], r"fo1_[A-Za-z0-9_-]{43}"),
    format("langsmith-key", &["lsv2_"], r"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}"),
    format("langfuse-key", &["sk-lf-"], r"sk-lf-[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"),
    format("typeform-token", &["tfp_"], r"tfp_[A-Za-z0-9_.=-]{40,80}"),
    format("contentful-token", &["cfpat-"], r"CFPAT-[A-Za-z0-9_-]{43}"),
    format("nvidia-key", &["nvapi-"], r"nvapi-[A-Za-z0-9_-]{60,70}"),
    format("pinecone-key", &["pcsk_"], r"pcsk_[A-Za-z0-9_]{40,80}"),
    format("tavily-key", &["tvly-"], r"tvly-(?:dev-|prod-)?[A-Za-z0-9]{32}"),
    format("resend-key", &["re_"], r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}"),
    format("render-key", &["rnd_"], r"rnd_[A-Za-z0-9]{28,32}"),
    format("neon-key", &["napi_"], r"napi_[a-z0-9]{60,70}"),
    format("posthog-key", &["phx_"], r"phx_[A-Za-z0-9]{43,50}"),
    format("sourcegraph-token", &["sgp_"], r"sgp_(?:[0-9a-f]{16}_|local_)?[0-9a-f]{40}"),
    format("elevenlabs-key", &["sk_"], r"sk_[0-9a-f]{48}"),
    format("shippo-token", &["shippo_"], r"shippo_(?:live|test)_[0-9a-f]{40}"),
    format("duffel-token", &["duffel_"], r"duffel_(?:live|test)_[A-Za-z0-9_=-]{43}"),
    format("clojars-token", &["clojars_"], r"CLOJARS_[0-9a-f]{60}"),
    format("adafruit-key", &["aio_"], r"aio_[A-Za-z0-9]{28}"),
    format("artifactory-key", &["akcp"], r"AKCp[A-Za-z0-9]{69,73}"),
    format("artifactory-token", &["cmvmdgtu"], r"cmVmdGtu[A-Za-z0-9]{56}"),
    format("openshift-token", &["sha256~"], r"sha256~[A-Za-z0-9_-]{43}"),
    format("django-secret-key", &["django-insecure-"], r"django-insecure-[a-z0-9!@#$%^&*(_=+)-]{50}"),
    format(AUTHORIZATION, &["authorization"], r#"(?i:authorization)["'\\]{0,3} {0,2}[:=,] {0,2}["'\\]{0,3}(?i:(?:token|apikey|api-key|key|geniekey|ssws|sso-key|private) {1,2})?(?:token=)?["'\\]{0,3}([A-Za-z0-9_.=+/~-]{16,1500})"#),
    format(PASSWORD, &["-u ", "--user ", "--user=", "--proxy-user "], r#"(?:-u|--user|--proxy-user)[ =]["']?[^\s:"'/]{1,64}:([^\s"']{4,128})"#),
    format(PASSWORD, &["sshpass -p"], r#"sshpass -p ?["']?([^\s"']{4,128})"#),
    format(PASSWORD, &[":5432:"], r":5432:[^\s:/]{1,64}:[^\s:/]{1,64}:([^\s:]{4,128})"),
    format("bearer-token", &["bearer "], r"(?i:bearer) {1,3}([A-Za-z0-9_.=+/~-]{20,1500})"),
    format("basic-credentials", &["basic "], r"(?i:basic) {1,3}([A-Za-z0-9+/]{12,200}={0,2})"),
    format(URL_PASSWORD, &["://"], r#"://[^\s:/@"'<>\\]{0,64}:([^\s:/@"'<>\\]{4,128})@[A-Za-z0-9\[]"#),
];
