//! What operators and the configuration do.

use super::reply::{Answer, Receipt, Refusal};
use super::reserve::{CALL_KEY, Drawn};
use super::{Pool, scripts};
use crate::operation::Operation;
use crate::rules::Amount;
use crate::store::{Error, Repeat};

impl Pool {
    /// Puts money in. A repeat of `operation_id` puts nothing more in.
    pub async fn fund(&self, amount: Amount, operation_id: &str) -> Result<Answer<Drawn>, Error> {
        let script = &scripts::FUND;
        let amount = amount.get();
        let scope = [&b"fund"[..], self.name().as_bytes()];
        let operation = Operation::new(&scope, operation_id, &[&amount.to_be_bytes()]);
        let mut keys = script.keys_of(self.name());
        script.push_digest_key(&mut keys, self.name(), CALL_KEY, &operation.id);
        let args = self.entity().args().with(operation.fingerprint.as_slice()).with(amount);
        let mut args = args.with(operation_id);
        self.operator().push_to(&mut args);
        self.retry_while_sweeping(|| async {
            let ask = || self.entity().call_with(script, &keys, &args, Repeat::IfUnknown);
            let mut numbers = self.entity().seeded(script, ask).await?.numbers()?;
            let attempt = Receipt::read(&mut numbers)?.attempt(&numbers)?;
            numbers.end()?;
            Ok(attempt)
        })
        .await
        .map(|answer| {
            answer.map(|receipt| Drawn { amount: receipt.amount, balance: receipt.balance })
        })
    }

    /// Lets money move again after a change of the store's primary; a repeat where it did.
    pub async fn confirm(&self) -> Result<Answer<()>, Error> {
        let mut args = self.entity().args();
        self.operator().push_to(&mut args);
        let mut reply = self.entity().ask(&scripts::CONFIRM, args, Repeat::IfUnknown).await?;
        Ok(match reply.count()? {
            0 => Answer::Repeated(()),
            1 => Answer::Done(()),
            _ => Answer::Refused(Refusal::Unseen),
        })
    }
}
