//! SQL as tokens: what is text, comment, name or code, by the lexical rules of a dialect alone.
//!
//! - PostgreSQL: <https://www.postgresql.org/docs/current/sql-syntax-lexical.html>
//! - MariaDB, MySQL: <https://mariadb.com/kb/en/string-literals/>, <https://mariadb.com/kb/en/comment-syntax/>
//! - SQLite: <https://www.sqlite.org/lang_keywords.html>, its tokenize.c

/// What a token is. `Broken`: the rest of a text whose quote or comment does not end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Space,
    Comment,
    Text,
    Number,
    /// The dialect's own placeholder: `$1`, `?`.
    Placeholder,
    Word,
    /// An identifier in quotes.
    Name,
    Other,
    Broken,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::Space => "space",
            Kind::Comment => "comment",
            Kind::Text => "text",
            Kind::Number => "number",
            Kind::Placeholder => "parameter",
            Kind::Word => "word",
            Kind::Name => "name",
            Kind::Other => "other",
            Kind::Broken => "broken",
        }
    }
}

/// Whose rules hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lexis {
    Postgresql,
    /// escapes: a backslash in a text escapes (sql_mode without NO_BACKSLASH_ESCAPES).
    Mysql {
        escapes: bool,
    },
    Sqlite,
    /// What all have in common, for any other server.
    Standard,
}

impl Lexis {
    /// By the name of a protocol or a dialect; what all have in common for any other.
    pub fn named(name: &str) -> Self {
        match name {
            "postgres" | "postgresql" => Lexis::Postgresql,
            "mysql" => Lexis::Mysql { escapes: true },
            "sqlite" => Lexis::Sqlite,
            _ => Lexis::Standard,
        }
    }

    fn is_mysql(self) -> bool {
        matches!(self, Lexis::Mysql { .. })
    }

    fn escapes(self) -> bool {
        self == Lexis::Mysql { escapes: true }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token<'a> {
    pub kind: Kind,
    pub text: &'a str,
    /// Where it begins, in bytes.
    pub at: usize,
}

/// The tokens of a text from a place on, in order; together they are the text.
pub fn tokens(sql: &str, lexis: Lexis) -> Tokens<'_> {
    Tokens { sql, lexis, at: 0 }
}

pub struct Tokens<'a> {
    sql: &'a str,
    lexis: Lexis,
    at: usize,
}

impl Tokens<'_> {
    /// Goes on at a place, which is at the edge of a character.
    pub fn resume(&mut self, at: usize) {
        self.at = at;
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        let rest = self.sql.get(self.at..).filter(|rest| !rest.is_empty())?;
        let (kind, length) = first(rest, self.lexis);
        let token = Token { kind, text: &rest[..length], at: self.at };
        self.at += length;
        Some(token)
    }
}

/// Kind and length of the first token of a text that is not empty.
fn first(rest: &str, lexis: Lexis) -> (Kind, usize) {
    let begin = rest.chars().next().unwrap_or_default();
    if begin.is_whitespace() {
        return (Kind::Space, length_of(rest, char::is_whitespace));
    }
    if let Some(found) = comment(rest, lexis).or_else(|| quoted(rest, lexis)) {
        return found;
    }
    match begin {
        '$' if lexis == Lexis::Postgresql => dollar(rest),
        '?' if lexis.is_mysql() => (Kind::Placeholder, 1),
        ':' if rest.starts_with("::") || rest.starts_with(":=") => (Kind::Other, 2),
        _ if begin.is_ascii_digit() => (Kind::Number, number(rest)),
        '.' if rest[1..].starts_with(|next: char| next.is_ascii_digit()) => (Kind::Number, number(rest)),
        _ if begin.is_alphabetic() || begin == '_' => (Kind::Word, length_of(rest, is_of_word)),
        _ => (Kind::Other, begin.len_utf8()),
    }
}

fn length_of(rest: &str, is_part: impl Fn(char) -> bool) -> usize {
    rest.find(|next| !is_part(next)).unwrap_or(rest.len())
}

fn is_of_word(next: char) -> bool {
    next.is_alphanumeric() || next == '_' || next == '$'
}

