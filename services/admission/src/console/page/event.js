// An event (give-away of a limited stock): its progress and its dead letters.
import { Confirm } from './action.js';
import { AddAmount } from './adding.js';
import { admin, get, post, remove, visitorSegment } from './api.js';
import { Changes, useChanges } from './changes.js';
import { html } from './dom.js';
import { count, counted } from './format.js';
import { PagedSection, usePages } from './pages.js';
import { Badge, Bar, Stat, Time, remaining } from './parts.js';

function DeadLetters({ name, dead }) {
  const path = admin('events', name, 'dead');
  const pages = usePages((after, signal) => get(path, { after, limit: 50 }, signal), [name, dead]);
  const act = (call, result) => async () => result(await call());
  const rows = (pages.data?.dead ?? []).map((letter) => html`<tr key=${letter.sequence}>
    <th scope="row">${count(letter.sequence)}</th><td class="long">${letter.visitor_id}</td><td class="long">${letter.error}</td>
    <td>${count(letter.attempts)}</td><td><${Time} at=${letter.died_at} /></td>
    <td class="actions"><${Confirm} small tone="primary" label="Retry" name="Retry ${letter.visitor_id}" title="Retry the application of ${letter.visitor_id}"
        says="An issuer hands out the item again." run=${act(() => post([...path, visitorSegment(letter.visitor_id), 'retry']), () => `The application of ${letter.visitor_id} is retried.`)} />
      <${Confirm} small label="Give up" name="Give up ${letter.visitor_id}" title="Give up the application of ${letter.visitor_id}"
        says="The application has failed for ever, and its item is free for another visitor." run=${act(() => remove([...path, visitorSegment(letter.visitor_id)]), () => `The application of ${letter.visitor_id} is given up.`)} /></td>
  </tr>`);
  const aside = html`${dead > 0 && html`<${Confirm} label="Retry all" tone="primary" title="Retry ${counted(dead, 'dead letter')}"
      says="Issuers hand out the items again." run=${act(() => post([...path, 'retry']), ({ retried, dead: left }) => `${counted(retried, 'dead letter')} retried, ${count(left)} left.`)} />`}`;
  return html`<${PagedSection} title="Dead letters" aside=${aside} note="Applications whose item could not be handed out." pages=${pages}
    columns=${['Number', 'Visitor', 'Last error', 'Attempts', 'Failed', null]} empty="No dead letters.">${rows}<//>`;
}

export function EventView({ name, entity: event, state }) {
  const changes = useChanges('events', name, [event.stock]);
  const { stock = 0, issued = 0, pending = 0, claimed = 0 } = event;
  return html`<header class="view-head"><h1>${name}</h1>
      ${event.dead > 0 && html`<${Badge} tone="danger">${counted(event.dead, 'dead letter')}<//>`}
      <div class="levers"><${AddAmount} label="Add stock …" submit="Add stock" title="Add stock to ${name}" field="add" path=${admin('events', name, 'stock')}
        says="Adds items to the stock. You cannot take them back." done=${({ stock: now }) => `${name} has a stock of ${count(now)}.`} /></div></header>
    <div class="summary">
      <${Bar} label="Stock" whole=${stock} parts=${[{ value: issued, tone: 'good', label: 'issued' }, { value: claimed, tone: 'accent', label: 'claimed' },
        { value: pending, tone: 'warning', label: 'pending' }]} />
      <dl class="tiles">
        <${Stat} large label="Issued" tone="good" value=${count(event.issued)} unit="/ ${count(event.stock)}" />
        <${Stat} large label="Pending" tone="warning" value=${count(event.pending)} hint="Applications that wait for their item" />
        <${Stat} large label="Claimed" tone="accent" value=${count(event.claimed)} hint="An issuer is handing out their item" />
        <${Stat} large label="Sold out" value=${count(event.sold_out)} hint="Accepted applications that found no item left" />
        <${Stat} large label="Failed" value=${count(event.failed)} />
        <${Stat} large label="Dead letters" value=${count(event.dead)} />
        ${event.codes !== undefined && html`<${Stat} large label="Codes left" value=${count(event.codes)} />`}
      </dl>
      ${(event.opens_at || event.ends_at) && html`<dl class="facts">
        ${event.opens_at && html`<div><dt>Opens</dt><dd><${Time} at=${event.opens_at} /> (${remaining(event.opens_at, state.at)})</dd></div>`}
        ${event.ends_at && html`<div><dt>Ends</dt><dd><${Time} at=${event.ends_at} /> (${remaining(event.ends_at, state.at)})</dd></div>`}</dl>`}
    </div>
    <${DeadLetters} name=${name} dead=${event.dead} />
    <${Changes} changes=${changes} />`;
}
