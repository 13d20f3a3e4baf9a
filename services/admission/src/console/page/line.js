// The line of a queue, page by page, and one place of it.
import { ChoiceField, Confirm, TextField } from './action.js';
import { admin, get, post, remove } from './api.js';
import { html, useLookUp, useState } from './dom.js';
import { count, duration, wholeNumber } from './format.js';
import { PagedSection, usePages } from './pages.js';
import { PlaceBadge, Problem, Section, Time } from './parts.js';

/** How many places a page has. */
const PAGE = 20;
const STATES = [['', 'All places'], ['waiting', 'Waiting'], ['away', 'Inactive'], ['ready', 'Ready'], ['active', 'Active']];

function Evict({ queue, ticket, small, onDone }) {
  const run = async () => {
    await remove(admin('queues', queue, 'places', String(ticket)));
    onDone?.();
    return `The place with ticket ${ticket} has ended.`;
  };
  return html`<${Confirm} label="Evict" name="Evict ticket ${ticket}" title="Evict ticket ${count(ticket)}" small=${small} run=${run}
    says=${['The place ends. The visitor’s next poll shows that the place has ended, with a button to join at the end of the line.', 'You cannot undo this.']} />`;
}

export function Line({ queue }) {
  const [state, setState] = useState('waiting');
  const pages = usePages(
    (after, signal) => get(admin('queues', queue, 'places'), { state, after, limit: PAGE }, signal), [queue, state], { followsOthers: true });
  const rows = (pages.data?.places ?? []).map((place) => html`<tr key=${place.ticket}>
    <th scope="row">${count(place.ticket)}</th><td><${PlaceBadge} state=${place.status} /></td>
    <td><${Time} at=${place.joined_at} /></td><td><${Time} at=${place.since} /></td><td>${duration(place.expires_in_ms)}</td>
    <td><code class="handle" title=${place.place}>${place.place}</code></td>
    <td class="actions"><${Evict} queue=${queue} ticket=${place.ticket} small /></td>
  </tr>`);
  const aside = html`<label><span class="unseen">Places to show</span><select onChange=${(event) => setState(event.target.value)}>
      ${STATES.map(([value, label]) => html`<option value=${value} selected=${value === state}>${label}</option>`)}</select></label>`;
  return html`<${PagedSection} title="Line" aside=${aside} pages=${pages} label="Places of the line"
    columns=${['Ticket', 'Status', 'Joined', 'Since', 'Ends in', 'Handle', null]} empty="No places.">${rows}<//>`;
}

const BY = [['ticket', 'Ticket'], ['visitor_id', 'Visitor id'], ['handle', 'Place handle']];

const NOWHERE = {
  ticket: 'No place with this ticket is known.',
  visitor_id: 'No visitor with this id has a place now. An ended place is found by its ticket.',
  handle: 'No place with this handle exists now. An ended place is found by its ticket.',
};

export function FindPlace({ queue }) {
  const [by, setBy] = useState('ticket');
  const [text, setText] = useState('');
  const { data: place, problem, isLoading, look, clear } = useLookUp();
  const find = (event) => {
    event.preventDefault();
    const value = text.trim();
    const wanted = { [by]: by === 'ticket' ? wholeNumber(value) ?? value : value };
    look(() => post(admin('queues', queue, 'places', 'find'), wanted));
  };
  // A visitor whose place has ended is found by the ticket alone.
  const lookAgain = (ticket) => look(() => get(admin('queues', queue, 'places', String(ticket))));
  const isNowhere = problem?.status === 404 && problem.code !== 'unknown_queue';
  return html`<${Section} title="Find a visitor">
    <form class="row" onSubmit=${find}>
      <${ChoiceField} label="By" value=${by} choices=${BY} onChange=${(choice) => { setBy(choice); clear(); }} />
      <${TextField} label=${BY.find(([value]) => value === by)[1]} required value=${text} spellcheck=${false} autocapitalize="off"
        inputmode=${by === 'ticket' ? 'numeric' : 'text'} pattern=${by === 'ticket' ? '[0-9, ]+' : '.*'} onChange=${setText} />
      <button type="submit" disabled=${isLoading} aria-busy=${isLoading}>Find</button>
    </form>
    <div aria-live="polite">${isNowhere ? html`<p class="empty">${NOWHERE[by]}</p>` : html`<${Problem} problem=${problem} />`}
    ${place && html`<div class="found"><dl class="facts">
      <div><dt>Ticket</dt><dd>${count(place.ticket)}</dd></div>
      <div><dt>Status</dt><dd><${PlaceBadge} state=${place.status} reason=${place.reason} /></dd></div>
      <div><dt>Joined</dt><dd><${Time} at=${place.joined_at} /></dd></div>
      <div><dt>Since</dt><dd><${Time} at=${place.since} /></dd></div>
      ${place.expires_in_ms !== undefined && html`<div><dt>Ends in</dt><dd>${duration(place.expires_in_ms)}</dd></div>`}
    </dl>${place.status !== 'gone' && html`<${Evict} queue=${queue} ticket=${place.ticket} onDone=${() => lookAgain(place.ticket)} />`}</div>`}</div>
  <//>`;
}