fn comment(rest: &str, lexis: Lexis) -> Option<(Kind, usize)> {
    let line = || Some((Kind::Comment, rest.find('\n').unwrap_or(rest.len())));
    if let Some(after) = rest.strip_prefix("--") {
        let blank = after.is_empty() || after.starts_with(char::is_whitespace);
        return if blank || !lexis.is_mysql() { line() } else { None };
    }
    if rest.starts_with('#') && lexis.is_mysql() {
        return line();
    }
    let inner = rest.strip_prefix("/*")?;
    // the server executes what follows
    for mark in ["!", "M!"] {
        if let Some(code) = inner.strip_prefix(mark).filter(|_| lexis.is_mysql()) {
            let version = length_of(code, |next| next.is_ascii_digit());
            return Some((Kind::Other, 2 + mark.len() + version));
        }
    }
    Some(match block_end(rest, lexis == Lexis::Postgresql) {
        Some(end) => (Kind::Comment, end),
        None => (Kind::Broken, rest.len()),
    })
}

fn block_end(rest: &str, nested: bool) -> Option<usize> {
    let (mut depth, mut at) = (0, 0);
    while depth > 0 || at == 0 {
        at += rest[at..].find(['/', '*'])?;
        if rest[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
        } else if rest[at..].starts_with("/*") && (nested || depth == 0) {
            depth += 1;
            at += 2;
        } else {
            at += 1;
        }
    }
    Some(at)
}

/// A text or a name in quotes, with its prefix.
fn quoted(rest: &str, lexis: Lexis) -> Option<(Kind, usize)> {
    let prefix = match lexis {
        Lexis::Postgresql if rest.starts_with("u&") || rest.starts_with("U&") => 2,
        Lexis::Mysql { .. } if rest.starts_with('_') => length_of(rest, is_of_word),
        _ => usize::from(rest.starts_with(['b', 'B', 'x', 'X', 'n', 'N', 'e', 'E'])),
    };
    let (prefix, quote) = match (rest.get(prefix..)?.chars().next()?, prefix) {
        (quote @ '\'', _) | (quote @ '"', 0 | 2) => (prefix, quote),
        _ if prefix > 0 => return None,
        (quote @ '`', _) if lexis.is_mysql() || lexis == Lexis::Sqlite => (0, quote),
        ('[', _) if lexis == Lexis::Sqlite => (0, ']'),
        _ => return None,
    };
    let escapes = quote != '`'
        && (lexis.escapes() || lexis == Lexis::Postgresql && prefix == 1 && rest.starts_with(['e', 'E']));
    let kind = if quote == '\'' || quote == '"' && lexis.is_mysql() { Kind::Text } else { Kind::Name };
    Some(match quote_end(&rest[prefix + 1..], quote, escapes) {
        Some(end) => (kind, prefix + 1 + end),
        None => (Kind::Broken, rest.len()),
    })
}

/// Where a text in quotes ends, behind its quote; two quotes are one of the text.
fn quote_end(inner: &str, quote: char, escapes: bool) -> Option<usize> {
    let mut characters = inner.char_indices().peekable();
    while let Some((at, found)) = characters.next() {
        if escapes && found == '\\' {
            characters.next();
        } else if found == quote && characters.next_if(|(_, next)| *next == quote).is_none() {
            return Some(at + 1);
        }
    }
    None
}

/// `$1`, or a text from `$tag$` to `$tag$`.
fn dollar(rest: &str) -> (Kind, usize) {
    let digits = length_of(&rest[1..], |next| next.is_ascii_digit());
    if digits > 0 {
        return (Kind::Placeholder, 1 + digits);
    }
    let tag = 1 + length_of(&rest[1..], |next| next.is_alphanumeric() || next == '_');
    if !rest[tag..].starts_with('$') {
        return (Kind::Other, 1);
    }
    let (mark, inner) = rest.split_at(tag + 1);
    match inner.find(mark) {
        Some(end) => (Kind::Text, end + 2 * mark.len()),
        None => (Kind::Broken, rest.len()),
    }
}

