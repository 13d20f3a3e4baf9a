//! Promise 6 for sessions of the console: exactly what we signed is one, and it says what was
//! signed.

use std::time::Duration;

use anteroom_config::is_name;
use anteroom_core::session::{Session, SessionKeys};

/// A session of this time is valid.
const NOW: Duration = Duration::from_secs(1_800_000_000);

/// The input is a text that a browser sends as the cookie; and, where it is the name of an API key,
/// one with which its user signed in.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let keys = keys('a');
    if let Some(session) = keys.verify(text, NOW) {
        assert_eq!(keys.sign(&session), text, "a session can be written in one way only");
    }
    if is_name(text) {
        signed(&keys, text);
    }
}

fn signed(keys: &SessionKeys, name: &str) {
    let session = Session::begin(name, &[7; 32], NOW);
    let text = keys.sign(&session);
    assert_eq!(keys.verify(&text, NOW).as_ref(), Some(&session));
    assert_eq!(keys.verify(&text, NOW + session.left(NOW)), None, "it has ended");
    assert_eq!(self::keys('b').verify(&text, NOW), None, "another secret's");
    if let Some(changed) = crate::changed(&text, name.as_bytes()) {
        assert_eq!(keys.verify(&changed, NOW), None, "{changed}");
    }
}

fn keys(letter: char) -> SessionKeys {
    SessionKeys::new(&[letter.to_string().repeat(32).into()]).expect("there is a secret")
}
