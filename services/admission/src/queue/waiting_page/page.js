"use strict";
(() => {
  // The token is in a cookie that no script can read. With the Idempotency-Key, repeated joins are one join: from two
  // tabs, or after a lost answer. The page keeps the key until the place has ended. If the browser loses the cookie
  // (another host of the site can set too many cookies), the same key returns the same place.
  const room = document.getElementById("room");
  const { queue, returnTo, icon } = room.dataset;
  const views = /* views.json */ {};
  const texts = JSON.parse(document.getElementById("texts").textContent);
  const lang = document.documentElement.lang;
  const title = document.title;
  const api = "../v1/queues/" + encodeURIComponent(queue);
  const element = (id) => document.getElementById(id);

  // ---- storage: a browser can refuse access ----

  const storage = (act, which = "localStorage") => {
    try { return act(window[which]); } catch { return null; }
  };
  const stored = (name) => storage((s) => s.getItem(`anteroom-${name}-${queue}`));
  const store = (name, value) => storage((s) => {
    if (value === null) s.removeItem(`anteroom-${name}-${queue}`);
    else s.setItem(`anteroom-${name}-${queue}`, value);
  });
  // The key that this tab used: another tab can have joined with a newer one.
  let ownKey = stored("key");
  const key = () => {
    ownKey = stored("key") || ownKey;
    if (!ownKey) {
      const bytes = crypto.getRandomValues(new Uint8Array(24));
      ownKey = btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_");
    }
    store("key", ownKey);
    return ownKey;
  };
  // The place of this key has ended.
  const forgetKey = () => {
    if (stored("key") === ownKey) store("key", null);
    ownKey = null;
    store("place", null);
  };

  // What no answer contains: the time of the join by the server's clock, the time of the last answer, the best position
  // so far, and the largest number of people ahead, for a progress that only grows. It belongs to one ticket.
  const memory = (ticket) => {
    let known = null;
    try { known = JSON.parse(stored("place")); } catch { /* not written by this page */ }
    return known && known.ticket === ticket ? known : { ticket };
  };

  // ---- what is shown ----

  const decimal = new Intl.NumberFormat(lang);
  const twoDigits = new Intl.NumberFormat(lang, { minimumIntegerDigits: 2, useGrouping: false });
  const plural = new Intl.PluralRules(lang);
  const text = (name, { n = 0, ...rest } = {}) => {
    const forms = texts[name];
    const found = typeof forms === "string" ? forms : (forms[plural.select(n)] ?? forms.other);
    return found
      .replace("{n}", decimal.format(n))
      .replace("{low}", () => decimal.format(rest.low))
      .replace("{time}", () => rest.time);
  };

  // Rounded up, so that no visitor is called later than shown. The page without a script shows the same: a test
  // compares both.
  const duration = (ms) => {
    const minutes = Math.ceil(ms / 60000);
    return minutes <= 120 ? text("minutes", { n: minutes }) : text("hours", { n: Math.ceil(minutes / 30) / 2 });
  };
  const wait = (ms, most) => {
    if (ms === null) return text("wait_unknown");
    const [low, high] = [ms, Math.max(ms, most ?? ms)].map((it) => Math.max(1, Math.ceil(it / 60000)));
    if (high === 1) return ms <= 30000 ? text("wait_short") : duration(ms);
    if (low === high) return duration(60000 * high);
    if (high <= 120) return text("minutes_range", { low, n: high });
    const [from, to] = [low, high].map((it) => Math.ceil(it / 30) / 2);
    return from === to ? duration(60000 * high) : text("hours_range", { low: from, n: to });
  };
  const countdown = (ms) => {
    const seconds = Math.ceil(ms / 1000);
    if (seconds >= 86400) return duration(ms);
    const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
    const [first, ...rest] = parts[0] ? parts : parts.slice(1);
    return [decimal.format(first), ...rest.map((part) => twoDigits.format(part))].join(":");
  };
  const keep = (ms) => {
    const minutes = Math.floor(ms / 60000);
    if (minutes < 2) return text("keep_open");
    return minutes <= 120 ? text("keep_minutes", { n: minutes }) : text("keep_hours", { n: Math.floor(minutes / 60) });
  };

  // An unchanged text is not set again: screen readers would repeat it.
  const say = (id, words) => {
    if (element(id).textContent !== words) element(id).textContent = words;
  };
  const offer = (id, shown) => { element(id).hidden = !shown; };
  // Shows an element if there is a text for it.
  const fill = (id, words) => {
    offer(id, Boolean(words));
    if (words) say(id, words);
  };

  // Screen readers announce a change, at most one in 30 s. Then the text goes, so that it is not read again later.
  let announced = -Infinity;
  let announcing = 0;
  const announce = (words) => {
    clearTimeout(announcing);
    announcing = setTimeout(() => {
      announced = performance.now();
      say("announcement", words);
      setTimeout(() => say("announcement", ""), 10000);
    }, Math.max(0, announced + 30000 - performance.now()));
  };

  let ticking = 0;
  const stopClock = () => {
    clearTimeout(ticking);
    ticking = 0;
  };
  // The countdown uses a clock that a visitor cannot set.
  const startClock = (ms, done) => {
    stopClock();
    const end = performance.now() + ms;
    const tick = () => {
      const left = Math.max(0, end - performance.now());
      say("time", countdown(left));
      const step = left > 86400000 ? 60000 : 1000;
      if (left > 0) ticking = setTimeout(tick, Math.min(step, left));
      else if (done) done();
    };
    tick();
  };

  const buttons = ["join", "try_again", "enter", "finish", "go_on", "notify"];
  let heading = null;
  // Shows a view. `at` has its values. `clock` is the rest of the countdown in milliseconds, `done` runs at its end.
  function show(name, at = {}) {
    const view = views[name];
    const shown = new Set(view.show);
    room.dataset.view = name;
    room.dataset.tone = view.tone ?? "calm";
    const words = view.heading === "ahead" && at.position === 1 ? text("next") : text(view.heading, { n: at.position - 1 });
    // Some languages write "one" and "two" as words: then there is no number to show.
    const count = view.heading === "ahead" && at.position > 1 ? decimal.format(at.position - 1) : null;
    const [before, after] = words.split(count);
    say("before", before.trim());
    say("number", after === undefined ? "" : count);
    say("after", (after ?? "").trim());
    const details = (view.detail ?? []).map((it) => (it === "why" ? at.why && text("ended_" + at.why) : text(it)));
    say("detail", [at.back && text("back"), ...details].filter(Boolean).join(" "));
    fill("reason", shown.has("reason") ? at.reason : "");
    const hasClock = view.clock && at.clock !== undefined;
    offer("clock", hasClock);
    if (hasClock) {
      say("clock_label", text(view.clock));
      startClock(at.clock, at.done);
    } else stopClock();
    offer("progress", shown.has("progress"));
    if (shown.has("progress")) element("progress").value = at.progress ?? 0;
    offer("wait", shown.has("wait"));
    if (shown.has("wait")) say("wait_value", at.wait);
    fill("ahead", shown.has("ahead") && at.position > 0 && (at.position === 1 ? text("next") : text("ahead", { n: at.position - 1 })));
    fill("since", shown.has("since") && at.since && text("since", { time: timeOfDay(at.since) }));
    fill("keep", shown.has("keep") && keep(at.keep_ms ?? 0));
    offer("no_reload", shown.has("no_reload"));
    fill("turn", shown.has("turn") && text(returnTo ? "turn_leads_on" : "turn_here"));
    offer("limit", shown.has("turn") && element("limit").textContent);
    const focused = document.activeElement;
    for (const id of buttons) offer(id, shown.has(id));
    offer("notify", shown.has("notify") && mayNotify());
    offer("leave", shown.has("leave"));
    if (!shown.has("leave")) element("leave").open = false;
    fill("notified", shown.has("notify") && notified);
    document.title = at.mark ? `${at.mark} ${title}` : title;
    element("icon").href = icon.replace(/0(?=-)/, at.icon ?? 0);
    if (words !== heading && name !== "joining") {
      heading = words;
      announce(words);
    }
    // The button that the visitor pressed can be hidden now: the focus moves to the heading.
    if (focused && focused.closest("[hidden]")) element("heading").focus();
  }
  // In the format of the visitor's own region, if it has the language of the page.
  const region = (navigator.languages ?? []).find((it) => it.startsWith(lang + "-")) ?? lang;
  const timeOfDay = (ms) => new Intl.DateTimeFormat(region, { timeStyle: "short" }).format(ms);

  // ---- a notification, on request ----

  let notified = "";
  let sound = null;
  const mayNotify = () => !notified && ("Notification" in window || "AudioContext" in window);
  element("notify").addEventListener("click", async () => {
    // Browsers allow sound only after a click.
    try { sound = new AudioContext(); } catch { sound = null; }
    const allowed = "Notification" in window && (await Notification.requestPermission()) === "granted";
    notified = text(allowed ? "notify_on" : "notify_sound");
    offer("notify", false);
    fill("notified", notified);
    // The button had the focus.
    element("notified").focus();
  });
  const notify = () => {
    if (!notified) return;
    if (sound) {
      for (const at of [0, 0.25, 0.5]) {
        const tone = sound.createOscillator();
        const volume = sound.createGain();
        volume.gain.value = 0.2;
        tone.frequency.value = 880;
        tone.connect(volume).connect(sound.destination);
        tone.start(sound.currentTime + at);
        tone.stop(sound.currentTime + at + 0.15);
      }
    }
    if (!document.hidden || !("Notification" in window) || Notification.permission !== "granted") return;
    try {
      const note = new Notification(title, { body: text("notification"), tag: "anteroom-" + queue, lang });
      note.onclick = () => { window.focus(); note.close(); };
    } catch { /* some phones have the class and no notifications of pages */ }
  };

  // ---- calls, and when to make the next one ----

  // Every answer takes less than this, and while Redis is up no stream is silent for so long.
  const SILENCE = 45000;
  const call = async (method, path, headers = {}) => {
    const signal = AbortSignal.timeout?.(SILENCE);
    const response = await fetch(api + path, { method, headers, signal, credentials: "same-origin", cache: "no-store" });
    setClock(response);
    return response;
  };
  const problem = async (response) => response.json().catch(() => ({}));
  // A time of an answer. A proxy can have changed it.
  const atLeast = (least, ms) => Math.max(least, Number.isFinite(ms) ? ms : 0);
  let timer = 0;
  let next = null;
  // Timers have 31 bits. A longer time would end at once.
  const LONGEST = 2 ** 31 - 1;
  const later = (act, ms) => {
    clearTimeout(timer);
    next = act;
    const step = Math.min(ms, LONGEST);
    timer = setTimeout(() => {
      if (ms > step) later(act, ms - step);
      else attempt(act);
    }, step);
  };
  // After each failure the wait doubles, up to 20 s, with a random factor of 0.5 to 1.5. An answer can require more.
  let failures = 0;
  // A join succeeded, and no later call has shown yet that the browser keeps the cookie.
  let unproven = false;
  // Successive joins after which the cookie was missing.
  let lostCookies = 0;
  const proven = () => {
    failures = 0;
    unproven = false;
    lostCookies = 0;
  };
  const backOff = (response = null, why = {}) => {
    const own = Math.min(1000 * 2 ** failures++, 20000) * (0.5 + Math.random());
    return atLeast(own, why.retry_after_ms || delayOf(response));
  };
  // A gateway sends the same Retry-After to all visitors while admission is down: spread them.
  const delayOf = (response) => {
    const header = response && response.headers.get("retry-after");
    if (!header) return 0;
    const ms = Number.isNaN(Number(header)) ? Date.parse(header) - now() : 1000 * header;
    return ms > 0 ? ms * (1 + Math.random() / 2) : 0;
  };
  // The server's clock, because the clock of a phone can be wrong.
  let serverTime = Number(room.dataset.now) - performance.now();
  const now = () => serverTime + performance.now();
  const setClock = (response) => {
    const date = Date.parse(response.headers.get("date"));
    if (date) serverTime = date - performance.now();
  };
  // A call of a visitor with a place that failed. After one lost answer the page shows nothing yet.
  const failedCall = (act, response = null, why = {}) => {
    const after = backOff(response, why);
    if (failures >= 25) show("unreachable");
    else if (navigator.onLine === false) show("offline");
    else if (failures > 1 || response) show("busy_kept");
    later(act, after);
  };
  const attempt = (act) => act().catch(() => failedCall(act));
  const tryNow = () => later(next ?? poll, 1);
  addEventListener("online", () => { if (failures) later(next ?? poll, 1000 * Math.random()); });

  // ---- the visit ----

  const refusals = { queue_full: "full", join_limited: "limited" };
  let source = null;
  let turn = false;
  // Until this time the page shows a visitor who was away that the place was kept.
  let backUntil = 0;

  async function joinLater(response, why) {
    const after = backOff(response, why);
    later(() => join(), after);
    if (why.code === "queue_closed") return closed();
    show(refusals[why.code] ?? (navigator.onLine === false ? "offline" : "busy"));
  }

  // The queue is closed, or not open yet. Its state shows which.
  async function closed() {
    const response = await call("GET", "").catch(() => null);
    const state = response?.ok ? await problem(response) : {};
    if (state.joins_in_ms > 0) show("not_open", { reason: state.reason, clock: state.joins_in_ms });
    else show("closed", { reason: state.reason });
  }

  async function join(again = true) {
    // While the page retries, it keeps showing the reason.
    if (!views[room.dataset.view].wait) show("joining");
    let response;
    try {
      response = await call("POST", "/tokens", { "idempotency-key": key() });
    } catch {
      return joinLater(null, {});
    }
    if (response.ok) {
      unproven = true;
      const place = await response.json();
      if (response.status === 201) store("place", JSON.stringify({ ticket: place.ticket, since: now() }));
      stop();
      // Without cookies the visitor cannot enter: show no place.
      if (lostCookies < 2) tell(place);
      follow(place);
      return;
    }
    const why = await problem(response);
    // The cookie had no valid token. The answer has removed it.
    if (why.code === "token_invalid" && again) return join(false);
    if (why.code === "assertion_missing") {
      // Only the backend can sign the identity. It does so at the address that the visitor came from.
      show("identity");
      offer("go_on", Boolean(returnTo));
      if (returnTo) goBack();
      return;
    }
    if (response.status === 429 || response.status >= 500) return joinLater(response, why);
    show("failed");
  }

  // Ticket and position of the last answer.
  let last = null;
  // Shows a place.
  function tell(place) {
    const known = memory(place.ticket);
    last = null;
    if (place.status === "waiting") {
      turn = false;
      known.position = Math.min(known.position ?? Infinity, place.position);
      last = { ticket: place.ticket, position: known.position };
      const ahead = known.position - 1;
      known.from = Math.max(known.from ?? 0, ahead);
      known.progress = Math.max(known.progress ?? 0, known.from ? Math.round((100 * (known.from - ahead)) / known.from) : 0);
      if (known.seen && now() - known.seen > 300000) backUntil = now() + 60000;
      const back = now() < backUntil;
      known.seen = now();
      store("place", JSON.stringify(known));
      const at = {
        position: known.position, reason: place.reason, keep_ms: place.keep_ms, since: known.since, back,
        progress: known.progress, wait: wait(place.eta_ms, place.eta_p90_ms),
        mark: `(${decimal.format(ahead)})`, icon: Math.floor(known.progress / 10),
      };
      // A queue is paused before it opens.
      if (place.opens_in_ms > 0) show("entry_starts", { ...at, clock: place.opens_in_ms });
      else if (place.paused_by) show("recovering", at);
      else if (place.queue_state === "paused") show("paused", at);
      else show("waiting", at);
      return;
    }
    if (place.status !== "ready" && place.status !== "active") throw new TypeError("no place");
    const at = { clock: place.expires_in_ms, mark: "\u25cf", icon: 10 };
    if (place.status === "active" && !returnTo) {
      turn = false;
      show("inside", { ...at, done: () => later(poll, 1000) });
      return;
    }
    const isNew = !turn;
    turn = true;
    show(returnTo ? "admitted" : "ready", place.status === "ready" ? at : { ...at, clock: undefined });
    if (isNew) {
      notify();
      element("heading").focus();
    }
    attempt(goOn);
  }

  // Enters. With `return_to` only while the page is visible, else only when the visitor presses the button.
  let entering = false;
  async function goOn(pressed = false) {
    if (!turn || (!returnTo && !pressed) || document.hidden || entering) return;
    entering = true;
    const response = await call("POST", "/token/claim").finally(() => { entering = false; });
    if (!response.ok) return later(poll, backOff(response, await problem(response)));
    if (returnTo) return goBack();
    const place = await response.json();
    if (!source) later(poll, atLeast(1000, place.poll_after_ms));
    tell(place);
  }

  function goBack() {
    stop();
    // If that page sends the visitor back within 5 s, stay: no endless redirects. The link is still there.
    const now = Date.now();
    const name = "anteroom-left-" + queue;
    const last = Number(storage((s) => s.getItem(name), "sessionStorage"));
    storage((s) => s.setItem(name, String(now)), "sessionStorage");
    if (now - last > 5000) location.replace(returnTo);
  }
  document.addEventListener("visibilitychange", () => {
    if (far && document.hidden) watch();
    attempt(goOn);
  });

  // Gives up the place or ends the visit.
  async function leave(view) {
    stop();
    const response = await call("DELETE", "/token");
    if (response.ok || response.status === 401) return over(view);
    show("busy_kept");
    later(async () => watch(), backOff(response, await problem(response)));
  }

  // The address shows the end too, so a reload does not join.
  function over(view) {
    forgetKey();
    const query = new URLSearchParams(location.search);
    query.set("over", "");
    if (element("over")) element("over").disabled = false;
    history.replaceState(null, "", "?" + query);
    show(view);
  }

  function gone(reason) {
    stop();
    if (reason === "lost") return later(() => join(), backOff());
    if (reason === "completed") return over("finished");
    forgetKey();
    show(reason === "left" ? "left" : "ended", { why: texts["ended_" + reason] ? reason : null });
  }

  // ---- far from the front: the board, which is the same for all visitors and comes from any cache ----

  // The numbers of a column are differences.
  const sums = (column) => {
    let sum = 0;
    return column.map((it) => (sum += it));
  };
  // What a column has at a value of another, by interpolation; null outside.
  const between = (at, xs, ys, least = -Infinity) => {
    const next = xs.findIndex((x) => x >= at);
    if (xs[next] === at) return ys[next];
    if (next < 1) return null;
    const [x, y] = [xs[next - 1], ys[next - 1]];
    return y + Math.max(least, Math.floor(((at - x) * (ys[next] - y)) / (xs[next] - x)));
  };
  const onBoard = ({ points, pace }, ticket) => {
    const position = between(ticket, sums(points.ticket), sums(points.position), 1);
    const wait = (column) => (column.length ? between(position, sums(pace.position), sums(column)) : null);
    return { position, eta_ms: wait(pace.eta_ms), eta_p90_ms: wait(pace.eta_p90_ms) };
  };

  // A hidden page follows events: browsers let its timers run once a minute, so that a turn could end unseen.
  const boardIsEnough = (place) => place.status === "waiting" && place.board_until_ticket > 0 && !document.hidden;
  // The last place, while the page follows the board, and its heartbeat; the last board.
  let far = null;
  let board = null;
  const isBeatDue = () => performance.now() - far.at >= far.jitter * board.heartbeat_ms;
  function follow(place) {
    if (!boardIsEnough(place)) return watch();
    // Visitors who came together do not stay together.
    far = { place, at: performance.now(), jitter: 0.8 + 0.2 * Math.random() };
    later(readBoard, atLeast(1000, place.poll_after_ms));
  }
  async function readBoard() {
    if (board && isBeatDue()) return poll();
    const response = await fetch(api + "/board", { signal: AbortSignal.timeout?.(SILENCE), credentials: "omit" }).catch(() => null);
    const seen = response?.ok ? await problem(response) : {};
    // Else the request stays open.
    if (!response?.ok) response?.body?.cancel();
    // Not as a part of this call: a retry is of the place alone.
    if (!seen.points) return later(poll, 0);
    const isNew = board ? board.epoch !== seen.epoch || (seen.check_in && !board.check_in) : seen.check_in;
    board = seen;
    // All visitors see this at the same time.
    if (isNew) return later(poll, 10000 * Math.random());
    const { place, at } = far;
    const shown = onBoard(seen, place.ticket);
    if (shown.position === null || seen.front >= place.board_until_ticket || isBeatDue()) return poll();
    const { queue_state, paused_by, reason } = seen;
    const opens_in_ms = seen.opens_at ? seen.opens_at - now() : null;
    tell({ ...place, ...shown, queue_state, paused_by, reason, opens_in_ms, keep_ms: place.keep_ms - (performance.now() - at) });
    failures = 0;
    later(readBoard, atLeast(1000, place.poll_after_ms));
  }

  async function poll() {
    const before = last;
    const response = await call("GET", "/token", before ? { "x-anteroom-position": before.position } : {});
    if (response.ok) {
      const place = await response.json();
      // Another tab has joined again. The position belongs to the ticket before.
      if (before && place.ticket !== before.ticket) {
        last = null;
        return poll();
      }
      tell(place);
      proven();
      if (far || boardIsEnough(place)) follow(place);
      else if (!turn || !returnTo || document.hidden) later(poll, atLeast(1000, place.poll_after_ms));
      return;
    }
    const why = await problem(response);
    if (response.status === 410) return gone(why.reason);
    if (response.status === 401) {
      if (!unproven) return join();
      if (why.code === "token_missing") lostCookies++;
      if (lostCookies > 1) show("cookies");
      return later(() => join(), backOff(response, why));
    }
    failedCall(poll, response, why);
  }

  function stop() {
    clearTimeout(timer);
    stopClock();
    clearTimeout(silent);
    if (source) source.close();
    source = null;
  }

  // A connection can be lost without a sign.
  let silent = 0;
  function watch() {
    stop();
    far = board = null;
    if (!window.EventSource) return later(poll, 1000);
    const pollInstead = (after) => { stop(); later(poll, after); };
    const listen = () => {
      clearTimeout(silent);
      silent = setTimeout(() => pollInstead(backOff()), SILENCE);
    };
    listen();
    source = new window.EventSource(api + "/token/events");
    const on = (name, act) => source.addEventListener(name, (event) => {
      listen();
      try { act(JSON.parse(event.data)); } catch { pollInstead(backOff()); }
    });
    on("place", (place) => {
      if (boardIsEnough(place)) stop();
      tell(place);
      proven();
      if (boardIsEnough(place)) follow(place);
    });
    on("gone", ({ reason }) => gone(reason));
    on("replaced", () => pollInstead(1000));
    on("unavailable", () => show("busy_kept"));
    source.addEventListener("error", () => {
      if (source && source.readyState === EventSource.CLOSED) pollInstead(backOff());
    });
  }

  element("form").addEventListener("submit", (event) => {
    event.preventDefault();
    const pressed = event.submitter?.id;
    if (pressed === "enter") attempt(() => goOn(true));
    else if (pressed === "finish") attempt(() => leave("finished"));
    else if (pressed === "try_again") tryNow();
    else attempt(join);
  });
  element("leave_form").addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(() => leave("left"));
  });
  offer("leave_no", true);
  element("leave_no").addEventListener("click", () => {
    element("leave").open = false;
    element("leave").firstElementChild.focus();
  });

  const start = () => {
    switch (room.dataset.status) {
      case "waiting": watch(); break;
      case "ready":
      case "active": turn = true; watch(); attempt(goOn); break;
      case "none": attempt(join); break;
      default: forgetKey();
    }
  };
  // A browser that loads the page ahead of a visit takes no place.
  if (document.prerendering) document.addEventListener("prerenderingchange", start, { once: true });
  else start();
})();
