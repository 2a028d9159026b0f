//! Commands of RESP: an array of arguments, each with its length.
//!
//! https://valkey.io/topics/protocol/

use crate::statements::lexer::Lexis;
use crate::statements::template::parameters;
use crate::statements::value::write_integer;

pub const QUIT: &[u8] = b"*1\r\n$4\r\nQUIT\r\n";

const PARAMETER: &str = "must be separated by blanks, without quotes: a parameter is a whole argument";

#[derive(Debug, PartialEq, Eq)]
enum Piece {
    /// Arguments that are the same in each use, as they are sent.
    Fixed(Vec<u8>),
    /// The value of this parameter, by its number in the template.
    Value(usize),
}

/// A statement ready to be sent.
#[derive(Debug, Default)]
pub struct Command {
    pieces: Vec<Piece>,
}

impl Command {
    /// From a statement's words, separated by blanks. Err: the reason that the text is not a command.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (names, words) = (parameters(text, Lexis::Standard), words(text));
        if words.is_empty() {
            return Err("has no command".into());
        }
        // template and command must agree on the parameters
        if let Some(name) = names.iter().find(|name| !words.iter().any(|word| parameter(word) == Some(name)))
        {
            return Err(format!("`:{name}` {PARAMETER}"));
        }
        let mut pieces = Vec::new();
        let mut fixed = Vec::new();
        number(b'*', words.len(), &mut fixed);
        for word in words {
            match parameter(word) {
                Some(name) => {
                    let index = names.iter().position(|known| known == name);
                    pieces.push(Piece::Fixed(std::mem::take(&mut fixed)));
                    pieces.push(Piece::Value(index.ok_or_else(|| format!("`{word}` {PARAMETER}"))?));
                }
                None if parameters(word, Lexis::Standard).is_empty() => argument(word.as_bytes(), &mut fixed),
                None => return Err(format!("`{word}` {PARAMETER}")),
            }
        }
        pieces.push(Piece::Fixed(fixed));
        Ok(Self { pieces })
    }

    /// Appends the command with these values, by parameter.
    pub fn write(&self, values: &[Vec<u8>], out: &mut Vec<u8>) {
        for piece in &self.pieces {
            match piece {
                Piece::Fixed(bytes) => out.extend_from_slice(bytes),
                Piece::Value(index) => argument(&values[*index], out),
            }
        }
    }
}

/// The words of a command, which may hold no blanks.
pub fn words(text: &str) -> Vec<&str> {
    text.split_ascii_whitespace().collect()
}

/// Appends a command of these words.
pub fn command(words: &[&str], out: &mut Vec<u8>) {
    number(b'*', words.len(), out);
    for word in words {
        argument(word.as_bytes(), out);
    }
}

/// The name of the parameter that a word denotes.
fn parameter(word: &str) -> Option<&str> {
    let name = word.strip_prefix(':')?;
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    (plain && !name.is_empty() && !name.as_bytes()[0].is_ascii_digit()).then_some(name)
}

fn argument(value: &[u8], out: &mut Vec<u8>) {
    number(b'$', value.len(), out);
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

fn number(kind: u8, number: usize, out: &mut Vec<u8>) {
    out.push(kind);
    write_integer(number as i64, out);
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_the_bytes_of_the_manual() {
        let mut out = Vec::new();
        Command::parse("LLEN  mylist").unwrap().write(&[], &mut out);
        assert_eq!(out, b"*2\r\n$4\r\nLLEN\r\n$6\r\nmylist\r\n");
    }

    #[test]
    fn a_value_is_one_argument_whatever_it_holds_and_the_same_wherever_it_stands() {
        let values = [b"a b\r\n".to_vec(), b"".to_vec()];
        let mut out = Vec::new();
        Command::parse("MSET :k :v x:1 :k").unwrap().write(&values, &mut out);
        assert_eq!(out, b"*5\r\n$4\r\nMSET\r\n$5\r\na b\r\n\r\n$0\r\n\r\n$3\r\nx:1\r\n$5\r\na b\r\n\r\n");
    }

    #[test]
    fn a_parameter_that_is_no_whole_word_is_refused_by_name() {
        for (text, word) in [
            ("GET user:id", "`:id`"),
            ("MGET user:id :id", "`user:id`"),
            ("SET it's :id", "`:id`"),
            ("SET a -- :id", "`:id`"),
            ("SET :id::int 1", "`:id`"),
            ("SET \"a b\":id 1", "`:id`"),
        ] {
            let refused = Command::parse(text).unwrap_err();
            assert!(refused.starts_with(&format!("{word} must be separated by blanks")), "{text}: {refused}");
        }
        assert_eq!(Command::parse(" \n").unwrap_err(), "has no command");
    }
}
