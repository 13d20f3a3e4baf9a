"use strict";
// The times left go on while somebody looks; without a script they stand as they were.
for (const time of document.querySelectorAll("time[data-left]")) {
  const end = performance.now() + 1000 * time.dataset.left;
  const tick = () => {
    const left = Math.max(0, Math.ceil((end - performance.now()) / 1000));
    time.textContent = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`;
    if (left > 0) setTimeout(tick, 1000);
  };
  tick();
}
