//! The promises of `READ_FILE`, and how far the message keeps them.
//!
//! A step that reads says that the contents are below, before anybody knows whether there is room for
//! them, or what the files are at the end of the round. Here the results are made to say what is so:
//! a step of which nothing is shown has failed, and one of which not everything is says how many.

use std::collections::BTreeMap;

use super::content::Content;
use super::cuts::Cuts;
use crate::protocol::{Outcome, StepResult};
use crate::session::Session;

/// How often a message is made again because there was no room for what its results promised.
const ATTEMPTS: usize = 4;

/// The contents that the model asked for, and the results that speak of them.
#[derive(Debug)]
pub(super) struct Promises {
    session: Session,
    contents: Vec<Content>,
    /// The message of each step, by its number, before anything was left out.
    promised: BTreeMap<u32, String>,
    attempts: usize,
}

/// The fate of the files that one step asked for.
#[derive(Debug, Default)]
struct Kept<'a> {
    all: usize,
    /// There was no room.
    unread: usize,
    /// Why they cannot be shown.
    refusals: Vec<&'a str>,
}

impl Promises {
    pub(super) fn new(session: &Session, contents: &[Content]) -> Self {
        let mut promises = Self {
            session: session.clone(),
            contents: contents.to_vec(),
            promised: (session.last_results.iter())
                .map(|result| (result.number, result.outcome.message.clone()))
                .collect(),
            attempts: 0,
        };
        promises.amend();
        promises
    }

    /// The session, whose results say what is shown.
    pub(super) fn session(&self) -> &Session {
        &self.session
    }

    /// The contents; what there is no room for is not read.
    pub(super) fn contents(&self) -> &[Content] {
        &self.contents
    }

    /// Returns true if a message shows less than the results say, and corrects the results.
    pub(super) fn are_broken_by(&mut self, cuts: &Cuts) -> bool {
        let mut is_broken = false;
        for at in &cuts.unkept {
            if let Some(content) = self.contents.get_mut(*at).filter(|one| !one.is_unread()) {
                *content = Content::unread(content.title.clone());
                is_broken = true;
            }
        }
        self.attempts += 1;
        if is_broken {
            self.amend();
        }
        is_broken && self.attempts < ATTEMPTS
    }

    fn amend(&mut self) {
        let mut steps: BTreeMap<u32, Kept<'_>> = BTreeMap::new();
        let requests = self.session.read_file_requests.iter();
        for (request, content) in requests.zip(&self.contents) {
            let kept = steps.entry(request.step).or_default();
            kept.all += 1;
            kept.unread += usize::from(content.is_unread());
            if content.is_refusal() {
                kept.refusals.push(&content.title);
            }
        }
        for result in &mut self.session.last_results {
            if let Some(kept) = steps.get(&result.number) {
                let promised = self.promised.get(&result.number);
                kept.amend(result, promised.map_or("", String::as_str));
            }
        }
    }
}

impl Kept<'_> {
    fn amend(&self, result: &mut StepResult, promised: &str) {
        let outcome = &mut result.outcome;
        if let ([refusal], 1) = (self.refusals.as_slice(), self.all) {
            *outcome = Outcome::failed(*refusal);
        } else if self.unread == self.all {
            let what = match self.all {
                1 => "the contents".to_owned(),
                all => format!("the contents of all {all} files"),
            };
            *outcome = Outcome::failed(format!(
                "`{}`: {what} did not fit into this message",
                result.subject
            ))
            .with_hint("ask again, for fewer files or lines at once");
        } else if self.unread > 0 {
            outcome.message = format!(
                "{promised}; but there was no room for {} of {}",
                self.unread, self.all
            );
            "the contents of the others are below".clone_into(&mut outcome.hint);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{ReadRequest, RelPath, Status};
    use crate::session::tests::session;

    fn requested(contents: &[(u32, Content)]) -> Promises {
        let mut session = session("ab12cd34");
        for (step, _) in contents {
            session.read_file_requests.push(ReadRequest {
                path: RelPath::parse("x").unwrap(),
                start_line: None,
                end_line: None,
                numbered: false,
                step: *step,
            });
            if session.last_results.last().map(|last| last.number) != Some(*step) {
                session.last_results.push(StepResult {
                    number: *step,
                    command: "READ_FILE".to_owned(),
                    subject: "*.txt".to_owned(),
                    millis: 1,
                    outcome: Outcome::ok("read 2 files").with_hint("the contents are below"),
                });
            }
        }
        let contents: Vec<Content> = contents.iter().map(|(_, one)| one.clone()).collect();
        Promises::new(&session, &contents)
    }

    fn file(title: &str, text: &str) -> Content {
        Content {
            title: title.to_owned(),
            lines: None,
            text: text.into(),
            sighting: None,
        }
    }

    fn told(promises: &Promises) -> Vec<String> {
        let results = promises.session().last_results.iter();
        let told = results.map(|result| {
            let is_ok = result.outcome.status == Status::Ok;
            let sign = if is_ok { "+" } else { "-" };
            format!("{sign} {}", result.outcome.line_for_model())
        });
        told.collect()
    }

    #[test]
    fn results_say_what_is_shown() {
        let mut promises = requested(&[
            (1, file("a", "x\n")),
            (1, file("b", "x\n")),
            (2, file("c", "x\n")),
            (4, file("`d` has 1 line: there is no line 9", "")),
        ]);
        let fine = "+ read 2 files; the contents are below";
        let refused = "- `d` has 1 line: there is no line 9";
        assert_eq!(told(&promises), [fine, fine, refused]);
        let unkept = |unkept: &[usize]| Cuts {
            unkept: unkept.to_vec(),
            ..Cuts::default()
        };
        assert!(!promises.are_broken_by(&unkept(&[])));
        assert!(promises.are_broken_by(&unkept(&[1])));
        let some = "+ read 2 files; but there was no room for 1 of 2; the contents of the others are below";
        assert_eq!(told(&promises), [some, fine, refused]);
        assert!(!promises.are_broken_by(&unkept(&[1])));
        promises.attempts = 0;
        assert!(promises.are_broken_by(&unkept(&[0, 1, 2])));
        let none = "- `*.txt`: the contents of all 2 files did not fit into this message; ask again, for fewer files or lines at once";
        let one = "- `*.txt`: the contents did not fit into this message; ask again, for fewer files or lines at once";
        assert_eq!(told(&promises), [none, one, refused]);
    }
}
