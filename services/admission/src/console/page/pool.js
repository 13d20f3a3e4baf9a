// A pool (budget): its sums, its options, its holds, its ledger.
import { Confirm, TextField } from './action.js';
import { AddAmount } from './adding.js';
import { admin, get, post } from './api.js';
import { Changes, useChanges } from './changes.js';
import { html, useLookUp, useState } from './dom.js';
import { count, counted, duration } from './format.js';
import { PagedSection, usePages } from './pages.js';
import { Badge, Bar, Problem, Section, Stat, Table, Time, useCaller } from './parts.js';

/** Before all movements: the ledger then begins with the newest. */
const NEWEST = Number.MAX_SAFE_INTEGER;

function Ledger({ name }) {
  const pages = usePages((before = NEWEST, signal) => get(admin('pools', name, 'ledger'), { before, limit: 20 }, signal), [name]);
  const rows = (pages.data?.movements ?? []).map((movement) => html`<tr key=${movement.seq}>
    <th scope="row">${count(movement.seq)}</th><td><${Time} at=${movement.at} /></td><td>${movement.kind}</td>
    <td class="number">${count(movement.amount)}</td><td class="number">${movement.released ? count(movement.released) : ''}</td>
    <td class="number">${count(movement.balance)}</td><td><code class="handle" title=${movement.hold_id ?? movement.operation_id}>${movement.hold_id ?? movement.operation_id}</code></td>
  </tr>`);
  return html`<${PagedSection} title="Ledger" note="Newest first." aside=${html`<${Audit} name=${name} />`} pages=${pages}
    columns=${['Number', 'Time', 'Movement', 'Amount', 'Released', 'Balance', 'Hold or operation']} numbers=${['Amount', 'Released', 'Balance']}
    empty="No movements." previous="Newer" next="Older">${rows}<//>`;
}

function Audit({ name }) {
  const run = async () => {
    const { holds, movements, missing } = await post(admin('pools', name, 'audit'));
    const read = `${counted(movements, 'movement')} read`;
    return holds ? `The audit passes: ${read}, and the sums agree.` : `The audit FAILS: ${read}, ${count(missing)} missing. See the runbook of the ledger.`;
  };
  return html`<${Confirm} label="Audit" tone="" title="Audit ${name}" submit="Audit" run=${run}
    says="Computes the sums again from the ledger, and compares them with the stored ones. It changes nothing. A long ledger takes some time." />`;
}

function FindHold({ name }) {
  const [text, setText] = useState('');
  const { data: hold, problem, isLoading, look } = useLookUp();
  const find = (event) => {
    event.preventDefault();
    look(() => get(['v1', 'pools', name, 'holds', text.trim()]));
  };
  return html`<form class="row" onSubmit=${find}>
      <${TextField} label="Hold id" required value=${text} spellcheck=${false} autocapitalize="off" onChange=${setText} />
      <button type="submit" disabled=${isLoading} aria-busy=${isLoading}>Look up</button></form>
    <div aria-live="polite"><${Problem} problem=${problem} />
      ${hold && html`<dl class="facts"><div><dt>State</dt><dd>${hold.state}</dd></div><div><dt>Amount</dt><dd>${count(hold.amount)}</dd></div>
        <div><dt>Ends in</dt><dd>${duration(hold.expires_in_ms)}</dd></div>
        ${typeof hold.settled === 'number' && html`<div><dt>Paid</dt><dd>${count(hold.settled)}</dd></div>`}</dl>`}</div>`;
}

export function PoolView({ name, entity: pool }) {
  const { canChange } = useCaller();
  const changes = useChanges('pools', name, [pool.funded, pool.unconfirmed]);
  const confirm = async () => {
    await post(admin('pools', name, 'confirm'));
    return `${name} is confirmed.`;
  };
  const options = (pool.options ?? []).map((option) => html`<tr key=${option.name}><th scope="row">${option.name}</th>
    <td class="number">${count(option.amount)}</td>
    <td><${Badge} tone=${option.available ? 'good' : 'danger'}>${option.available ? 'Available' : 'Not covered'}<//></td></tr>`);
  return html`<header class="view-head"><h1>${name}</h1>${pool.unconfirmed && html`<${Badge} tone="danger">Unconfirmed<//>`}
      <div class="levers">
        ${pool.unconfirmed && html`<${Confirm} label="Confirm …" title="Confirm ${name}" submit="Confirm" run=${confirm}
          says=${['The Redis primary has changed, so the last movements may be lost. The pool is blocked until you confirm it.', 'Audit the pool first, and compare the balance with your own records.']} />`}
        <${AddAmount} label="Deposit …" submit="Deposit" title="Deposit into ${name}" field="amount" path=${admin('pools', name, 'funds')}
          says="Adds units to the balance. You cannot take them back." done=${({ balance }) => `The balance of ${name} is ${count(balance)}.`} /></div></header>
    <div class="summary">
      ${pool.unconfirmed && html`<p class="reason">The Redis primary has changed. This pool is blocked until an operator confirms it.</p>`}
      <${Bar} label="Funds" whole=${pool.funded} parts=${[{ value: pool.paid ?? 0, tone: 'neutral', label: 'paid' }, { value: pool.held ?? 0, tone: 'accent', label: 'held' },
        { value: pool.balance ?? 0, tone: 'good', label: 'balance' }]} />
      <dl class="tiles amounts">
        <${Stat} large label="Balance" tone="good" value=${count(pool.balance)} />
        <${Stat} large label="Held" tone="accent" value=${count(pool.held)} hint="Reserved by holds" />
        <${Stat} large label="Paid" tone="neutral" value=${count(pool.paid)} />
        <${Stat} large label="Funded" value=${count(pool.funded)} hint="funded = balance + held + paid" />
      </dl></div>
    <${Section} title="Options"><${Table} label="Options" numbers=${['Pays at most']} columns=${['Option', 'Pays at most', 'State']} empty="No options are configured.">${options}<//><//>
    ${canChange && html`<${Section} title="Holds" note="${count(pool.held)} units are reserved. Look one hold up by its id."><${FindHold} name=${name} /><//>`}
    <${Ledger} name=${name} />
    <${Changes} changes=${changes} />`;
}
