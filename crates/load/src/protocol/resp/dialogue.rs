//! A client's messages to Valkey: each statement is a command, and several may be under way.

use std::collections::VecDeque;

use steelyard_engine::error::PlanError;

use super::commands::Command;
use super::scanner::Scanner;
use crate::protocol::{self, Control, Next, Reply, ServerError};
use crate::record::executed::Effect;
use crate::statements::draw::Draw;
use crate::statements::work::Work;

pub struct Dialogue {
    scanner: Scanner,
    /// By statement.
    commands: Vec<Command>,
    /// Of the command that is written, by parameter.
    values: Vec<Vec<u8>>,
    /// Commands whose reply has not ended.
    awaited: usize,
    /// Replies that ended and were not taken.
    replies: VecDeque<Reply>,
}

impl protocol::Dialogue for Dialogue {
    fn new(work: &Work) -> Self {
        // `check` has refused what is no command
        let commands = work.plan.statements.iter().map(|one| Command::parse(&one.sql).unwrap_or_default());
        let parameters =
            work.templates.iter().map(|template| template.bound().len()).max().unwrap_or_default();
        Self {
            scanner: Scanner::new(work.plan.message_bytes_max(), false),
            commands: commands.collect(),
            values: vec![Vec::new(); parameters],
            awaited: 0,
            replies: VecDeque::new(),
        }
    }

    fn begin(&mut self, work: &Work, draw: &Draw, out: &mut Vec<u8>) {
        for (text, value) in self.values.iter_mut().zip(draw.bound(work)) {
            text.clear();
            value.write(text);
        }
        self.commands[draw.statement].write(&self.values, out);
        self.awaited += 1;
    }

    fn go_on(&mut self, _: &Work, _: &Draw, _: bool, _: &mut Vec<u8>) -> Next {
        Next::Done
    }

    /// `check` has refused `begin`.
    fn control(&mut self, _: Control, _: &mut Vec<u8>) {}

    fn feed(&mut self, mut bytes: &[u8]) -> Result<Option<Reply>, PlanError> {
        while let Some(answer) = self.scanner.feed(&mut bytes)? {
            if self.awaited == 0 {
                return Err(PlanError::new("server", "sends a reply that no command awaits"));
            }
            self.awaited -= 1;
            let effect = Effect { rows: Some(answer.elements), bytes: answer.bytes };
            self.replies.push_back(Reply {
                in_transaction: false,
                autocommit: true,
                error: answer.error,
                effect,
            });
        }
        Ok(self.replies.pop_front())
    }

    fn further(&mut self) -> Option<Reply> {
        self.replies.pop_front()
    }

    /// An error is a whole reply: nothing is half read.
    fn last_error(&mut self) -> Option<ServerError> {
        None
    }

    fn reset(&mut self) {
        self.scanner.reset();
        self.awaited = 0;
        self.replies.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::super::Resp;
    use super::super::tests::plan;
    use super::*;
    use crate::plan::Plan;
    use crate::protocol::{Dialogue as _, Protocol};

    /// A dialogue, and two commands of it.
    fn sent() -> (Dialogue, String) {
        let work = Work::new(Plan::parse(&plan().to_string()).unwrap(), Resp::DIALECT).unwrap();
        let (mut dialogue, mut draw) = (Dialogue::new(&work), Draw::new(&work, 0));
        let mut out = Vec::new();
        for _ in 0..2 {
            draw.statement(&work, 0);
            dialogue.begin(&work, &draw, &mut out);
        }
        (dialogue, String::from_utf8(out).unwrap())
    }

    fn effect(elements: u64, bytes: u64) -> Effect {
        Effect { rows: Some(elements), bytes }
    }

    #[test]
    fn commands_are_written_one_after_another_with_a_value_each() {
        let (_, out) = sent();
        let commands: Vec<&str> = out.split_inclusive("*2\r\n$3\r\nGET\r\n$1\r\n").collect();
        assert_eq!((commands.len(), out.len()), (3, 2 * "*2\r\n$3\r\nGET\r\n$1\r\n7\r\n".len()));
    }

    #[test]
    fn replies_in_one_piece_are_taken_one_by_one() {
        let (mut dialogue, _) = sent();
        let first = dialogue.feed(b"$1\r\na\r\n-WRONGTYPE it is no text\r\n").unwrap().unwrap();
        assert_eq!(
            first,
            Reply { in_transaction: false, autocommit: true, error: None, effect: effect(1, 7) }
        );
        let error = ServerError { code: "WRONGTYPE".into(), message: "it is no text".into() };
        assert_eq!(
            dialogue.further(),
            Some(Reply {
                in_transaction: false,
                autocommit: true,
                error: Some(error),
                effect: effect(0, 26)
            })
        );
        assert_eq!(dialogue.further(), None);
    }

    #[test]
    fn a_reply_without_a_command_breaks_the_connection_and_the_next_begins_anew() {
        let (mut dialogue, _) = sent();
        let error = dialogue.feed(b"+1\r\n+2\r\n+3\r\n").unwrap_err();
        assert_eq!(error.to_string(), "server: sends a reply that no command awaits");
        dialogue.reset();
        assert_eq!(dialogue.further(), None);
        assert!(dialogue.feed(b"+1\r\n").is_err());
    }
}
