"use strict";
(() => {
  // The token is in a cookie that no script can read. The Idempotency-Key below makes a join that is sent twice,
  // by two tabs or after a lost answer, one join. It is kept until the place has ended: if the cookie is lost (a
  // page of another host of the site can push it out of the jar), the same key gets the same place.
  const room = document.getElementById("room");
  const { queue, returnTo } = room.dataset;
  const words = JSON.parse(room.dataset.words);
  const api = "../v1/queues/" + encodeURIComponent(queue);
  const title = document.title;
  const keyName = "anteroom-key-" + queue;
  let source = null;
  let timer = 0;
  let turn = false;

  const element = (id) => document.getElementById(id);
  // What is said already is not read out again.
  const say = (id, text) => {
    if (element(id).textContent !== text) element(id).textContent = text;
  };
  const show = (message, detail = "") => {
    say("message", message);
    say("detail", detail);
  };
  const offer = (join, goOn, visit = "") => {
    const focused = document.activeElement;
    element("join").hidden = !join;
    element("go-on").hidden = !goOn;
    element("visit").hidden = !visit;
    for (const step of ["enter", "finish"]) element(step).hidden = step !== visit;
    // Whoever pressed a button that is gone now goes on from what the page says.
    if (focused && focused.closest("[hidden]")) element("message").focus();
  };

  // A browser may deny both stores.
  const storage = (act, which = "localStorage") => {
    try { return act(window[which]); } catch { return null; }
  };
  const keptKey = () => storage((s) => s.getItem(keyName));
  // The key that this tab knows of: another tab may have joined with a newer one.
  let ownKey = keptKey();
  const key = () => {
    ownKey = keptKey() || ownKey;
    if (!ownKey) {
      const bytes = crypto.getRandomValues(new Uint8Array(24));
      ownKey = btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_");
    }
    storage((s) => s.setItem(keyName, ownKey));
    return ownKey;
  };
  // The place of this key has ended.
  const forgetKey = () => {
    if (keptKey() === ownKey) storage((s) => s.removeItem(keyName));
    ownKey = null;
  };

  const call = (method, path, headers = {}) =>
    fetch(api + path, { method, headers, credentials: "same-origin", cache: "no-store" });
  const problem = async (response) => response.json().catch(() => ({}));
  // A timer counts in 31 bits, and fires at once when asked for more.
  const LONGEST = 2 ** 31 - 1;
  const later = (act, ms) => {
    clearTimeout(timer);
    const step = Math.min(ms, LONGEST);
    timer = setTimeout(() => {
      if (ms > step) later(act, ms - step);
      else act().catch(() => later(act, backOff()));
    }, step);
  };
  // After a failure: as long as the answer says, and at least twice as long as after the one before, from
  // half to one and a half of it. A place must be heard of every half a minute.
  let failures = 0;
  // A join has succeeded and its cookie has not come back yet: in a browser that takes none it never does.
  let unproven = false;
  // The joins in a row whose cookie did not come back.
  let lostCookies = 0;
  const proven = () => {
    failures = 0;
    unproven = false;
    lostCookies = 0;
  };
  const backOff = (response = null, why = {}) => {
    const own = Math.min(1000 * 2 ** failures++, 20000) * (0.5 + Math.random());
    return Math.max(own, why.retry_after_ms || told(response));
  };
  // What a gateway says when admission does not answer is the same for everybody.
  const told = (response) => {
    const header = response && response.headers.get("retry-after");
    if (!header) return 0;
    const ms = Number.isNaN(Number(header)) ? Date.parse(header) - Date.now() : 1000 * header;
    return ms > 0 ? ms * (1 + Math.random() / 2) : 0;
  };
  const refusals = { queue_full: words.full, queue_closed: words.closed, join_limited: words.limited };

  // Rounded up, as the page without a script does it (a table holds the two together).
  const wait = (ms) => {
    const minutes = Math.ceil(ms / 60000);
    if (ms <= 30000) return words.wait[0];
    if (minutes === 1) return words.wait[1];
    if (minutes <= 120) return words.wait[2].replace("{}", minutes);
    return words.wait[3].replace("{}", Math.ceil(minutes / 30) / 2);
  };
  const timeLeft = (ms) => {
    const seconds = Math.ceil(ms / 1000);
    const [hours, ...rest] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
    const clock = (hours ? [hours, ...rest] : rest).map((part, index) => String(part).padStart(index && 2, "0"));
    return words.left.replace("{}", clock.join(":"));
  };
  const number = (position) =>
    words.number.replace("{}", String(position).replace(/\B(?=(\d{3})+$)/g, words.thousands));

  // Why nothing moves: asked for while the wait is not known or something was told, twice a minute at most; and
  // at once when the wait is known again, so that nobody reads what is over. The answer may be older than what is
  // known of the place: one that still says paused is asked for again soon.
  let noticed = -Infinity;
  let wantedBefore = false;
  let askAgain;
  async function notice(wanted) {
    const line = element("notice");
    const movesAgain = wantedBefore && !wanted;
    wantedBefore = wanted;
    if ((!wanted && line.hidden) || (!movesAgain && Date.now() - noticed < 30000)) return;
    noticed = Date.now();
    clearTimeout(askAgain);
    const response = await call("GET", "");
    if (!response.ok) return;
    const { state, paused_by, reason } = await response.json();
    const text = paused_by ? words.recovering : { paused: words.paused, closed: words.closed }[state];
    // What the message says already is not said twice.
    const parts = text ? [text, reason].filter((part) => part && part !== element("message").textContent) : [];
    line.hidden = !parts.length;
    say("notice", parts.join(" "));
    if (wantedBefore || !(paused_by || state === "paused")) return;
    askAgain = setTimeout(() => {
      noticed = -Infinity;
      notice(wantedBefore).catch(() => {});
    }, 1500 + 1000 * Math.random());
  }

  function joinLater(response, why) {
    show(refusals[why.code] || words.busy, words.again);
    if (why.code === "queue_closed") {
      noticed = -Infinity;
      notice(true).catch(() => {});
    }
    later(join, backOff(response, why));
  }

  async function join(again = true) {
    offer(false, false);
    let response;
    try {
      response = await call("POST", "/tokens", { "idempotency-key": key() });
    } catch {
      return joinLater(null, {});
    }
    if (response.ok) {
      unproven = true;
      noticed = -Infinity;
      // Without cookies no place is shown: the visitor could not take its turn.
      if (lostCookies < 2) tell(await response.json());
      watch();
      return;
    }
    const why = await problem(response);
    // The cookie was none of ours and is gone now.
    if (why.code === "token_invalid" && again) return join(false);
    if (why.code === "assertion_missing") {
      // Only the backend can say who this is: where the visitor came from, it can.
      show(words.identity_ended);
      offer(false, Boolean(returnTo));
      if (returnTo) leave();
      return;
    }
    if (response.status === 429 || response.status >= 500) return joinLater(response, why);
    show(words.failed);
    offer(true, false);
  }

  function tell(place) {
    if (place.status === "active" && !returnTo) return inside(place);
    turn = place.status !== "waiting";
    document.title = turn ? "\u25cf " + title : title;
    if (place.status === "waiting") {
      const known = place.eta_ms !== null;
      show(number(place.position), known ? wait(place.eta_ms) : "");
      offer(false, false);
      notice(!known).catch(() => {});
    } else {
      element("notice").hidden = true;
      show(words.turn);
      offer(false, Boolean(returnTo), returnTo ? "" : "enter");
      goOn().catch(() => later(poll, backOff()));
    }
  }

  // The visit itself, where there is nowhere to go on to: how long it lasts, and a button that ends it.
  let clock = 0;
  function inside(place) {
    turn = false;
    document.title = "\u25cf " + title;
    element("notice").hidden = true;
    offer(false, false, "finish");
    const end = performance.now() + place.expires_in_ms;
    const tick = () => {
      const left = Math.max(0, end - performance.now());
      show(words.inside, timeLeft(left));
      if (left > 0) return;
      clearInterval(clock);
      later(poll, 1000);
    };
    clearInterval(clock);
    clock = setInterval(tick, 1000);
    tick();
  }

  async function finish() {
    stop();
    const response = await call("DELETE", "/token");
    if (!response.ok && response.status !== 401) {
      show(words.failed);
      return later(async () => watch(), backOff(response, await problem(response)));
    }
    document.title = title;
    over();
  }

  // The address says so too: a reload joins nobody.
  function over() {
    forgetKey();
    history.replaceState(null, "", "?over" + (returnTo ? "&return_to=" + encodeURIComponent(returnTo) : ""));
    show(words.over, words.ended_detail);
    offer(true, false);
  }

  // The turn is taken, and the page left, only while somebody looks at it.
  async function goOn() {
    if (!turn || document.hidden) return;
    const response = await call("POST", "/token/claim");
    if (!response.ok) return later(poll, backOff(response, await problem(response)));
    if (!returnTo) {
      const place = await response.json();
      if (!source) later(poll, place.poll_after_ms);
      return inside(place);
    }
    leave();
  }

  function leave() {
    stop();
    // Sent straight back here again and again, a browser would never rest: then the link is enough.
    const now = Date.now();
    const name = "anteroom-left-" + queue;
    const last = Number(storage((s) => s.getItem(name), "sessionStorage"));
    storage((s) => s.setItem(name, String(now)), "sessionStorage");
    if (now - last > 5000) location.replace(returnTo);
  }
  document.addEventListener("visibilitychange", () => goOn().catch(() => later(poll, backOff())));

  function gone(reason) {
    stop();
    if (reason === "lost") return join().catch(() => later(join, backOff()));
    if (reason === "completed") return over();
    forgetKey();
    show(words.ended, words.ended_detail);
    offer(true, false);
  }

  async function poll() {
    const response = await call("GET", "/token");
    if (response.ok) {
      proven();
      const place = await response.json();
      tell(place);
      if (!turn || document.hidden) later(poll, place.poll_after_ms);
      return;
    }
    const why = await problem(response);
    if (response.status === 410) return gone(why.reason);
    if (response.status === 401) {
      if (!unproven) return join();
      if (why.code === "token_missing") lostCookies++;
      if (lostCookies > 1) show(words.cookies, words.again);
      return later(join, backOff(response, why));
    }
    later(poll, backOff(response, why));
  }

  function stop() {
    clearTimeout(timer);
    clearInterval(clock);
    if (source) source.close();
    source = null;
  }

  function watch() {
    stop();
    if (!window.EventSource) return later(poll, 1000);
    source = new EventSource(api + "/token/events");
    source.addEventListener("place", (event) => { proven(); tell(JSON.parse(event.data)); });
    source.addEventListener("gone", (event) => gone(JSON.parse(event.data).reason));
    source.addEventListener("replaced", () => { stop(); later(poll, 1000); });
    source.addEventListener("error", () => {
      if (source && source.readyState === EventSource.CLOSED) { stop(); later(poll, backOff()); }
    });
  }

  element("join").addEventListener("submit", (event) => {
    event.preventDefault();
    join().catch(() => later(join, backOff()));
  });
  element("visit").addEventListener("submit", (event) => {
    event.preventDefault();
    if (element("finish").hidden) {
      turn = true;
      goOn().catch(() => later(poll, backOff()));
    } else {
      finish().catch(() => later(poll, backOff()));
    }
  });
  switch (room.dataset.status) {
    case "waiting": watch(); break;
    case "ready":
    case "active": turn = true; watch(); goOn().catch(() => later(poll, backOff())); break;
    case "none": join().catch(() => later(join, backOff())); break;
    default: forgetKey();
  }
})();
