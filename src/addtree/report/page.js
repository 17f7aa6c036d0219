"use strict";
(() => {
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const picked = document.getElementById("picked");
  const details = picked ? JSON.parse(document.getElementById("details").textContent) : {};
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const narrow = () => window.innerWidth < 560;

  // ---- plots: each is drawn when it scrolls into view, in the colours of the page
  function layout(given) {
    const css = getComputedStyle(document.documentElement);
    const get = (name) => css.getPropertyValue(name).trim();
    const out = JSON.parse(JSON.stringify(given));
    Object.assign(out, {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", dragmode: false,
      font: { color: get("--ink"), family: "system-ui, sans-serif", size: narrow() ? 11 : 12 },
      margin: { l: 56, r: narrow() ? 16 : 30, t: 26, b: 44 },
      hoverlabel: { bgcolor: get("--card"), bordercolor: get("--line"), font: { color: get("--ink") } },
    });
    for (const key of ["xaxis", "yaxis"]) {
      const own = out[key] || {};
      out[key] = { gridcolor: get("--grid"), zerolinecolor: get("--line"), linecolor: get("--line"), automargin: true, exponentformat: "power", fixedrange: true, ...own };
      if (narrow() && own.ticktext) out[key].ticktext = own.ticktext.map((t) => (t.length > 20 ? t.slice(0, 19).replace(/&[^;]*$/, "") + "…" : t));
    }
    if (narrow() && given.xaxis?.range) {  // the text at the ends of bars needs the same number of pixels on a narrow page
      const [low, high] = given.xaxis.range;
      out.xaxis.range = [low < 0 || low > 0 ? low - 0.4 * (high - low) : low, high + 0.15 * (high - low)];
    }
    return out;
  }
  const drawn = new Set();
  function draw(div) {
    const figure = figures[Number(div.dataset.figure)];
    drawn.add(div);
    let data = JSON.stringify(figure.data);
    if (dark.matches) data = data.replaceAll("#0072b2", "#56b4e9").replaceAll("rgba(0, 114, 178, 0.22)", "rgba(86, 180, 233, 0.3)");
    Plotly.react(div, JSON.parse(data), layout(figure.layout), { responsive: true, displayModeBar: false });
    if (picked && !div.dataset.picks) {
      div.dataset.picks = "yes";
      div.on("plotly_click", (event) => pick(div, event.points[0].customdata));
    }
  }

  // ---- a click on a trial of a front shows its values and its configuration below the plot
  function pick(div, id) {
    const trial = details[id];
    if (!trial) return;
    const title = document.createElement("h3");
    title.textContent = `Trial ${id}`;
    picked.replaceChildren(title, list(trial.values), list(trial.config));
    div.after(picked);
  }
  function list(pairs) {
    const out = document.createElement("dl");
    out.className = "config";
    for (const [name, value] of pairs) {
      const row = document.createElement("div"), dt = document.createElement("dt"), dd = document.createElement("dd");
      dt.textContent = name;
      dd.textContent = value;
      row.append(dt, dd);
      out.append(row);
    }
    return out;
  }
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting) { watcher.unobserve(entry.target); draw(entry.target); }
    }
  }, { rootMargin: "400px" });
  for (const div of document.querySelectorAll(".plot")) {
    div.style.height = `${figures[Number(div.dataset.figure)].layout.height}px`;
    watcher.observe(div);
  }
  const again = () => drawn.forEach(draw);
  dark.addEventListener("change", again);
  window.addEventListener("beforeprint", () => document.querySelectorAll(".plot").forEach(draw));

  // ---- the table: sort by a column, filter by text and state
  const table = document.getElementById("trials");
  if (!table) return;
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  const key = (row, column) => {
    const text = row.cells[column].dataset.key ?? row.cells[column].textContent;
    return text === "" ? null : isNaN(Number(text)) ? text : Number(text);
  };
  const compare = (a, b) => (typeof a === typeof b ? (a < b ? -1 : a > b ? 1 : 0) : typeof a === "number" ? -1 : 1);
  table.tHead.addEventListener("click", (event) => {
    const head = event.target.closest("th");
    if (!head) return;
    const up = head.getAttribute("aria-sort") !== "ascending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const keyed = rows.map((row) => [key(row, head.cellIndex), row]);
    keyed.sort(([a], [b]) => (a === null || b === null ? (a === null) - (b === null) : (up ? 1 : -1) * compare(a, b)));
    body.append(...keyed.map(([, row]) => row));
  });
  const words = document.getElementById("words"), state = document.getElementById("state"), shown = document.getElementById("shown");
  function filter() {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    let n = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      const keep = (!state.value || row.dataset.state === state.value) && wanted.every((word) => text.includes(word));
      row.hidden = !keep;
      n += keep;
    }
    shown.textContent = `${n} of ${rows.length}`;
  }
  words.addEventListener("input", filter);
  state.addEventListener("change", filter);
})();
