//! The words of a session that messages tell.

use super::{CutReply, Session};

impl Session {
    /// Passes every text that a message may tell through this function, apart from the results of
    /// the steps and of the check: the person is told where in them a secret was.
    ///
    /// All fields are named, so that a new one is decided about.
    pub fn each_word(&mut self, clean: &mut dyn FnMut(&mut String)) {
        let Self {
            task,
            last_issues,
            last_repairs,
            last_cut,
            notes,
            questions,
            plan,
            plan_news,
            summary,
            last_circles,
            waived_check: _,
            history,
            further,
            // Told apart, or not in words.
            last_results: _,
            check: _,
            schema: _,
            session_id: _,
            sequence_number: _,
            is_complete: _,
            created_at: _,
            updated_at: _,
            round_limit: _,
            read_file_requests: _,
            planning: _,
            instructions: _,
            chat_tokens: _,
            circles: _,
            choices: _,
            has_files_elsewhere: _,
            undecided_steps: _,
            unstarted_command: _,
            commits_rounds: _,
            permissions: _,
            workspace: _,
            sandbox: _,
            network_granted: _,
            seen: _,
            changed_files: _,
            replies: _,
            checkpoints: _,
            outside_repository: _,
            environment: _,
            lacks_end: _,
        } = self;
        clean(task);
        let texts = [plan, summary].into_iter().flatten();
        let news = plan_news.iter_mut().map(|news| &mut news.text);
        let wanted = further.iter_mut().map(|further| &mut further.text);
        let said = notes.iter_mut().chain(last_repairs).chain(last_circles);
        for text in texts.chain(news).chain(wanted).chain(said) {
            clean(text);
        }
        for question in questions {
            clean(&mut question.question);
            question.answer.iter_mut().for_each(&mut *clean);
        }
        for issue in last_issues {
            issue.command.iter_mut().for_each(&mut *clean);
            clean(&mut issue.message);
            clean(&mut issue.hint);
        }
        if let Some(CutReply { cut, .. }) = last_cut {
            clean(&mut cut.what);
        }
        for round in &mut history.rounds {
            let named = [
                &mut round.files,
                &mut round.commands,
                &mut round.failures,
                &mut round.looks,
            ];
            let first = named.into_iter().flat_map(|named| &mut named.first);
            first.for_each(&mut *clean);
        }
    }
}
