// The console: one page with a live state, and a view for each hash route.
import { Notices, announce } from './action.js';
import { whenSignedOut } from './api.js';
import { ICON, html, render, useEffect, useMemo, useRef, useState, useStore } from './dom.js';
import { EventView } from './event.js';
import { time, utc } from './format.js';
import { LimitView } from './limit.js';
import { connect, disconnect, live } from './live.js';
import { Overview } from './overview.js';
import { Caller } from './parts.js';
import { PoolView } from './pool.js';
import { QueueView } from './queue.js';
import { route } from './router.js';
import { keepSession, signOut } from './session.js';
import { SignIn } from './sign_in.js';
import { TargetView } from './target.js';
import { THEMES, setTheme, theme } from './theme.js';

const VIEWS = {
  queues: ['Queues', QueueView],
  targets: ['Targets', TargetView],
  events: ['Events', EventView],
  pools: ['Pools', PoolView],
  limits: ['Limits', LimitView],
};

function ThemeSwitch() {
  const [chosen, setChosen] = useState(theme());
  const choose = (event) => {
    setTheme(event.target.value);
    setChosen(event.target.value);
  };
  return html`<label><span class="unseen">Colours</span><select class="quiet" onChange=${choose}>
    ${Object.entries(THEMES).map(([name, label]) => html`<option value=${name} selected=${name === chosen}>${label}</option>`)}
  </select></label>`;
}

/** What the operator sees of the connection at all times. */
function Pulse({ phase, state }) {
  const isFresh = phase === 'live' && state.redis;
  return html`<span class="pulse ${isFresh ? 'good' : 'danger'}" title=${utc(state.at)}>
    ${isFresh ? 'Live' : 'Stale'} <time datetime=${state.at}>${time(state.at)}</time></span>`;
}

function TopBar({ phase, state }) {
  const { caller } = state;
  const leave = async () => {
    try {
      await signOut();
      disconnect();
    } catch (refusal) {
      announce(`Sign-out failed: ${refusal.title}.`);
    }
  };
  return html`<header class="top"><a class="brand" href="#/"><img src=${ICON} alt="" width="24" height="24" />Anteroom</a>
    <${Pulse} phase=${phase} state=${state} />
    <div class="who">
      ${caller?.role === 'viewer' && html`<span class="badge neutral" title="The role viewer changes nothing">Read only</span>`}
      ${caller?.key && html`<span title=${(caller.scopes ?? []).join(', ') || 'all entities'}>${caller.key}</span>`}
      <${ThemeSwitch} />
      ${caller?.key && html`<button type="button" class="small" onClick=${leave}>Sign out</button>`}
    </div></header>`;
}

/** What is wrong with the connection, or with the set-up. */
function Banners({ phase, state, refusal }) {
  return html`<div class="banners" role="status">
    ${phase === 'lost' && html`<p class="banner danger"><b>Connection lost, retrying.</b> ${refusal ? `${refusal.title}. ${refusal.detail}` : ''} These are the last values, of ${time(state.at)}.</p>`}
    ${phase === 'live' && !state.redis && html`<p class="banner danger"><b>Redis is down.</b> These are the last values that were read. Operator calls change nothing until it is back.</p>`}
    ${!state.caller?.key && html`<p class="banner warning"><b>No API keys are configured.</b> Every program on this machine can use this console.</p>`}
  </div>`;
}

function View({ state, at: { kind, name } }) {
  if (kind === 'overview') return html`<${Overview} state=${state} />`;
  const [title, Entity] = Object.hasOwn(VIEWS, kind) ? VIEWS[kind] : [];
  const entity = Entity && Object.hasOwn(state[kind] ?? {}, name) ? state[kind][name] : null;
  const trail = html`<nav aria-label="Breadcrumb" class="trail"><a href="#/">Overview</a><span aria-hidden="true"> / </span><span>${title ?? 'Unknown page'}</span></nav>`;
  if (!entity) {
    return html`${trail}<h1>Not found</h1><p>${Entity ? `No ${title.slice(0, -1).toLowerCase()} “${name}” is configured here, or this key does not cover it.` : 'This page does not exist.'}</p>`;
  }
  return html`${trail}<div class="entity" key="${kind}/${name}"><${Entity} name=${name} entity=${entity} state=${state} /></div>`;
}

/** Moves the focus to the heading of a new view, and shows its name in the title. */
function useArrival(at, isReady, isSignedOut) {
  const isFirst = useRef(true);
  useEffect(() => {
    if (isSignedOut) isFirst.current = false;
    if (!isReady) return;
    document.title = at.name ? `${at.name} · Anteroom console` : 'Anteroom console';
    if (!isFirst.current) {
      const heading = document.querySelector('main h1');
      heading?.setAttribute('tabindex', '-1');
      heading?.focus({ preventScroll: true });
      scrollTo(0, 0);
    }
    isFirst.current = false;
  }, [at, isReady, isSignedOut]);
}

function App() {
  const { phase, state, refusal, hasEnded } = useStore(live);
  const at = useStore(route);
  const hasKey = Boolean(state?.caller?.key);
  useEffect(() => (hasKey ? keepSession() : undefined), [hasKey]);
  useArrival(at, Boolean(state), phase === 'signed_out');
  const caller = useMemo(() => ({ ...state?.caller, canChange: state?.caller?.role !== 'viewer' }), [state?.caller]);
  if (phase === 'signed_out') return html`<${SignIn} refusal=${refusal} hasEnded=${hasEnded} /><${Notices} />`;
  if (!state) {
    return html`<main class="sign-in"><h1>Anteroom console</h1>
      <p role="status">${refusal ? `${refusal.title}. ${refusal.detail} Retrying …` : 'Connecting …'}</p></main>`;
  }
  const isStale = phase !== 'live' || !state.redis;
  return html`<${Caller.Provider} value=${caller}>
    <a class="skip" href="#content" onClick=${(event) => { event.preventDefault(); document.querySelector('main').focus(); }}>Skip to the content</a>
    <${TopBar} phase=${phase} state=${state} />
    <${Banners} phase=${phase} state=${state} refusal=${refusal} />
    <main id="content" tabindex="-1" class=${isStale ? 'stale' : ''}><${View} state=${state} at=${at} /></main>
    <${Notices} />
  <//>`;
}

whenSignedOut((refusal) => live.value.phase !== 'signed_out' && disconnect(refusal));
render(html`<${App} />`, document.getElementById('app'));
connect();
