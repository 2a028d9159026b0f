//! What comes from outside makes an error, never a panic.

use proptest::prelude::*;
use serde_json::{Value, json};
use steelyard_load::drivers::Job;

fn plan() -> Value {
    json!({
        "server": {"host": "/s", "port": 5432, "user": "u", "password": null, "database": "d",
                   "tls": "disable", "ca_file": null},
        "session": ["set a = 1"],
        "text": "distinct", "distinct_texts": 3, "parameters": "client", "handle": "named",
        "statements": [{"name": "s", "sql": "select :a, ':b' -- :c\n {tag} :b::int, :d", "parameters": {
            "a": {"kind": "zipf", "low": 1, "high": 9, "exponent": 0.5},
            "b": {"kind": "choice", "values": ["x", 1, true]}}}],
        "transactions": [{"name": "t", "weight": 1, "statements": ["s"], "begin": true, "values": {
            "d": {"kind": "uniform", "low": 1, "high": 9}}},
            {"name": "u", "weight": 1, "keying_ms": 1, "steps": [
                {"do": "loop", "times": 2, "index": "d", "steps": [
                    {"do": "if", "condition": ["lt", "d", 2], "then": [{"do": "statement", "name": "s",
                        "take": {"x": "y"}, "rows": "n"}], "else": [{"do": "wait", "ms": 1}]}]},
                {"do": "draw", "value": "z", "from": {"kind": "nurand", "a": 3, "low": 1, "high": 9, "constant": 1}},
                {"do": "set", "value": "x", "to": ["case", true, "d", ["random", 1, 9]]}]}],
        "mix": "deck", "retries": 3,
        "arrival": {"kind": "closed", "think_ms": 1, "think": "exponential"},
        "points": [1, 2], "connect_s": 1, "warm_up_s": 0, "measure_s": 1, "cool_down_s": 0,
        "deadline_ms": 100, "threads": 1, "seed": 1, "inspect": [{"name": "i", "sql": "select 1"}],
    })
}

/// Values that sit on edges, among any others.
fn anything() -> impl Strategy<Value = Value> {
    let edges = [
        json!(null),
        json!(0),
        json!(-1),
        json!(i64::MIN),
        json!(i64::MAX),
        json!(u64::MAX),
        json!(1e300),
        json!(""),
        json!("\0"),
        json!(":"),
        json!("'"),
        json!("/*"),
        json!("{tag}"),
        json!("::x :y"),
        json!([]),
        json!({}),
    ];
    prop_oneof![
        proptest::sample::select(edges.to_vec()),
        any::<f64>().prop_map(|number| json!(number)),
        any::<String>().prop_map(Value::String),
    ]
}

/// Puts `put` at the `at`-th place of the tree, counted in depth.
fn replace(tree: &mut Value, at: &mut usize, put: &Value) {
    if *at == 0 {
        *tree = put.clone();
    }
    *at = at.wrapping_sub(1);
    match tree {
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, at, put)),
        Value::Object(items) => items.values_mut().for_each(|item| replace(item, at, put)),
        _ => {}
    }
}

#[test]
fn the_plan_that_the_others_come_from_is_good() {
    Job::parse(&plan().to_string()).map(|_| ()).unwrap();
}

proptest! {
    #[test]
    fn no_text_makes_the_plan_panic(text in any::<String>()) {
        prop_assert!(Job::parse(&text).is_err());
    }

    #[test]
    fn no_value_anywhere_makes_the_plan_panic(places in proptest::collection::vec((0usize..130, anything()), 1..4)) {
        let mut tree = plan();
        for (mut at, put) in places {
            replace(&mut tree, &mut at, &put);
        }
        let _ = Job::parse(&tree.to_string());
    }
}

mod server {
    //! What a server says, as a whole: a login and a question over a socket.

    use std::io::Write;
    use std::net::Shutdown;
    use std::os::unix::net::UnixStream;
    use std::time::{Duration, Instant};

    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use proptest::prelude::*;
    use steelyard_load::io::transport::Transport;
    use steelyard_load::plan::Server;
    use steelyard_load::protocol::Opening;
    use steelyard_load::protocol::mysql::Mysql;
    use steelyard_load::protocol::postgres::Postgres;
    use steelyard_load::protocol::resp::Resp;
    use steelyard_load::protocol::{Protocol, Session};

