//! What a client sends to MySQL or MariaDB: each way of handling statements as commands.

use super::{Client, Speech, Stage};
use crate::mysql::{self, Answer, LAST, Value};
use crate::plan::Handle;
use crate::text::Template;
use crate::work::Work;

/// What a client keeps of the statements it has prepared.
#[derive(Default)]
pub struct Prepared {
    /// Number that the server gave to each statement's texts, by tag; 0: not prepared.
    numbers: Vec<Vec<u32>>,
    /// The statement in use.
    current: u32,
    /// To be closed by the next command: a close has no answer to wait for.
    used: Option<u32>,
    values: Vec<Value>,
}

impl Prepared {
    pub fn new(statements: usize, texts: u64) -> Self {
        Self { numbers: vec![vec![0; texts as usize]; statements], ..Self::default() }
    }

    /// The connection was replaced: nothing is prepared.
    pub fn forget(&mut self) {
        for numbers in &mut self.numbers {
            numbers.fill(0);
        }
        self.used = None;
    }
}

impl Client {
    pub(super) fn begin_command(&mut self, work: &Work, statement: usize) {
        let template = &work.templates[statement];
        self.close_used();
        let handle = work.plan.handle;
        if handle == Handle::Named {
            let known = self.mysql.numbers[statement][self.tag as usize];
            if known != 0 {
                self.mysql.current = known;
                return self.execute_command(template);
            }
        }
        let Self { out, literals, tag, .. } = self;
        let text = |out: &mut Vec<u8>| template.write_text(*tag, literals, out);
        if handle == Handle::None {
            mysql::query(out, text);
            self.stage = Stage::Execute;
            return self.expect(Answer::Result, None);
        }
        mysql::prepare(out, text);
        self.stage = Stage::Parse;
        self.expect(Answer::Prepared, None);
        if handle == Handle::Unnamed {
            // in one write: the server takes LAST for the statement that it has just prepared
            self.mysql.current = LAST;
            self.append_command(template);
            mysql::close(&mut self.out, LAST);
            self.expect(Answer::Prepared, Some(Answer::Result));
        }
    }

    /// Executes what the server has just prepared under this number.
    pub(super) fn execute_prepared(&mut self, work: &Work, number: u32) {
        let statement = work.transactions[self.transaction].statements[self.position];
        self.mysql.current = number;
        match work.plan.handle {
            Handle::Named => self.mysql.numbers[statement][self.tag as usize] = number,
            Handle::PerUse => self.mysql.used = Some(number),
            _ => {}
        }
        self.clear();
        self.execute_command(&work.templates[statement]);
    }

    pub(super) fn query_command(&mut self, stage: Stage, text: &[u8]) {
        self.close_used();
        mysql::query(&mut self.out, |out| out.extend_from_slice(text));
        self.stage = stage;
        self.expect(Answer::Result, None);
    }

    fn execute_command(&mut self, template: &Template) {
        self.append_command(template);
        self.expect(Answer::Result, None);
    }

    fn append_command(&mut self, template: &Template) {
        let prepared = &mut self.mysql;
        template.draw_values(&mut self.values, &mut prepared.values);
        let bound: Vec<&Value> = template.occurrences().map(|index| &prepared.values[index]).collect();
        mysql::execute(&mut self.out, prepared.current, &bound);
        self.stage = Stage::Execute;
    }

    fn close_used(&mut self) {
        self.clear();
        if let Some(number) = self.mysql.used.take() {
            mysql::close(&mut self.out, number);
        }
    }

    fn expect(&mut self, first: Answer, then: Option<Answer>) {
        if let Speech::Mysql(scanner) = &mut self.scanner {
            scanner.expect(first, then);
        }
    }
}
