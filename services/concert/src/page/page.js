"use strict";
// Times go on while the page is open; without a script they stay as they were. At its end a clock
// shows what is over. One without such a text loads the page again, which then shows it.
for (const time of document.querySelectorAll("time[data-left]")) {
  const clock = time.parentElement;
  const end = performance.now() + 1000 * time.dataset.left;
  const tick = () => {
    const left = Math.max(0, Math.ceil((end - performance.now()) / 1000));
    time.textContent = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`;
    if (left > 0) return setTimeout(tick, 1000);
    if (!clock.dataset.over) return location.reload();
    clock.setAttribute("role", "alert");
    clock.textContent = clock.dataset.over;
  };
  tick();
}
for (const button of document.querySelectorAll("[data-print]")) {
  button.hidden = false;
  button.addEventListener("click", () => print());
}