fn number(rest: &str) -> usize {
    let is_digit = |next: char| next.is_ascii_digit();
    let hex = rest.get(2..).map_or(0, |digits| length_of(digits, |next| next.is_ascii_hexdigit()));
    if hex > 0 && rest.starts_with('0') && rest[1..].starts_with(['x', 'X']) {
        return 2 + hex;
    }
    let mut length = length_of(rest, |next| next.is_ascii_digit() || next == '_');
    if rest[length..].starts_with('.') && !rest[length..].starts_with("..") {
        length += 1;
        length += length_of(&rest[length..], is_digit);
    }
    let Some(power) = rest[length..].strip_prefix(['e', 'E']) else { return length };
    let signed = usize::from(power.starts_with(['+', '-']));
    match length_of(&power[signed..], is_digit) {
        0 => length,
        digits => length + 1 + signed + digits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MYSQL: Lexis = Lexis::Mysql { escapes: true };

    fn kinds(sql: &str, lexis: Lexis) -> Vec<(&'static str, &str)> {
        let found: Vec<Token> = tokens(sql, lexis).collect();
        assert_eq!(found.iter().map(|token| token.text).collect::<String>(), sql);
        found.iter().filter(|one| one.kind != Kind::Space).map(|one| (one.kind.name(), one.text)).collect()
    }

    #[test]
    fn comments_are_those_of_the_dialect() {
        let nested = "/* a /* b; */ c */ 1";
        assert_eq!(kinds(nested, Lexis::Postgresql)[0], ("comment", "/* a /* b; */ c */"));
        assert_eq!(kinds(nested, MYSQL)[0], ("comment", "/* a /* b; */"));
        assert_eq!(kinds("1 # it's\n2", MYSQL)[1], ("comment", "# it's"));
        assert_eq!(kinds("1 #> 2", Lexis::Postgresql)[1], ("other", "#"));
        assert_eq!(kinds("1--1", MYSQL)[1], ("other", "-"));
        assert_eq!(kinds("1--1", Lexis::Postgresql)[1], ("comment", "--1"));
        assert_eq!(kinds("/*!50000 x */", MYSQL)[..2], [("other", "/*!50000"), ("word", "x")]);
        assert_eq!(kinds("1 /* open", Lexis::Postgresql)[1], ("broken", "/* open"));
    }

    #[test]
    fn texts_and_names_are_those_of_the_dialect() {
        assert_eq!(kinds(r"E'\'' 'a''b'", Lexis::Postgresql), [("text", r"E'\''"), ("text", "'a''b'")]);
        assert_eq!(kinds(r"'\' x", Lexis::Postgresql)[0], ("text", r"'\'"));
        assert_eq!(kinds(r"'\'' x", MYSQL)[0], ("text", r"'\''"));
        assert_eq!(kinds(r"'\' x", Lexis::Mysql { escapes: false })[0], ("text", r"'\'"));
        assert_eq!(kinds("$a$ ' $$ $a$ 1", Lexis::Postgresql)[0], ("text", "$a$ ' $$ $a$"));
        assert_eq!(kinds("a$1 $1", Lexis::Postgresql), [("word", "a$1"), ("parameter", "$1")]);
        assert_eq!(kinds("U&\"d\" \"a\"\"b\"", Lexis::Postgresql)[0], ("name", "U&\"d\""));
        assert_eq!(kinds("`a'b` \"x\"", MYSQL), [("name", "`a'b`"), ("text", "\"x\"")]);
        assert_eq!(kinds("_utf8mb4'x' N'y'", MYSQL), [("text", "_utf8mb4'x'"), ("text", "N'y'")]);
        assert_eq!(kinds("[a'b] `c`", Lexis::Sqlite), [("name", "[a'b]"), ("name", "`c`")]);
        assert_eq!(kinds("'open", Lexis::Standard), [("broken", "'open")]);
    }

    #[test]
    fn numbers_and_operators_of_two_characters_are_whole() {
        assert_eq!(kinds("1.5e-3", Lexis::Standard), [("number", "1.5e-3")]);
        assert_eq!(kinds("0xfF .5 1e", Lexis::Standard)[..2], [("number", "0xfF"), ("number", ".5")]);
        assert_eq!(kinds("a::int := 1", Lexis::Standard)[1], ("other", "::"));
        assert_eq!(kinds("größe", Lexis::Standard), [("word", "größe")]);
    }

    proptest::proptest! {
        #[test]
        fn the_tokens_of_any_text_are_that_text(sql in r#"([a-zé$1.:=;'"`\\\[\]{}#/*!?_ \n-]|/\*|\*/|--|\$a\$|e'|u&"){0,40}"#) {
            for dialect in ["postgresql", "mysql", "sqlite", "standard"] {
                let found: String = tokens(&sql, Lexis::named(dialect)).map(|token| token.text).collect();
                proptest::prop_assert_eq!(&found, &sql);
            }
            let found: String = tokens(&sql, Lexis::Mysql { escapes: false }).map(|token| token.text).collect();
            proptest::prop_assert_eq!(&found, &sql);
        }
    }
}
