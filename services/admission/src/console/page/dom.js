// What all views are made of: elements as templates, components with hooks, and components that
// render only when one of their properties is another value.
import htm from './vendor/htm.js';
import { Component, createContext, h, render } from './vendor/preact.js';
import { useContext, useEffect, useId, useMemo, useRef, useState } from './vendor/preact-hooks.js';

export const html = htm.bind(h);
/** The address of the icon, beside the modules. */
export const ICON = new URL('icon.svg', import.meta.url).href;
export { createContext, render, useContext, useEffect, useId, useMemo, useRef, useState };

/** Whether two objects have identical members. */
export function isAlike(one, other) {
  const names = Object.keys(one);
  return names.length === Object.keys(other).length && names.every((name) => one[name] === other[name]);
}

/** A component that renders when its properties are not alike those before. */
export function memo(View, areAlike = isAlike) {
  return class extends Component {
    shouldComponentUpdate(next) {
      return !areAlike(next, this.props);
    }

    render(properties) {
      return h(View, properties);
    }
  };
}

/**
 * The value of a store: an object with `value` and `subscribe`, which returns the end of it.
 */
export function useStore(store) {
  const [value, setValue] = useState(store.value);
  useEffect(() => {
    setValue(store.value);
    return store.subscribe(setValue);
  }, [store]);
  return value;
}

/** A value that components can follow. */
export function createStore(initial) {
  const followers = new Set();
  const store = {
    value: initial,
    set(value) {
      store.value = value;
      for (const follow of followers) follow(value);
    },
    subscribe(follow) {
      followers.add(follow);
      return () => followers.delete(follow);
    },
  };
  return store;
}

/** The result of the last look-up, `{ data, problem, isLoading }`; `look(load)` makes one, `clear` forgets it. */
export function useLookUp() {
  const [result, setResult] = useState({});
  const look = async (load) => {
    setResult({ isLoading: true });
    try {
      setResult({ data: await load() });
    } catch (problem) {
      setResult({ problem });
    }
  };
  return { ...result, look, clear: () => setResult({}) };
}

/**
 * Loads data when `inputs` change and when `reload` is called. The last data stays until the next
 * is there. `load` gets an AbortSignal. `refresh` reloads without a sign of it.
 */
export function useLoad(load, inputs) {
  const [round, setRound] = useState(0);
  const isQuiet = useRef(false);
  const [result, setResult] = useState({ data: null, problem: null, isLoading: true });
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    if (!isQuiet.current) setResult((last) => ({ ...last, isLoading: true }));
    isQuiet.current = false;
    load(signal).then(
      (data) => signal.aborted || setResult({ data, problem: null, isLoading: false }),
      (problem) => signal.aborted || setResult((last) => ({ ...last, problem, isLoading: false })),
    );
    return () => controller.abort();
  }, [...inputs, round]);
  const reload = () => setRound((last) => last + 1);
  const refresh = () => {
    isQuiet.current = true;
    reload();
  };
  return { ...result, reload, refresh };
}
