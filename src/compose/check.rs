//! How the person's check stands, and whether the model goes in circles: what the context tells
//! first.

use super::budget::Rank;
use super::passage::Passage;
use crate::session::{CheckReport, CheckedWhen, Instructions, Session};

/// The sections together; empty without a check and without circles.
pub(super) fn section(session: &Session) -> Passage {
    let mut passage = Passage {
        rank: Rank::Failure,
        before: String::new(),
        output: String::new(),
        after: circles(session),
        cut: "some of what the check printed",
    };
    let Some(report) = &session.check else {
        return passage;
    };
    let CheckReport {
        command,
        when: at,
        outcome,
    } = report;
    let when = match at {
        CheckedWhen::AtStart => " (before any change)",
        CheckedWhen::AfterRound => " (after your last reply)",
        CheckedWhen::AfterReversal => " (run again now, after the user undid or redid rounds)",
        CheckedWhen::Before => " (in an earlier round; nothing has changed since)",
        CheckedWhen::Outdated => {
            " (in an earlier round; not run since, and files may have changed)"
        }
        CheckedWhen::NotYet => "",
    };
    passage.before = format!(
        "\n## Check\n[{}] `{command}`: {}{when}\n",
        outcome.status.label(),
        outcome.line_for_model()
    );
    let is_known = session.instructions == Instructions::Reminder;
    // What a check printed that passes helps nobody.
    if !report.passed() && (!at.is_told() || !is_known) {
        passage.output.clone_from(&outcome.detail.text);
    }
    // A chat that knows less than the whole is told again what this is.
    let is_told_again = session.instructions == Instructions::Full || *at == CheckedWhen::NotYet;
    if is_told_again && session.goes_without_check() {
        passage
            .after
            .insert_str(0, "The user continues without it: [DONE] counts.\n");
    } else if is_told_again {
        passage.after.insert_str(0, "The user's check runs by itself after each reply that changes something, also before a [DONE] in the same reply counts; [DONE] is accepted only when it passes.\n");
    }
    passage
}

/// A warning for the model that it goes in circles.
fn circles(session: &Session) -> String {
    if session.last_circles.is_empty() {
        return String::new();
    }
    let lines = session
        .last_circles
        .iter()
        .map(|circle| format!("- {circle}.\n"));
    format!("\n## You Go in Circles\n{}", lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::super::Section as _;
    use super::super::cuts::Cuts;
    use super::*;
    use crate::protocol::Outcome;
    use crate::session::tests::session;

    fn render(session: &Session) -> String {
        section(session).fit(&[10_000], &mut Cuts::default())
    }

    #[test]
    fn tells_how_the_check_stands_and_repeats_no_output() {
        let mut session = session("ab12cd34");
        assert_eq!(render(&session), "");
        session.sequence_number = 2;
        session.instructions = Instructions::Reminder;
        session.check = Some(CheckReport {
            command: "make test".to_owned(),
            when: CheckedWhen::AfterRound,
            outcome: Outcome::failed("exit code 2 in 1 s").with_detail("boom\n"),
        });
        assert_eq!(
            render(&session),
            "\n## Check\n[FAILED] `make test`: exit code 2 in 1 s (after your last reply)\n```\nboom\n```\n"
        );
        session.check.as_mut().unwrap().when = CheckedWhen::Before;
        assert!(!render(&session).contains("boom"));
        session.check.as_mut().unwrap().when = CheckedWhen::Outdated;
        let outdated = render(&session);
        assert!(!outdated.contains("boom") && !outdated.contains("nothing has changed"));
        session.instructions = Instructions::Full;
        assert!(render(&session).contains("boom"), "it may have forgotten");
        let check = session.check.as_mut().unwrap();
        check.outcome = Outcome::ok("exit code 0 in 1 s").with_detail("fine\n");
        check.when = CheckedWhen::AfterRound;
        assert!(!render(&session).contains("fine"));
    }
}
