// A rate limit: its traffic on this replica, and one key of it.
import { Confirm, TextField } from './action.js';
import { admin, call, post } from './api.js';
import { Changes, useChanges } from './changes.js';
import { html, useLookUp, useState } from './dom.js';
import { count, decimal, duration } from './format.js';
import { Badge, Problem, Section, Stat, useCaller } from './parts.js';

/** A check with the cost 0. A refusal (429) is an answer too. */
async function check(limit, body) {
  try {
    return (await call('POST', ['v1', 'limits', limit, 'check'], { body: { ...body, cost: 0 } })).data;
  } catch (refusal) {
    if (refusal.status === 429 && refusal.allowed === false) return refusal;
    throw refusal;
  }
}

function LookUp({ name }) {
  const [key, setKey] = useState('');
  const [group, setGroup] = useState('');
  const { data: found, problem, isLoading, look, clear } = useLookUp();
  const body = { key: key.trim(), group: group.trim() || undefined };
  const find = (event) => {
    event?.preventDefault();
    look(() => check(name, body));
  };
  const forget = async () => {
    await post(admin('limits', name, 'forget'), body);
    find();
    return 'The key is reset: all its units are available.';
  };
  return html`<${Section} title="Look a key up" note="A check with the cost 0: it takes no units.">
    <form class="row" onSubmit=${find}>
      <${TextField} label="Key" name="key" required value=${key} spellcheck=${false} autocapitalize="off" onChange=${(text) => { setKey(text); clear(); }} />
      <${TextField} label="Group (optional)" name="group" value=${group} spellcheck=${false} autocapitalize="off" onChange=${(text) => { setGroup(text); clear(); }} />
      <button type="submit" disabled=${isLoading} aria-busy=${isLoading}>Look up</button></form>
    <div aria-live="polite"><${Problem} problem=${problem} />
      ${found && html`<div class="found"><dl class="facts">
        <div><dt>A call of cost 1</dt><dd><${Badge} tone=${found.allowed ? 'good' : 'danger'}>${found.allowed ? 'Allowed' : 'Refused'}<//></dd></div>
        <div><dt>Units left</dt><dd>${count(found.remaining)} of ${count(found.limit)}</dd></div>
        <div><dt>All units again in</dt><dd>${duration(found.reset_ms)}</dd></div>
        ${found.retry_after_ms > 0 && html`<div><dt>Allowed in</dt><dd>${duration(found.retry_after_ms)}</dd></div>`}
      </dl><${Confirm} label="Forget this key …" title="Forget the key ${key.trim()}" submit="Forget" run=${forget}
        says="All units of this key are available at once. The log of changes does not name the key." /></div>`}</div>
  <//>`;
}

export function LimitView({ name, entity: limit }) {
  const { canChange } = useCaller();
  const changes = useChanges('limits', name);
  return html`<header class="view-head"><h1>${name}</h1></header>
    <div class="summary"><p class="note">The counts are of the replica that answers, not of all replicas.</p>
      <dl class="tiles">
        <${Stat} large label="Checks / s" value=${decimal(limit.checks_per_second)} />
        <${Stat} large label="Refusals / s" value=${decimal(limit.refusals_per_second)} />
        <${Stat} large label="Limit" value=${count(limit.limit)} unit="in ${duration(limit.window_ms)}" />
      </dl></div>
    ${canChange && html`<${LookUp} name=${name} />`}
    <${Changes} changes=${changes} />`;
}
