"use strict";
(() => {
  const all = [...document.querySelectorAll(".finding")];
  const query = document.getElementById("query");
  const shown = document.getElementById("shown");
  const buttons = [...document.querySelectorAll("#overview button")];
  let state = { q: "", kind: "", package: "" };

  const apply = () => {
    const terms = state.q.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const f of all) {
      const fits = (!state.kind || f.dataset.kind === state.kind) &&
        (!state.package || f.dataset.package === state.package) &&
        terms.every((t) => f.dataset.search.includes(t));
      f.hidden = !fits;
      if (fits) count++;
    }
    for (const b of buttons) {
      const same = (b.dataset.kind || "") === state.kind && (b.dataset.package || "") === state.package;
      b.setAttribute("aria-pressed", String(same));
    }
    shown.textContent = count === all.length ? "" : `${count} of ${all.length}`;
  };

  const setState = (changes) => {
    state = { ...state, ...changes };
    apply();
    const used = Object.entries(state).filter(([, value]) => value);
    history.replaceState(null, "", used.length ? "#" + new URLSearchParams(used) : "#");
  };

  const readHash = () => {
    const text = location.hash.slice(1);
    const target = text && document.getElementById(text);
    if (target) {
      target.open = true;
      return;
    }
    const values = new URLSearchParams(text);
    state = { q: values.get("q") || "", kind: values.get("kind") || "", package: values.get("package") || "" };
    if (query) query.value = state.q;
    if (query) apply();
  };

  const move = (step) => {
    const visible = all.filter((f) => !f.hidden);
    const at = visible.findIndex((f) => f.contains(document.activeElement));
    const next = at < 0 ? visible[step > 0 ? 0 : visible.length - 1] : visible[at + step];
    if (next) {
      const summary = next.querySelector("summary");
      summary.focus();
      summary.scrollIntoView({ block: "nearest" });
    }
  };

  const copy = async (button) => {
    const code = button.parentElement.querySelector("code");
    let copied = true;
    try {
      await navigator.clipboard.writeText(code.textContent);
    } catch {
      getSelection().selectAllChildren(code);
      copied = document.execCommand("copy");
    }
    button.textContent = copied ? "Copied" : "Press Ctrl+C";
  };

  for (const b of buttons) {
    b.addEventListener("click", () => {
      const pressed = b.getAttribute("aria-pressed") === "true";
      setState({ kind: pressed ? "" : b.dataset.kind || "", package: pressed ? "" : b.dataset.package || "" });
    });
  }
  for (const b of document.querySelectorAll(".copy")) b.addEventListener("click", () => copy(b));
  if (query) query.addEventListener("input", () => setState({ q: query.value }));
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.altKey || e.metaKey || !query) return;
    if (e.key === "Escape") {
      query.value = "";
      setState({ q: "", kind: "", package: "" });
      query.blur();
      return;
    }
    if (e.target === query) return;
    if (e.key === "/") query.focus();
    else if (e.key === "j") move(1);
    else if (e.key === "k") move(-1);
    else return;
    e.preventDefault();
  });
  window.addEventListener("hashchange", readHash);
  readHash();
})();
