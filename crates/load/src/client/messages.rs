//! What a client sends to PostgreSQL: each way of handling statements as messages.

use std::sync::atomic::Ordering;

use rand::Rng;

use super::{Client, Speech, Stage};
use crate::plan::{Handle, Protocol, Text};
use crate::text::Template;
use crate::values::write_integer;
use crate::wire;
use crate::work::Work;

impl Client {
    pub(super) fn begin_statement(&mut self, work: &Work, now_ns: u64) {
        let statement = work.transactions[self.transaction].statements[self.position];
        let template = &work.templates[statement];
        self.statement_ns = if self.position == 0 && !work.transactions[self.transaction].begin {
            self.started_ns
        } else {
            now_ns
        };
        self.tag = match work.plan.text {
            Text::Identical => 0,
            Text::Distinct => self.texts.random_range(0..work.plan.distinct_texts),
            Text::Unique => work.next_tag.fetch_add(1, Ordering::Relaxed),
        };
        template.draw_literals(&mut self.values, &mut self.literals);
        if work.plan.server.protocol == Protocol::Mysql {
            return self.begin_command(work, statement);
        }
        self.clear();
        let Self { out, literals, tag, name, .. } = self;
        match work.plan.handle {
            Handle::None => {
                wire::query(out, |out| template.write_text(*tag, literals, out));
                self.stage = Stage::Execute;
            }
            Handle::Unnamed => {
                name.clear();
                wire::parse(out, b"", |out| template.write_text(*tag, literals, out));
                self.append_execution(template);
            }
            Handle::Named => {
                name.clear();
                name.push(b's');
                write_integer(statement as i64, name);
                name.push(b'_');
                write_integer(*tag as i64, name);
                let (word, bit) = (*tag as usize / 64, *tag % 64);
                if self.prepared[statement][word] >> bit & 1 == 0 {
                    wire::parse(out, name, |out| template.write_text(*tag, literals, out));
                }
                self.append_execution(template);
            }
            Handle::PerUse | Handle::Left => {
                name.clear();
                name.push(b'p');
                if work.plan.handle == Handle::Left {
                    write_integer(self.left as i64, name);
                    self.left += 1;
                }
                wire::parse(out, name, |out| template.write_text(*tag, literals, out));
                wire::sync(out);
                self.stage = Stage::Parse;
            }
        }
    }

    pub(super) fn write_execution(&mut self, work: &Work) {
        let statement = work.transactions[self.transaction].statements[self.position];
        self.clear();
        self.append_execution(&work.templates[statement]);
    }

    fn append_execution(&mut self, template: &Template) {
        let Self { out, name, values, .. } = self;
        wire::bind_execute(out, name, template.bound(), |index, out| {
            template.write_value(index, values, out)
        });
        wire::sync(out);
        self.stage = Stage::Execute;
    }

    pub(super) fn write_close(&mut self) {
        self.clear();
        wire::close(&mut self.out, &self.name);
        wire::sync(&mut self.out);
        self.stage = Stage::Close;
    }

    pub(super) fn write_query(&mut self, stage: Stage, text: &[u8]) {
        if matches!(self.scanner, Speech::Mysql(_)) {
            return self.query_command(stage, text);
        }
        self.clear();
        wire::query(&mut self.out, |out| out.extend_from_slice(text));
        self.stage = stage;
    }

    pub(super) fn mark_prepared(&mut self, work: &Work) {
        let statement = work.transactions[self.transaction].statements[self.position];
        self.prepared[statement][self.tag as usize / 64] |= 1 << (self.tag % 64);
    }

    pub(super) fn clear(&mut self) {
        self.out.clear();
        self.sent = 0;
    }
}
