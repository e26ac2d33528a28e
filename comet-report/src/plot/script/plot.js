// Figures: pointer, keys, legend and tools act on plot areas.
const LEAST_DRAG_PX = 6;

/** One figure with its plot areas, its legend and its tools. */
class Plot {
  constructor(figure, svg) {
    [this.figure, this.svg] = [figure, svg];
    this.view = svg.closest(".view") ?? svg.parentNode;
    this.panels = [...svg.querySelectorAll(".panel")].map((group) => new Panel(group));
    this.tip = document.createElement("div");
    this.tip.className = "tip";
    this.tip.hidden = true;
    this.view.append(this.tip);
    this.cross = svg.appendChild(make("path", { class: "cross" }));
    this.box = svg.appendChild(make("path", { class: "box" }));
    this.drag = null;
    this.describe();
    this.addTools();
    const entries = [...svg.querySelectorAll(".legend .entry")];
    entries.forEach((entry) => this.addToggle(entry));
    if (entries.length > 0) rove(entries, svg.querySelector(".legend"), "curves");
    this.listen();
  }
  /** The title becomes a label, so that it does not cover the values as a tooltip. */
  describe() {
    this.title = this.svg.querySelector("title");
    this.title?.remove();
    this.svg.setAttribute("role", "group");
    this.svg.setAttribute("aria-label", this.title?.textContent ?? "");
    this.svg.removeAttribute("aria-labelledby");
    this.view.tabIndex = 0;
    this.view.setAttribute(
      "aria-label",
      `${this.title?.textContent ?? ""} (+ and - zoom, 0 shows all, arrows move)`,
    );
    this.view.setAttribute("role", "group");
  }
  addTools() {
    const tools = document.createElement("div");
    tools.className = "tools";
    const [main] = this.panels;
    const add = (action, text, label, run) => {
      const button = document.createElement("button");
      Object.assign(button, { type: "button", textContent: text, title: label, onclick: run });
      button.dataset.action = action;
      tools.append(button);
    };
    if (main) {
      add("in", "+", "zoom in", () => this.zoom(main, 0.5));
      add("out", "−", "zoom out", () => this.zoom(main, 2));
      add("reset", "all", "show all", () => this.reset());
    }
    const name = this.svg.dataset.figure || "figure";
    add("svg", "SVG", "download as it is shown", () =>
      save(`${name}.svg`, "image/svg+xml", this.file()),
    );
    const [csv, gnuplot] = [".csv", ".gnuplot"].map((kind) => this.figure.querySelector(kind));
    const addText = (kind, text, ending, content) =>
      add(kind, text, `download for ${text}`, () => save(`${name}.${ending}`, "text/plain", content()));
    if (csv) addText("csv", "CSV", "csv", () => csv.textContent);
    // The values stand in the page once, and the script for gnuplot takes them in here.
    const whole = () =>
      gnuplot.textContent.replace("$data << EOD\n", (line) => line + csv.textContent);
    if (csv && gnuplot) addText("gnuplot", "gnuplot", "gp", whole);
    rove([...tools.children], tools, "tools");
    this.view.after(tools);
  }
  addToggle(entry) {
    const toggle = () => {
      const isOff = entry.classList.toggle("off");
      const all = this.svg.querySelectorAll(`.series[data-series="${entry.dataset.series}"]`);
      all.forEach((series) => series.classList.toggle("off", isOff));
      entry.setAttribute("aria-pressed", String(!isOff));
      this.leave();
    };
    // Clicks between the line and the name count, too.
    const { x, y, width, height } = entry.getBBox();
    entry.append(make("rect", { class: "hit", x, y, width, height }));
    for (const [key, value] of [
      ["role", "button"],
      ["aria-pressed", "true"],
    ])
      entry.setAttribute(key, value);
    entry.addEventListener("click", toggle);
    entry.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      toggle();
    });
  }
  listen() {
    for (const panel of this.panels) {
      panel.cover.addEventListener("pointermove", (event) => this.point(panel, event));
      panel.cover.addEventListener("pointerleave", () => this.leave());
      panel.cover.addEventListener("pointerdown", (event) => this.press(panel, event));
      panel.cover.addEventListener("pointerup", (event) => this.release(panel, event));
      panel.cover.addEventListener("pointercancel", () => this.endDrag());
      panel.cover.addEventListener("dblclick", () => this.reset());
      panel.cover.addEventListener(
        "wheel",
        (event) => {
          if (!event.ctrlKey) return;
          event.preventDefault();
          this.zoom(panel, event.deltaY < 0 ? 0.8 : 1.25, this.at(event));
        },
        { passive: false },
      );
    }
    this.view.addEventListener("keydown", (event) => this.key(event));
  }
  /** Where an event is, in the units of the picture. */
  at(event) {
    const box = this.svg.getBoundingClientRect();
    const scale = this.svg.viewBox.baseVal.width / box.width;
    return [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
  }
  point(panel, event) {
    const at = this.at(event);
    if (this.drag) return this.drawBox(panel, at);
    const [, place, text] = panel.nearest(at);
    if (!place) return this.leave();
    const [x, y] = place.map(round);
    const { start: left, last: right } = panel.x;
    this.cross.setAttribute("d", `M${x} ${panel.top}V${panel.bottom}M${left} ${y}H${right}`);
    this.tip.textContent = text;
    this.tip.hidden = false;
    this.putTip(place);
  }
  putTip([x, y]) {
    const scale = this.svg.getBoundingClientRect().width / this.svg.viewBox.baseVal.width;
    const { offsetWidth: width, offsetHeight: height } = this.tip;
    const [left, top] = [x * scale + 12, y * scale + 12];
    const [edge, floor] = [this.view.scrollLeft + this.view.clientWidth, this.view.clientHeight];
    this.tip.style.left = `${left + width > edge ? Math.max(this.view.scrollLeft, left - width - 24) : left}px`;
    this.tip.style.top = `${top + height > floor ? Math.max(0, top - height - 24) : top}px`;
  }
  leave() {
    this.tip.hidden = true;
    this.cross.removeAttribute("d");
  }
  press(panel, event) {
    if (event.pointerType === "touch") return this.point(panel, event);
    if (event.button !== 0) return;
    this.drag = this.at(event);
    panel.cover.setPointerCapture(event.pointerId);
    this.leave();
  }
  /** The box from where the drag began to `at`; a flat one takes in all of the other axis. */
  boxOf(panel, at) {
    const keep = (value, low, high) => Math.min(Math.max(value, low), high);
    let [left, right] = [this.drag[0], keep(at[0], panel.x.start, panel.x.last)].sort(
      (a, b) => a - b,
    );
    let [top, bottom] = [this.drag[1], keep(at[1], panel.top, panel.bottom)].sort((a, b) => a - b);
    if (bottom - top < 2 * LEAST_DRAG_PX) [top, bottom] = [panel.top, panel.bottom];
    else if (right - left < 2 * LEAST_DRAG_PX) [left, right] = [panel.x.start, panel.x.last];
    return [left, top, right, bottom];
  }
  drawBox(panel, at) {
    const [left, top, right, bottom] = this.boxOf(panel, at).map(round);
    this.box.setAttribute("d", `M${left} ${top}H${right}V${bottom}H${left}Z`);
  }
  endDrag() {
    this.drag = null;
    this.box.removeAttribute("d");
  }
  release(panel, event) {
    if (!this.drag) return;
    const at = this.at(event);
    const isDrag = Math.hypot(at[0] - this.drag[0], at[1] - this.drag[1]) >= LEAST_DRAG_PX;
    const [left, top, right, bottom] = this.boxOf(panel, at);
    this.endDrag();
    if (!isDrag) return;
    const shares = (axis, pixels) => pixels.map((px) => axis.share(px)).sort((a, b) => a - b);
    panel.y.show(...shares(panel.y, [top, bottom]));
    this.showX(...shares(panel.x, [left, right]));
  }
  /** Plot areas of one figure share their horizontal axis. */
  showX(low, high) {
    const before = this.panels[0].x.window.join();
    this.panels.forEach((panel) => panel.x.show(low, high));
    this.draw();
    if (this.panels[0].x.window.join() !== before) this.announce();
  }
  /** The ends of the horizontal axis that are shown, as an event; null for all of it. */
  announce() {
    const { x } = this.panels[0];
    const detail = x.window.join() === "0,1" ? null : x.window.map((share) => x.value(share));
    this.svg.dispatchEvent(new CustomEvent("zoomed", { bubbles: true, detail }));
  }
  draw() {
    this.leave();
    this.panels.forEach((panel) => panel.draw());
    this.svg.classList.toggle(
      "zoomed",
      this.panels.some((panel) => !panel.isWhole),
    );
  }
  /** Shows `factor` times as much around a place, or around the middle. */
  zoom(panel, factor, at) {
    const around = (axis, px) => {
      const [low, high] = axis.window;
      const middle = px === undefined ? (low + high) / 2 : axis.share(px);
      return [middle - (middle - low) * factor, middle + (high - middle) * factor];
    };
    panel.y.show(...around(panel.y, at?.[1]));
    this.showX(...around(panel.x, at?.[0]));
  }
  /** Moves by shares of what is shown. */
  pan(x, y) {
    const [main] = this.panels;
    const moved = (axis, by) =>
      axis.window.map((share) => share + by * (axis.window[1] - axis.window[0]));
    main.y.show(...moved(main.y, y));
    this.showX(...moved(main.x, x));
  }
  reset() {
    this.panels.forEach((panel) => panel.y.show(0, 1));
    this.showX(0, 1);
    // A page may show a part of its own, of which this is the whole.
    this.announce();
  }
  key(event) {
    const [main] = this.panels;
    if (!main || event.ctrlKey || event.metaKey || event.altKey) return;
    const up = main.y.names ? -1 : 1;
    const actions = {
      "+": () => this.zoom(main, 0.8),
      "=": () => this.zoom(main, 0.8),
      "-": () => this.zoom(main, 1.25),
      0: () => this.reset(),
      ArrowLeft: () => this.pan(-0.15, 0),
      ArrowRight: () => this.pan(0.15, 0),
      ArrowUp: () => this.pan(0, 0.15 * up),
      ArrowDown: () => this.pan(0, -0.15 * up),
    };
    if (!Object.hasOwn(actions, event.key)) return;
    event.preventDefault();
    actions[event.key]();
  }
  /** The picture as it is shown, as a file of its own. */
  file() {
    const copy = this.svg.cloneNode(true);
    copy.querySelectorAll(".cover,.cross,.box,.hit").forEach((part) => part.remove());
    for (const entry of copy.querySelectorAll(".entry")) {
      ["role", "tabindex", "aria-pressed"].forEach((name) => entry.removeAttribute(name));
    }
    copy.querySelector(".legend")?.removeAttribute("role");
    const colours = getComputedStyle(this.svg);
    const css = document.getElementById("plot-css")?.textContent ?? RULES;
    const rules = css
      .split("\n")
      .filter((line) => line.startsWith("svg.comet"))
      .join("\n");
    copy.prepend(
      make(
        "style",
        {},
        rules.replace(/var\((--[\w-]+)\)/g, (_, name) => colours.getPropertyValue(name).trim()),
      ),
    );
    if (this.title) copy.prepend(this.title.cloneNode(true));
    copy.setAttribute("role", "img");
    const { width, height } = this.svg.viewBox.baseVal;
    copy.setAttribute("width", width);
    copy.setAttribute("height", height);
    return new XMLSerializer().serializeToString(copy);
  }
}

const save = (name, type, text) => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
};

/** One of `items` is a tab stop, and arrows move among them. */
const rove = (items, bar, label) => {
  const stop = (chosen) =>
    items.forEach((item) => item.setAttribute("tabindex", item === chosen ? "0" : "-1"));
  stop(items[0]);
  bar.setAttribute("role", "toolbar");
  bar.setAttribute("aria-label", label);
  bar.addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 };
    const step = steps[event.key];
    const at = items.indexOf(event.target);
    if (!step || at < 0) return;
    event.preventDefault();
    event.stopPropagation();
    const next = items[(at + step + items.length) % items.length];
    stop(next);
    next.focus();
  });
};

/** Makes the figures live that are not folded; others follow when they are opened. */
const start = () => {
  for (const svg of document.querySelectorAll("figure.plot svg.comet:not([data-live])")) {
    if (svg.closest("details:not([open])")) continue;
    svg.dataset.live = "";
    new Plot(svg.closest("figure.plot"), svg);
  }
};
document.addEventListener("toggle", start, true);
start();
