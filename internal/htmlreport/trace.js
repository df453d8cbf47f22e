"use strict";
(() => {
  const events = [...document.querySelectorAll(".event")];
  const marked = events.filter((e) => !e.classList.contains("step") && !e.classList.contains("lock"));
  const lanes = document.querySelector(".lanes");

  const show = (e) => {
    const box = lanes.getBoundingClientRect(), at = e.querySelector("circle").getBoundingClientRect();
    lanes.scrollTop += at.top - box.top - lanes.clientHeight / 2;
    if (at.left < box.left || at.right > box.right - 100) lanes.scrollLeft += at.left - box.left - lanes.clientWidth / 3;
  };
  const move = (all, step) => {
    const at = events.indexOf(document.activeElement);
    const next = step > 0 ? all.find((e) => events.indexOf(e) > at) : all.findLast((e) => events.indexOf(e) < (at < 0 ? events.length : at));
    if (next) {
      next.focus({ preventScroll: true });
      show(next);
    }
  };
  const keys = { j: [events, 1], k: [events, -1], n: [marked, 1], p: [marked, -1] };
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.altKey || e.metaKey || !keys[e.key]) return;
    move(...keys[e.key]);
    e.preventDefault();
  });
  // All accesses, if they fit.
  if (marked.length > 0) {
    const top = (e) => e.querySelector("circle").getBoundingClientRect().top - lanes.getBoundingClientRect().top + lanes.scrollTop;
    const first = top(marked[0]), last = top(marked[marked.length - 1]);
    const middle = last - first < lanes.clientHeight - 120 ? (first + last) / 2 : first + lanes.clientHeight / 2 - 80;
    lanes.scrollTop = middle - lanes.clientHeight / 2;
    const xs = marked.map((e) => e.getBoundingClientRect()).map((r) => [r.left, r.right]), left = lanes.getBoundingClientRect().left;
    const from = Math.min(...xs.map((x) => x[0])) - left - 20, to = Math.max(...xs.map((x) => x[1])) - left + 20;
    if (to > lanes.clientWidth) lanes.scrollLeft = Math.min(from, to - lanes.clientWidth);
  }
})();
