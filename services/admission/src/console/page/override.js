// The dialog that overrides rules of a queue. It sends the revision that it has read: if a rule of the
// dialog has changed since, it shows both values.
import { ActionDialog } from './action.js';
import { admin, call } from './api.js';
import { html, useLoad, useState } from './dom.js';
import { Problem, Time } from './parts.js';
import { RULES, inForce } from './rules.js';

/** How often a call is repeated while other operators change other rules. */
const MAX_REPEATS = 3;

/** Until when an override is in force. */
export const OverrideEnd = ({ override: { until } }) => (until ? html`until <${Time} at=${until} />` : 'no end');

/** The rules that a call changes. */
const rulesOf = (body) => Object.keys(body).filter((field) => field in RULES);

/** Whether a rule differs between two readings. Of the state only the override counts: it also follows the time and a target. */
function differs(field, one, other) {
  const read = (queue) => {
    const { value, until } = queue.overrides?.[field] ?? {};
    return JSON.stringify([value, until, field === 'state' ? null : inForce(queue, field)]);
  };
  return read(one) !== read(other);
}

/** A value, and the end of its override. A reason ends with its state. */
const Value = ({ field, value, override }) => html`${RULES[field].show(value)}${override && field !== 'reason' && html`, <${OverrideEnd} override=${override} />`}`;

/** What was wanted, read, and is in force now, field by field. */
function Conflict({ body, before, now }) {
  const read = (queue, field) => html`<${Value} field=${field} value=${inForce(queue, field)} override=${queue.overrides?.[field]} />`;
  return html`<div class="problem conflict" role="alert">
    <strong>The rules have changed while this dialog was open. Nothing was changed.</strong>
    ${rulesOf(body).map((field) => html`<div key=${field}><b>${RULES[field].label}</b><dl class="facts">
      <div><dt>You read</dt><dd>${read(before, field)}</dd></div>
      <div><dt>In force now</dt><dd>${read(now, field)}</dd></div>
      <div><dt>Yours</dt><dd>${body[field] === null ? 'no override' : html`<${Value} field=${field} value=${body[field]} override=${body} />`}</dd></div></dl></div>`)}
    <p>“Cancel” keeps what is in force now.</p>
  </div>`;
}

/**
 * A dialog that overrides rules. `body(found)` is what it sends, with the queue as the dialog has read
 * it. `done` is a sentence about the result, or what makes one of the answer and the body.
 * `children(found, now)` are its fields; `now` is the newest reading, such as that of a conflict.
 */
export function OverrideDialog({ queue, title, says, submit, tone, wide, isReady = () => true, body, done, close, children }) {
  const { data: found, problem } = useLoad((signal) => call('GET', admin('queues', queue), { signal }), [queue]);
  // The rules that a conflict has shown, and their revision.
  const [newer, setNewer] = useState(null);
  const run = async () => {
    const wanted = body(found.data);
    let read = newer ?? found;
    for (let repeats = 0; ; repeats += 1) {
      try {
        const { data } = await call('PATCH', admin('queues', queue), { body: wanted, ifMatch: read.etag });
        return typeof done === 'function' ? done(data, wanted) : done;
      } catch (refusal) {
        if (refusal.code !== 'revision_changed') throw refusal;
        const now = { data: refusal.current, etag: refusal.etag };
        const isConflict = rulesOf(wanted).some((field) => differs(field, read.data, now.data));
        if (isConflict || repeats === MAX_REPEATS) {
          setNewer(now);
          throw refusal;
        }
        // Another operator has changed another rule.
        read = now;
      }
    }
  };
  const conflict = (refusal) => html`<${Conflict} body=${body(found.data)} before=${found.data} now=${refusal.current} />`;
  return html`<${ActionDialog} title=${title} says=${says} submit=${newer ? 'Apply mine' : submit} tone=${tone} wide=${wide}
      isLoaded=${Boolean(found)} isReady=${found && isReady(found.data)} run=${run} close=${close} conflict=${conflict}>
    <${Problem} problem=${found ? null : problem} />
    ${children?.(found?.data, (newer ?? found)?.data)}
  <//>`;
}
