// The view is in the fragment of the address: `#/queues/concert`.
import { createStore } from './dom.js';

function read() {
  const [kind, ...name] = location.hash.replace(/^#\/?/, '').split('/').filter(Boolean);
  try {
    return kind ? { kind, name: name.map(decodeURIComponent).join('/') } : { kind: 'overview', name: '' };
  } catch {
    return { kind: 'unknown', name: '' };
  }
}

export const route = createStore(read());
addEventListener('hashchange', () => route.set(read()));

/** The address of an entity, such as `queues`, `concert`. */
export const to = (kind, name) => `#/${kind}/${encodeURIComponent(name)}`;
