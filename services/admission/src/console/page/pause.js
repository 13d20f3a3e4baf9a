// Why a queue is paused, if not by an operator.
import { live } from './live.js';

/** `health` or `opening`; null if an operator has paused the queue, or if it is not paused. */
export function pauseOf({ state, paused_by: by, opens_at: opensAt, overrides }) {
  if (state !== 'paused' || overrides?.state?.value === 'paused') return null;
  if (by === 'health') return by;
  return Date.parse(opensAt) > Date.parse(live.value.state?.at) ? 'opening' : null;
}
