// Lists that are shown page by page.
import { actions } from './action.js';
import { html, useEffect, useLoad, useRef, useState, useStore } from './dom.js';
import { Problem, Section, Table } from './parts.js';

const REFRESH_MS = 10_000;

/** A button that loads, with its progress. */
function LoadButton({ isLoading, onClick, children, disabled }) {
  return html`<button type="button" class="small" disabled=${disabled || isLoading} aria-busy=${isLoading} onClick=${onClick}>${children}</button>`;
}

/**
 * The pages of a list, from the first when `inputs` change. `load(cursor, signal)` loads one; `next`
 * of it is the cursor of the page after. A page is read again after each action of this console. With
 * `followsOthers` the first page is also read again each 10 s, while it is in sight and no dialog is open.
 */
export function usePages(load, inputs, { followsOthers } = {}) {
  const [cursors, setCursors] = useState([undefined]);
  const cursor = cursors.at(-1);
  useEffect(() => {
    if (cursors.length > 1) setCursors([undefined]);
  }, inputs);
  const loaded = useLoad((signal) => load(cursor, signal), [...inputs, cursor, useStore(actions)]);
  const { data, reload } = loaded;
  const latest = useRef();
  latest.current = loaded;
  const isFirst = cursors.length === 1;
  useEffect(() => {
    if (!followsOthers || !isFirst) return undefined;
    const isCalm = () => !document.hidden && !latest.current.isLoading && !document.querySelector('dialog');
    const timer = setInterval(() => isCalm() && latest.current.refresh(), REFRESH_MS);
    return () => clearInterval(timer);
  }, [isFirst]);
  return {
    ...loaded,
    isFirst,
    hasNext: data?.next !== null && data?.next !== undefined,
    before: () => setCursors(cursors.slice(0, -1)),
    after: () => setCursors([...cursors, data.next]),
    toFirst: () => (isFirst ? reload() : setCursors([undefined])),
  };
}

function Pager({ pages, previous, next }) {
  if (pages.isFirst && !pages.hasNext) return null;
  return html`<nav class="pager" aria-label="Pages">
    <${LoadButton} isLoading=${pages.isLoading} disabled=${pages.isFirst} onClick=${pages.before}>${previous}<//>
    <${LoadButton} isLoading=${pages.isLoading} disabled=${!pages.hasNext} onClick=${pages.after}>${next}<//>
  </nav>`;
}

/**
 * A section with a table of `usePages`; `table` are the properties of the table, whose rows are `children`.
 */
export function PagedSection({ title, note, aside, pages, empty, previous = 'Previous', next = 'Next', children, ...table }) {
  return html`<${Section} title=${title} note=${note} aside=${html`${aside}<${LoadButton} isLoading=${pages.isLoading} onClick=${pages.toFirst}>Refresh<//>`}>
    <${Problem} problem=${pages.problem} />
    <${Table} label=${title} ...${table} empty=${pages.isLoading ? 'Loading …' : empty}>${children}<//>
    <${Pager} pages=${pages} previous=${previous} next=${next} />
  <//>`;
}