    /// Why the login failed, or what the server answered to the question after it.
    fn said<P: Protocol>(host: &str, words: &[u8]) -> Result<Vec<(String, f64)>, String> {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(words).unwrap();
        theirs.shutdown(Shutdown::Write).unwrap();
        let mut transport = Transport::from(ours);
        transport.set_limit(Some(Instant::now() + Duration::from_secs(30))).unwrap();
        let server = Server {
            host: host.into(),
            user: "u".into(),
            password: Some("opensesame".into()),
            ..Server::default()
        };
        let opening = Opening { server, statements: Vec::new(), message_bytes_max: 1 << 20 };
        let mut session = P::Session::log_in(transport, &opening).map_err(|error| error.to_string())?;
        session.query("select 1").map_err(|error| error.to_string())
    }

    fn packet(number: u8, body: &[u8]) -> Vec<u8> {
        let mut out = (body.len() as u32).to_le_bytes();
        out[3] = number;
        [&out, body].concat()
    }

    /// MySQL's, with this nonce and login method; no flags but those that the engine needs.
    fn greeting(nonce: &[u8; 20], method: &[u8]) -> Vec<u8> {
        let parts: [&[u8]; 8] = [
            b"\x0a8.0.36\0\0\0\0\0",
            &nonce[..8],
            b"\0\x09\xa2\xff\x02\0\x08\x01\x15",
            &[0; 10],
            &nonce[8..],
            b"\0",
            method,
            b"\0",
        ];
        packet(0, &parts.concat())
    }

