// The dialog that overrides rules of a queue. It sends the revision that it has read: if the rules
// have changed since, it shows both values.
import { ActionDialog } from './action.js';
import { admin, call } from './api.js';
import { html, useLoad, useState } from './dom.js';
import { Problem } from './parts.js';
import { RULES, inForce } from './rules.js';

const show = (field, value) => RULES[field].show(value);

/** What was wanted, read, and is in force now, field by field. */
function Conflict({ body, before, now }) {
  const fields = Object.keys(body).filter((field) => field in RULES);
  return html`<div class="problem conflict" role="alert">
    <strong>The rules have changed while this dialog was open. Nothing was changed.</strong>
    ${fields.map((field) => html`<div key=${field}><b>${RULES[field].label}</b><dl class="facts">
      <div><dt>You read</dt><dd>${show(field, inForce(before, field))}</dd></div>
      <div><dt>In force now</dt><dd>${show(field, inForce(now, field))}</dd></div>
      <div><dt>Yours</dt><dd>${body[field] === null ? 'no override' : show(field, body[field])}</dd></div></dl></div>`)}
    <p>“Cancel” keeps what is in force now.</p>
  </div>`;
}

/**
 * A dialog that overrides rules. `body()` is what it sends, `done` a sentence about the result, or
 * what makes one of the queue that the service returns. `children(queue)` are its fields, with the
 * queue as it was read.
 */
export function OverrideDialog({ queue, title, says, submit, tone, wide, isReady = true, body, done, close, children }) {
  const { data: found, problem } = useLoad((signal) => call('GET', admin('queues', queue), { signal }), [queue]);
  // The revision of the rules that a conflict has shown.
  const [newer, setNewer] = useState(null);
  const run = async () => {
    try {
      const { data } = await call('PATCH', admin('queues', queue), { body: body(), ifMatch: newer ?? found.etag });
      return typeof done === 'function' ? done(data) : done;
    } catch (refusal) {
      if (refusal.code === 'revision_changed') setNewer(refusal.etag);
      throw refusal;
    }
  };
  const conflict = (refusal) => html`<${Conflict} body=${body()} before=${found.data} now=${refusal.current} />`;
  return html`<${ActionDialog} title=${title} says=${says} submit=${newer ? 'Apply mine' : submit} tone=${tone} wide=${wide}
      isReady=${found && isReady} run=${run} close=${close} conflict=${conflict}>
    <${Problem} problem=${found ? null : problem} />
    ${children?.(found?.data)}
  <//>`;
}
