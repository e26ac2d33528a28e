// Plot areas: they move what is drawn, redraw their axes, and know what is near a place.
const NEAR_PX = 40;
// Points of lines come after marks that are as near.
const LATER_PX = 8;

const round = (value) => Math.round(value * 100) / 100;
const make = (name, attributes = {}, text = "") => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.textContent = text;
  return element;
};

/** One plot area. */
class Panel {
  constructor(group) {
    this.group = group;
    [this.x, this.y] = [new Axis(group.dataset, "x"), new Axis(group.dataset, "y")];
    this.name = group.dataset.panel;
    const one = (selector) => group.querySelector(selector);
    [this.area, this.grid] = [one(".area"), one(".grid")];
    [this.xAxis, this.yAxis] = [one(".axis-x"), one(".axis-y")];
    this.drawn = [this.grid, this.xAxis, this.yAxis]
      .filter(Boolean)
      .map((part) => [part, part.innerHTML]);
    const moved = this.area.querySelectorAll("[transform],path:not(.mark):not(.cells path)");
    this.parts = [...moved].map((part) => ({
      part,
      d: part.getAttribute("d"),
      transform: part.getAttribute("transform"),
    }));
    const [left, right] = [this.x.start, this.x.last];
    [this.top, this.bottom] = [this.y.start, this.y.last].sort((a, b) => a - b);
    this.cover = make("rect", {
      class: "cover",
      x: left,
      y: this.top,
      width: right - left,
      height: this.bottom - this.top,
    });
    group.append(this.cover);
    const clip = group.previousElementSibling?.querySelector("rect");
    if (clip) this.clip = [clip, clip.cloneNode()];
  }
  get isWhole() {
    return [...this.x.window, ...this.y.window].join() === "0,1,0,1";
  }
  has([x, y]) {
    return this.x.isInside(x) && this.y.isInside(y);
  }

  draw() {
    for (const { part, d, transform } of this.parts) {
      if (transform) this.drawMoved(part, transform);
      else
        part.setAttribute(
          "d",
          d.replace(
            /(-?[\d.]+) (-?[\d.]+)/g,
            (_, x, y) => `${round(this.x.move(Number(x)))} ${round(this.y.move(Number(y)))}`,
          ),
        );
    }
    this.drawClip();
    if (this.isWhole)
      this.drawn.forEach(([part, markup]) => {
        part.innerHTML = markup;
      });
    else this.drawAxes();
  }
  /** Marks stand out of the edge, but not when there is more beyond it. */
  drawClip() {
    const [clip, whole] = this.clip ?? [];
    for (const name of ["x", "y", "width", "height"]) {
      clip?.setAttribute(name, (this.isWhole ? whole : this.cover).getAttribute(name));
    }
  }
  drawMoved(part, transform) {
    const numbers = transform.match(/-?[\d.]+/g).map(Number);
    if (transform.startsWith("matrix")) {
      const [width, , , height, x, y] = numbers;
      const [left, top] = [this.x.move(x), this.y.move(y)];
      const scale = [this.x.move(x + width) - left, this.y.move(y + height) - top];
      part.setAttribute("transform", `matrix(${scale[0]} 0 0 ${scale[1]} ${left} ${top})`);
      return;
    }
    // The name of a line stays where it is along the line.
    const along = part.parentNode.dataset.axis;
    let x = along === "y" ? numbers[0] : this.x.move(numbers[0]);
    const y = along === "x" ? numbers[1] : this.y.move(numbers[1]);
    // The name of an upright line stays inside as long as its line does.
    const most = along === "x" ? this.x.last - part.getComputedTextLength() - 4 : Infinity;
    if (x > most && this.x.isInside(x)) x = most;
    part.setAttribute("transform", `translate(${round(x)} ${round(y)})`);
  }
  drawAxes() {
    const isLog = (axis) => axis.scale === "log2" || axis.scale === "log10";
    const width = this.x.names ? 46 : isLog(this.x) ? 44 : 72;
    const height = this.y.names ? 14 : this.name === "residuals" ? 21 : isLog(this.y) ? 26 : 32;
    const [xTicks, yTicks] = [this.x.ticks(width), this.y.ticks(height)];
    const { start: left, last: right } = this.x;
    const lines = [
      ...xTicks.major.map(([x]) => `M${round(x)} ${this.top}V${this.bottom}`),
      ...yTicks.major.map(([y]) => `M${left} ${round(y)}H${right}`),
    ];
    this.grid?.replaceChildren(make("path", { d: lines.join("") }));
    const isBare = this.xAxis.classList.contains("bare");
    const short = (name) => (this.x.names ? name.split(" ")[0] : name);
    this.xAxis.replaceChildren(
      make("path", {
        class: "ticks",
        d: both(xTicks, (x, length) => `M${round(x)} ${this.bottom}v${length}`),
      }),
      ...xTicks.major.map(([x, label]) =>
        make(
          "text",
          { class: "tick middle", x: round(x), y: this.bottom + 18 },
          isBare ? "" : short(label),
        ),
      ),
    );
    this.yAxis.replaceChildren(
      make("path", {
        class: "ticks",
        d: both(yTicks, (y, length) => `M${left} ${round(y)}h-${length}`),
      }),
      ...yTicks.major.map(([y, label]) =>
        make("text", { class: "tick end", x: left - 9, y: round(y + 4.2) }, label),
      ),
    );
  }

  /** What is nearest to a place: `[distance, place, text]`. */
  nearest(at) {
    if (this.x.names) return this.cell(at);
    let best = [NEAR_PX, null, ""];
    for (const series of this.area.querySelectorAll(".series:not(.off)")) {
      for (const [x, y, text, later] of this.points(series)) {
        const distance = Math.hypot(x - at[0], y - at[1]) + later;
        if (distance < best[0] && this.has([x, y])) {
          const name = series.querySelector("title")?.textContent ?? "";
          best = [distance, [x, y], `${name}\n${text()}`];
        }
      }
    }
    return best;
  }
  *points(series) {
    const marks = series.querySelectorAll(".mark");
    for (const mark of marks) {
      const [x, y] = mark
        .getAttribute("transform")
        .match(/-?[\d.]+/g)
        .map(Number);
      yield [x, y, () => mark.querySelector("title")?.textContent ?? "", 0];
    }
    if (marks.length > 0) return;
    for (const path of series.querySelectorAll(".dots,.line,.fit")) {
      for (const [, x, y] of path.getAttribute("d").matchAll(/(-?[\d.]+) (-?[\d.]+)/g)) {
        const values = () =>
          [this.x, this.y].map((axis, i) => axis.write(axis.value(axis.share(Number([x, y][i])))));
        yield [Number(x), Number(y), () => values().join(": "), LATER_PX];
      }
    }
  }
  cell([x, y]) {
    const n = this.x.names.length;
    const [column, row] = [this.x.share(x), this.y.share(y)].map((share) =>
      Math.min(n - 1, Math.floor(share * n)),
    );
    const value = this.group.dataset.values.split(",")[row * n + column];
    const words = value ? `${value} ${this.group.dataset.unit ?? ""}` : "not measured";
    return [0, [x, y], `${this.y.names[row]} → ${this.x.names[column]}\n${words}`];
  }
}
const both = (ticks, path) =>
  ticks.major.map(([at]) => path(at, 5)).join("") + ticks.minor.map((at) => path(at, 3)).join("");
