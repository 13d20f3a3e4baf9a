//! What is taken for a secret by the name of its field.

/// How a secret keeps others out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Secret {
    /// Only its owner knows it: also a short one counts.
    Known,
    /// Nobody can guess it.
    Random,
}

/// Words of a name, and whole names that are one word.
const KNOWN: &str = "\
    pass pwd pw passe senha kennwort wachtwoord pin otp totp tan cvc cvv csc card iban ssn \
    mfa";
const RANDOM: &str = "auth oauth session sid sig hmac saml nonce bearer cookie assertion verifier";
/// Parts of one word: `passwd`, `accesstoken`, `JSESSIONID`.
const KNOWN_PARTS: &str = "passw passphrase passcode contrase";
const RANDOM_PARTS: &str =
    "token secret csrf xsrf signature credential sessid sessionid authoriz jwt";
/// Words that are joined in many ways: `api-key`, `apiKey`, `apikey`.
const KNOWN_JOINED: &str = "onetime 2fa ccnum ccexp";
const RANDOM_JOINED: &str = "\
    apikey accesskey privatekey authkey sharedkey accountkey masterkey signingkey \
    subscriptionkey licensekey";
/// Whole names: a `sort_key` and a `country_code` are none.
const RANDOM_ALONE: &str = "key refresh sign";
/// What makes a code one that is not to be known.
const CODES: &str = "\
    auth authorization verification verify security access activation reset login sms email \
    confirmation recovery backup device invite gift voucher secret";

/// Whether a field of this name holds a secret.
pub fn named(name: &str) -> Option<Secret> {
    let words = words(name);
    let joined = words.concat();
    let is = |list: &str| list.split(' ').any(|known| words.iter().any(|word| word == known));
    let has = |list: &str| list.split(' ').any(|part| words.iter().any(|word| word.contains(part)));
    let in_all = |list: &str| list.split(' ').any(|part| joined.contains(part));
    let alone = |list: &str| list.split(' ').any(|known| joined == known);
    let code = joined == "code" || (is("code codes") && is(CODES));
    if is(KNOWN) || has(KNOWN_PARTS) || in_all(KNOWN_JOINED) || code {
        return Some(Secret::Known);
    }
    let random = is(RANDOM) || has(RANDOM_PARTS) || in_all(RANDOM_JOINED) || alone(RANDOM_ALONE);
    random.then_some(Secret::Random)
}

/// The words of `snake_case`, `kebab-case`, `camelCase`, `user[name]`, in lower case; digits are a
/// word of their own.
fn words(name: &str) -> Vec<String> {
    let chars: Vec<char> = name.chars().collect();
    let mut words: Vec<String> = Vec::new();
    let mut joins = false;
    for (at, char) in chars.iter().enumerate() {
        if !char.is_alphanumeric() {
            joins = false;
            continue;
        }
        let before = at.checked_sub(1).map(|at| chars[at]);
        let lower_next = chars.get(at + 1).is_some_and(|next| next.is_lowercase());
        let new = before.is_some_and(|before| {
            before.is_numeric() != char.is_numeric()
                || (char.is_uppercase() && (before.is_lowercase() || lower_next))
        });
        match words.last_mut() {
            Some(word) if joins && !new => word.extend(char.to_lowercase()),
            _ => words.push(char.to_lowercase().collect()),
        }
        joins = true;
    }
    words
}

impl Secret {
    /// Whether this value of such a field is one: a short number can be guessed, so it is no token
    /// but a count or a row's number (the `session` of a cinema).
    pub fn may_be(self, value: &str) -> bool {
        let value = value.trim();
        let nothing = ["", "true", "false", "null", "undefined"];
        let number = value.len() <= 9 && value.bytes().all(|byte| byte.is_ascii_digit());
        !(nothing.contains(&value) || (self == Self::Random && number))
    }
}

/// After such a segment of a path comes what lets its holder in: `/reset/4f9a1c`.
pub fn leads_to_one(segment: &str, next: &str) -> bool {
    const LEAD: &str = "\
    token tokens reset verify verification activate activation invite invitation magic otp \
    password unsubscribe";
    let digit = next.chars().any(|char| char.is_ascii_digit());
    words(segment).iter().any(|word| LEAD.split(' ').any(|lead| word == lead))
        && (next.len() >= 16 && !next.contains('-') || next.len() >= 4 && digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_a_secret_by_its_words() {
        for name in [
            "pass",
            "j_pass",
            "userPassword",
            "passwd2",
            "user[password]",
            "PASSPHRASE",
            "pin",
            "pinCode",
            "otp",
            "one-time-code",
            "oneTimeCode",
            "code",
            "verification_code",
            "securityCode",
            "cvc",
            "cvv2",
            "cc-number",
            "cardNumber",
            "iban",
            "Contraseña",
        ] {
            assert_eq!(named(name), Some(Secret::Known), "{name}");
        }
        for name in [
            "token",
            "access_token",
            "accesstoken",
            "X-CSRFToken",
            "csrfmiddlewaretoken",
            "sig",
            "X-Amz-Signature",
            "key",
            "api-key",
            "apiKey",
            "APIKey",
            "access_key",
            "SAMLResponse",
            "JSESSIONID",
            "PHPSESSID",
            "sid",
            "session_id",
            "oauth_verifier",
            "client_secret",
            "id_token_hint",
            "jwt",
            "Authorization",
            "refresh",
        ] {
            assert_eq!(named(name), Some(Secret::Random), "{name}");
        }
        for name in [
            "seat",
            "show",
            "page",
            "state",
            "author",
            "authority",
            "inside",
            "sidebar",
            "spinner",
            "country_code",
            "promo_code",
            "postcode",
            "keyword",
            "sort_key",
            "passenger",
            "compass_width",
            "discard",
            "postcard",
            "design",
            "signup",
            "hotpot",
            "refresh_rate",
            "standard",
            "",
            "id",
            "user",
            "name",
        ] {
            assert_eq!(named(name), None, "{name}");
        }
        assert!(!Secret::Random.may_be("1042") && Secret::Known.may_be("1042"));
        assert!(!Secret::Known.may_be("true") && Secret::Random.may_be("a"));
        assert!(leads_to_one("reset", "4f9a1c") && leads_to_one("verify", "123456"));
        assert!(!leads_to_one("reset", "password") && !leads_to_one("shows", "123456"));
    }
}
