//! Asks one question and prints the answer as it comes:
//! `ask PROVIDER URL MODEL QUESTION`, with the key in the provider's variable.

use std::io::Write as _;
use std::process::ExitCode;

use agent_api::{
    ApiClient, ApiEndpoint, ApiError, ApiErrorKind, ApiKey, ChatTurn, ModelRequest, Provider,
    RequestProgress, StopSignal,
};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [provider, url, model, question] = arguments.as_slice() else {
        tell("usage: ask PROVIDER URL MODEL QUESTION");
        return ExitCode::from(2);
    };
    match ask(provider, url, model, question) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tell(&format!("{error}\n\nhint: {}", error.advice()));
            ExitCode::FAILURE
        }
    }
}

fn ask(provider: &str, url: &str, model: &str, question: &str) -> Result<(), ApiError> {
    let provider = Provider::named(provider)
        .ok_or_else(|| ApiError::new(ApiErrorKind::BadUrl, "no such provider"))?;
    let key = std::env::var(&provider.key_variable).ok();
    let key = key.and_then(|text| ApiKey::new(&text));
    let client = ApiClient::new(ApiEndpoint::new(provider, Some(url), key)?);
    let request = ModelRequest::new(model, vec![ChatTurn::user(question)]);
    let mut out = std::io::stdout();
    let answer = client.complete(&request, &StopSignal::default(), &mut |progress| {
        if let RequestProgress::Text(text) = progress {
            let _ = out.write_all(text.as_bytes());
            let _ = out.flush();
        }
    })?;
    tell(&format!(
        "\n{:?}, {} tokens",
        answer.end,
        answer.usage.total()
    ));
    Ok(())
}

fn tell(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
