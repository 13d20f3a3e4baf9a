//! What is given out: units, and codes.

use redis::RedisWrite as _;

use super::reply::{AddStockCode, Code, code};
use super::{Event, scripts};
use crate::operation::{Operation, digest};
use crate::store::{Error, Repeat};

/// The most codes that one call loads.
pub const MAX_CODES: usize = 200;
/// The longest code, in bytes.
pub const MAX_CODE: usize = 200;

/// The answer to more stock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddStock {
    /// They are given: so many units since the event was created.
    Added(u64),
    /// They were given by an earlier call of this name, which left so many units.
    Repeated(u64),
    /// An earlier call of this name had another payload. Nothing was changed.
    Mismatch,
    /// The sum would be too large to be counted. Nothing was changed.
    TooLarge,
}

/// What became of codes that were loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// How many were never loaded before.
    pub new: u64,
    /// How many are left to be given out.
    pub left: u64,
}

impl Event {
    /// Gives the event more units, once for each `operation_id` within 24 hours of queue time.
    pub async fn add_stock(&self, operation_id: &str, units: u64) -> Result<AddStock, Error> {
        let scope = [b"stock".as_slice(), self.name().as_bytes()];
        let operation = Operation::new(&scope, operation_id, &[&units.to_be_bytes()]);
        let script = &scripts::ADD_STOCK;
        let mut keys = script.keys_of(self.name());
        script.push_digest_key(&mut keys, self.name(), b'o', &operation.id);
        let mut args = self.waking_args().with(operation.fingerprint.as_slice()).with(units);
        self.operator().push_to(&mut args);
        let call = || self.entity().call_with(script, &keys, &args, Repeat::IfUnknown);
        let mut reply = self.entity().seeded(script, call).await?;
        let (code, given) = (reply.count()?, reply.count()?);
        if code == Code::Full as u64 {
            return Err(Error::Full);
        }
        Ok(match AddStockCode::numbered(code) {
            Some(AddStockCode::Ok) => AddStock::Added(given),
            Some(AddStockCode::Repeated) => AddStock::Repeated(given),
            Some(AddStockCode::Mismatch) => AddStock::Mismatch,
            Some(AddStockCode::TooLarge) => AddStock::TooLarge,
            None => return Err(reply.error(format!("unknown code {code}"))),
        })
    }

    /// Loads codes to give out, each once: one that was ever loaded is passed over, so a file may
    /// be loaded again from anywhere. At most [`MAX_CODES`], each of 1 to [`MAX_CODE`] bytes.
    pub async fn load_codes(&self, codes: &[String]) -> Result<Loaded, Error> {
        if codes.is_empty() {
            return Ok(Loaded { new: 0, left: self.snapshot().await?.codes });
        }
        let mut args = self.waking_args();
        for code in codes {
            let known: [u8; 12] = digest([self.name().as_bytes(), code.as_bytes()].into_iter());
            args.write_arg(&known);
            args.extend_last(code.as_bytes());
        }
        let mut reply = self.entity().ask(&scripts::LOAD_CODES, args, Repeat::IfUnknown).await?;
        match code(&mut reply)? {
            Code::Full => Err(Error::Full),
            _ => Ok(Loaded { new: reply.count()?, left: reply.count()? }),
        }
    }
}