    const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];

    fn rows() -> Vec<u8> {
        let definition = b"\x03def\0\0\0\x01n\0";
        [packet(1, &[1]), packet(2, definition), packet(3, b"\x017"), packet(4, &[0xfe, 0, 0, 2, 0, 0, 0])]
            .concat()
    }

    #[test]
    fn a_login_and_its_answer_are_read_to_the_end() {
        let login = [greeting(&[1; 20], b"mysql_native_password"), packet(2, OK), rows()].concat();
        assert_eq!(said::<Mysql>("h", &login), Ok(vec![("n".into(), 7.0)]));
        let postgres = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05IT\0\0\0\x1a\0\x01n\0\0\0\0\0\0\0\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0\
                         D\0\0\0\x0b\0\x01\0\0\0\x017Z\0\0\0\x05I";
        assert_eq!(said::<Postgres>("h", postgres), Ok(vec![("n".into(), 7.0)]));
        let valkey = b"+OK\r\n+PONG\r\n$10\r\n# All\r\nn:7\r\n";
        assert_eq!(said::<Resp>("h", valkey), Ok(vec![("n".into(), 7.0)]));
    }

    /// A request to log in by another method.
    fn switch(method: &[u8], nonce: &[u8]) -> Vec<u8> {
        packet(2, &[&[0xfe], method, &[0], nonce].concat())
    }

    #[test]
    fn a_login_by_ed25519_takes_the_nonce_as_it_is() {
        // its last byte may be 0, and it has no end
        let words = [
            greeting(&[1; 20], b"mysql_native_password"),
            switch(b"client_ed25519", &[&[7; 31][..], &[0]].concat()),
            packet(4, OK),
            rows(),
        ];
        assert_eq!(said::<Mysql>("h", &words.concat()), Ok(vec![("n".into(), 7.0)]));
    }

    #[test]
    fn a_password_that_the_server_has_cached_is_not_sent() {
        let words = [greeting(&[1; 20], b"caching_sha2_password"), packet(2, &[1, 3]), packet(3, OK), rows()];
        assert_eq!(said::<Mysql>("h", &words.concat()), Ok(vec![("n".into(), 7.0)]));
    }

    #[test]
    fn a_method_that_is_not_there_is_named() {
        for method in ["parsec", "auth_gssapi_client"] {
            let words = [greeting(&[1; 20], b"mysql_native_password"), switch(method.as_bytes(), &[7; 32])];
            let refused = said::<Mysql>("h", &words.concat()).unwrap_err();
            assert!(
                refused.ends_with(&format!("cannot log in by {method}: it is not supported")),
                "{refused}"
            );
        }
    }

    #[test]
    fn the_first_of_several_results_answers_and_the_others_are_read() {
        let definition = b"\x03def\0\0\0\x01n\0";
        let more = [0xfe, 0, 0, 10, 0, 0, 0];
        let first = [packet(1, &[1]), packet(2, definition), packet(3, b"\x015"), packet(4, &more)].concat();
        let login = [greeting(&[1; 20], b"mysql_native_password"), packet(2, OK)].concat();
        assert_eq!(said::<Mysql>("h", &[&login[..], &first, &rows()].concat()), Ok(vec![("n".into(), 5.0)]));
        assert!(said::<Mysql>("h", &[login, first].concat()).is_err());
    }

    #[test]
    fn a_limit_of_an_account_is_no_room() {
        assert!(Mysql::is_full("42000", "(1226) User 'u' has exceeded the 'max_user_connections' resource"));
        assert!(!Mysql::is_full("42000", "(1064) You have an error in your SQL syntax"));
    }

    #[test]
    fn a_login_that_valkey_refuses_is_told_with_its_code() {
        let refused = said::<Resp>("h", b"-WRONGPASS invalid username-password pair\r\n").unwrap_err();
        assert!(
            refused.ends_with("refused the connection: invalid username-password pair (WRONGPASS)"),
            "{refused}"
        );
        let refused = said::<Resp>("h", b"-ERR max number of clients reached\r\n").unwrap_err();
        assert!(refused.ends_with("max number of clients reached (ERR)"), "{refused}");
        assert!(Resp::is_full("ERR", "max number of clients reached"));
        assert!(said::<Resp>("h", b"+OK\r\n").unwrap_err().contains("the server closed the connection"));
        assert!(
            said::<Resp>("h", b"SSH-2.0-OpenSSH\r\n")
                .unwrap_err()
                .contains("does not speak Valkey's protocol")
        );
    }

    #[test]
    fn a_greeting_whose_nonce_is_longer_than_any_is_foreign() {
        let mut greeting = greeting(&[1; 20], b"mysql_native_password");
        greeting[4 + 1 + 7 + 20] = 0x80;
        let refused = said::<Mysql>("h", &greeting).unwrap_err();
        assert!(refused.contains("does not speak MySQL's protocol"), "{refused}");
    }

    /// A key of 1024 bits in PEM, and the same with `bytes` from place `at` of its DER on.
    fn key(at: usize, bytes: &[u8]) -> Vec<u8> {
        const DER: &str = "MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDH8OJPd7cXfmXL4lNuMzxCCOSf3orjjBfeaGfK+APKvad/9Q1tb+RPBZrqLPcaMunl3vA/jdHEKoEU9pcsgo/BRP8rkO37ypOSq1fYMcAzXPNH0y+1yS90LXDIsC8t0+aaot2V1CgKPJn1qQucq4zyElfVjGpkLVImxVnYMFeWSwIDAQAB";
        let mut der = STANDARD.decode(DER).unwrap();
        der[at..at + bytes.len()].copy_from_slice(bytes);
        format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", STANDARD.encode(der))
            .into_bytes()
    }

    /// Asks for the password to be encrypted by this key, and lets in who does it.
    fn ask_by_key(key: &[u8]) -> Result<Vec<(String, f64)>, String> {
        let words = [
            greeting(&[1; 20], b"caching_sha2_password"),
            packet(2, &[1, 4]),
            packet(4, &[&[1], key].concat()),
            packet(6, OK),
            rows(),
        ];
        said::<Mysql>("h", &words.concat())
    }

    #[test]
    fn a_damaged_key_of_the_server_is_refused() {
        assert!(ask_by_key(&key(0, &[])).is_ok());
        // lengths of the sequences, of the bit string and of the numbers, beyond what is there; a modulus of
        // 0; an even one; a number below 0
        let damages: [(usize, &[u8]); 9] = [
            (1, &[0x82, 0xff, 0xff]),
            (1, &[0x88]),
            (4, &[0x7f]),
            (19, &[0x82, 0x7f]),
            (23, &[0x84]),
            (26, &[0x82, 0xff]),
            (28, &[0; 129]),
            (156, &[0]),
            (28, &[0x80]),
        ];
        for (at, bytes) in damages {
            let refused = ask_by_key(&key(at, bytes)).unwrap_err();
            assert!(refused.contains("RSA key"), "{at}: {refused}");
        }
        assert!(ask_by_key(b"-----BEGIN PUBLIC KEY-----").is_err());
    }

    proptest! {
        #[test]
        fn no_key_makes_a_session_panic(at in 0usize..150, bytes in proptest::collection::vec(any::<u8>(), 1..9)) {
            let _ = ask_by_key(&key(at, &bytes));
        }

        #[test]
        fn no_words_after_a_good_beginning_make_a_session_panic(
            words in proptest::collection::vec(any::<u8>(), 0..200), method in 0usize..4
        ) {
            let methods: [&[u8]; 4] =
                [b"mysql_native_password", b"caching_sha2_password", b"sha256_password", b"dialog"];
            let login = [greeting(&[1; 20], methods[method]), packet(2, &words)].concat();
            let _ = said::<Mysql>("h", &login);
            let _ = said::<Postgres>("h", &[b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I", &words[..]].concat());
            let _ = said::<Resp>("h", &[b"+OK\r\n+PONG\r\n", &words[..]].concat());
        }
    }
}
