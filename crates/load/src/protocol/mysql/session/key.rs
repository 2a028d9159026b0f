//! The server's RSA key, with which the password is encrypted. The library for encryption requires a well-formed
//! key, so the key is parsed here, strictly, and written again.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

const PKCS1: (&str, &str) = ("-----BEGIN RSA PUBLIC KEY-----", "-----END RSA PUBLIC KEY-----");
const PKCS8: (&str, &str) = ("-----BEGIN PUBLIC KEY-----", "-----END PUBLIC KEY-----");

const INTEGER: u8 = 2;
const BIT_STRING: u8 = 3;
const SEQUENCE: u8 = 0x30;

/// 1024 bits to 16,384: a shorter one protects nothing, a longer one takes seconds.
const MODULUS_BYTES: std::ops::RangeInclusive<usize> = 128..=2048;
const EXPONENT_BYTES_MAX: usize = 4;
/// What OAEP with SHA-1 adds to a text.
const PADDING_BYTES: usize = 42;

/// The key of a text in PEM, in PEM of the simplest form; `None` for an invalid key, or one too short for
/// a text of so many bytes.
pub(super) fn rewritten(pem: &[u8], text_bytes: usize) -> Option<Vec<u8>> {
    let pem = std::str::from_utf8(pem).ok()?;
    let inner = |(begin, end): (&str, &str)| Some(pem.split_once(begin)?.1.split_once(end)?.0);
    let (body, is_pkcs8) = match inner(PKCS1) {
        Some(body) => (body, false),
        None => (inner(PKCS8)?, true),
    };
    let der = STANDARD.decode(body.split_ascii_whitespace().collect::<String>()).ok()?;
    let mut der = der.as_slice();
    if is_pkcs8 {
        let mut outer = field(SEQUENCE, &mut der)?;
        field(SEQUENCE, &mut outer)?; // names the algorithm
        // the first byte: how many bits of the last one are none of the key
        der = field(BIT_STRING, &mut outer)?.strip_prefix(&[0])?;
    }
    let mut numbers = field(SEQUENCE, &mut der)?;
    let modulus = positive(field(INTEGER, &mut numbers)?)?;
    let exponent = positive(field(INTEGER, &mut numbers)?)?;
    let odd = |number: &[u8]| number.last().is_some_and(|byte| byte % 2 == 1);
    let sound = MODULUS_BYTES.contains(&modulus.len())
        && modulus.len() >= text_bytes + PADDING_BYTES
        && exponent.len() <= EXPONENT_BYTES_MAX
        && modulus[0] & 0x80 != 0
        && odd(modulus)
        && odd(exponent);
    sound.then(|| {
        let body = [written(INTEGER, &signed(modulus)), written(INTEGER, &signed(exponent))].concat();
        format!("{}{}{}", PKCS1.0, STANDARD.encode(written(SEQUENCE, &body)), PKCS1.1).into_bytes()
    })
}

/// The content of a field of this kind, taken off the front.
fn field<'a>(kind: u8, der: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (head, rest) = der.strip_prefix(&[kind])?.split_first()?;
    let (length, rest) = match head {
        0..=0x7f => (usize::from(*head), rest),
        0x81..=0x82 => {
            let (length, rest) = rest.split_at_checked(usize::from(head & 0x7f))?;
            (length.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)), rest)
        }
        // longer than a login's message
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    *der = rest;
    Some(content)
}

/// A number above 0, without zeros before it.
fn positive(integer: &[u8]) -> Option<&[u8]> {
    if integer.first()? & 0x80 != 0 {
        return None;
    }
    let zeros = integer.iter().position(|byte| *byte != 0)?;
    Some(&integer[zeros..])
}

/// A zero precedes a number that would be read as negative.
fn signed(number: &[u8]) -> Vec<u8> {
    [&[0], number].concat()
}

fn written(kind: u8, content: &[u8]) -> Vec<u8> {
    let length = (content.len() as u16).to_be_bytes();
    [&[kind, 0x82], &length[..], content].concat()
}
