// The comparison of a published site: runs, then series that they share, then one figure and one table.
//
// What stands behind # in the address is the state: run and series, as often as there are some, x, y, from and
// to.
// Data are scripts that call comet, because a page on a disk may read no other file.
const [MOST_RUNS, MOST_CURVES, MOST_MARKS, MOST_ROWS] = [10, 20, 64, 500];
const [WIDTH, HEIGHT, LEFT, TOP, ZERO, MARGIN] = [720, 320, 84, 16, 34, 0.03];
const [LINE, SAMPLE, N_DASHES, WAIT_MS] = [19, 24, 4, 300];
const UNITS = { s: 1e9, ms: 1e6, µs: 1e3, ns: 1 };
const RATES = { "GB/s": 1e9, "MB/s": 1e6, "kB/s": 1e3, "B/s": 1 };

const byId = (id) => document.getElementById(id);
const [form, result] = [byId("choice"), byId("result")];
const state = { run: [], series: [], x: "", y: "", from: "", to: "" };
const known = new Map();
const waiting = new Map();

globalThis.comet = (id, value) => {
  known.set(id, value);
  waiting.get(id)?.();
  if (id === "runs") addEventListener("DOMContentLoaded", begin);
};
const load = (id) =>
  new Promise((done, failed) => {
    if (known.has(id)) return done();
    waiting.set(id, done);
    const script = document.createElement("script");
    Object.assign(script, { src: `data/${id}.js`, onerror: () => failed(new Error(id)) });
    document.head.append(script);
  });

const readState = () => {
  const fields = new URLSearchParams(location.hash.slice(1));
  const ids = new Set(known.get("runs").map(({ id }) => id));
  state.run = [...new Set(fields.getAll("run"))].filter((id) => ids.has(id)).slice(0, MOST_RUNS);
  state.series = [...new Set(fields.getAll("series"))];
  for (const name of ["x", "y", "from", "to"]) state[name] = fields.get(name) ?? "";
};
const writeState = () => {
  const pairs = Object.entries(state).flatMap(([name, value]) => [value].flat().map((one) => [name, one]));
  const fields = new URLSearchParams(pairs.filter(([, value]) => value !== ""));
  history.replaceState(null, "", `#${fields}`);
};

const element = (name, text, properties = {}) =>
  Object.assign(document.createElement(name), { textContent: text }, properties);
/** Boxes to tick; those that are there keep the focus. */
const choices = (list, name, items) => {
  const ids = items.map(({ id }) => id).join();
  const boxes = list.querySelectorAll("input");
  if (list.dataset.ids === ids)
    return boxes.forEach((box) => (box.checked = state[name].includes(box.value)));
  list.dataset.ids = ids;
  list.replaceChildren(
    ...items.map(({ id, words }) => {
      const [item, label] = [element("li", ""), element("label", "")];
      const checked = state[name].includes(id);
      label.append(
        element("input", "", { type: "checkbox", name, value: id, checked }),
        element("span", words),
      );
      item.append(label);
      return item;
    }),
  );
};

/** A length or a number of ranks, with the letters of powers of two (4Ki). */
const size = (text, otherwise) => {
  const [, digits, unit] = /^(\d+)(Ki|Mi|Gi)?$/.exec(text) ?? [];
  return digits ? Number(digits) * ({ Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30 }[unit] ?? 1) : otherwise;
};
const unitOf = (value, units) =>
  Object.entries(units).find(([, size]) => value >= size) ?? Object.entries(units).at(-1);
const write = (value, units = UNITS) => {
  const [unit, size] = unitOf(value, units);
  return `${Number((value / size).toPrecision(4))} ${unit}`;
};

/** Runs that count as one: those of one file on different numbers of ranks. */
const sourcesOf = (runs) => {
  const sources = [];
  for (const run of runs) {
    const belongs = (source) =>
      source.every((other) => other.file === run.file && other.ranks !== run.ranks);
    const source = sources.find(belongs);
    if (source) source.push(run);
    else sources.push([run]);
  }
  return sources;
};
/** Names of sources: machines, with as many further traits as tell them apart. */
const namesOf = (sources) => {
  const traits = sources.map(([run]) => [...run.traits, run.id]);
  let names = traits.map(([machine]) => machine);
  for (let index = 1; index < traits[0].length; index++) {
    const longer = names.map((name, at) => `${name} ${traits[at][index]}`);
    if (new Set(longer).size > new Set(names).size) names = longer;
  }
  return names;
};

/** True if `runs` differ in their conditions from the first of them with as many ranks. */
const differ = (runs) => {
  const firsts = new Map([...runs].reverse().map(({ ranks, conditions }) => [ranks, conditions]));
  return runs.some(({ ranks, conditions }) => firsts.get(ranks) !== conditions);
};

/** The chosen points of all sources, as `{ series, source, x, other, ns, low, high }`, and their axis. */
const pointsOf = (sources) => {
  const points = sources.flatMap((runs, source) =>
    runs.flatMap(({ id }) => {
      const { series, points } = known.get(id);
      const number = series.map((of) => state.series.indexOf(of.id));
      const chosen = points.filter(([of]) => number[of] >= 0);
      const named = ([of, length, procs, ns, low, high, bytes]) =>
        ({ series: number[of], source, length, procs, ns, low, high, bytes });
      return chosen.map(named);
    }),
  );
  const n = (name) => new Set(points.map((point) => point[name]).filter((value) => value !== null)).size;
  const isOverRanks = state.x ? state.x === "ranks" : n("length") < 2 && n("procs") > n("length");
  const [from, to] = [size(state.from, 0), size(state.to, Infinity)];
  const placed = points.map((point) => {
    const [x, other] = [point.length, point.procs];
    return { ...point, ...(isOverRanks ? { x: other, other: x } : { x, other }) };
  });
  const shown = placed.filter(({ x }) => x !== null && from <= x && x <= to);
  return [shown, isOverRanks];
};

/** `point` with what the figure shows of it as `y`, between `low` and `high`; null if it has none. */
const shownOf = (point, isRate) => {
  const { ns, low, high, bytes } = point;
  if (!isRate) return { ...point, y: ns };
  const rate = (ns) => (ns > 0 ? (bytes / ns) * 1e9 : null);
  return bytes > 0 && ns > 0 ? { ...point, y: rate(ns), low: rate(high), high: rate(low) } : null;
};

const curvesOf = (points, names, series, isOverRanks) => {
  const groups = new Map();
  for (const point of points) {
    const key = [point.series, point.other ?? -1, point.source];
    const group = groups.get(key.join()) ?? { key, points: [] };
    groups.set(key.join(), group);
    group.points.push(point);
  }
  const order = (a, b) => a.key.map((value, at) => value - b.key[at]).find((by) => by !== 0) ?? 0;
  const curves = [...groups.values()].sort(order);
  const kinds = [...new Set(curves.map(({ key }) => key.slice(0, 2).join()))];
  const hasOthers = new Set(curves.map(({ key }) => key[1])).size > 1;
  return curves.map(({ key: [number, other, source], points }) => {
    const kind = kinds.indexOf([number, other].join());
    const [colour, dashes] = names.length > 1 ? [source, kind] : [kind, 0];
    const unit = series[number].unit ?? "";
    const parts = [
      (series.length > 1 || names.length < 2) && series[number].name,
      hasOthers && other >= 0 && (isOverRanks ? `${other} ${unit}`.trim() : `P = ${other}`),
      names.length > 1 && names[source],
    ];
    const name = parts.filter(Boolean).join(", ");
    points.sort((a, b) => a.x - b.x);
    return { name, points, colour: colour % MARKS.length, dashes: (dashes + Math.floor(colour / MARKS.length)) % N_DASHES };
  });
};

const attributes = (name, values) =>
  Object.fromEntries(Object.entries(values).map(([key, value]) => [`data-${name}-${key}`, value]));
/** The ends of a logarithmic axis for `values`, by the rules of the server's. */
const rangeOf = (values, factor) => {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  if (!values.length) return [1, 10];
  const by = low === high ? factor : (high / low) ** MARGIN;
  return [low / by, high * by];
};
const path = (name, d) => (d ? [make("path", { class: name, d })] : []);
const at = (x, y) => `${round(x)} ${round(y)}`;

const markOf = (colour, x, y, text) => {
  const [, name, key, value] = /^(\w+) (\w+)="(.*)"$/.exec(MARKS[colour]);
  const mark = make(name, { [key]: value, class: "mark", transform: `translate(${at(x, y)})` });
  if (text) mark.append(make("title", {}, text));
  return mark;
};

/** The curves of a legend, in lines, and the end of their room. */
const legendOf = (curves) => {
  const group = make("g", { class: "legend" });
  let [x, y] = [16, TOP + 10];
  curves.forEach(({ name, colour, dashes }, number) => {
    const short = name.length > 44 ? `${name.slice(0, 20)}…${name.slice(-22)}` : name;
    const width = SAMPLE + 6 + short.length * 6.8;
    if (x > 16 && x + width > WIDTH - 16) [x, y] = [16, y + LINE];
    const entry = make("g", { class: `entry c${colour} r${dashes}`, "data-series": number });
    entry.append(make("path", { class: "line", d: `M${x} ${y}h${SAMPLE}` }));
    entry.append(markOf(colour, x + SAMPLE / 2, y));
    entry.append(make("text", { x: x + SAMPLE + 6, y: y + 4 }, short));
    group.append(entry);
    x += width + 16;
  });
  return [group, y + LINE];
};

const seriesOf = ({ name, points, colour, dashes }, number, x, y, label, units) => {
  const group = make("g", { class: `series c${colour} r${dashes}`, "data-series": number });
  group.append(make("title", {}, name));
  // A logarithmic axis has no place for 0.
  const above = points.filter((point) => point.y > 0);
  const places = above.map((point) => ({ ...point, px: x.place(point.x), py: y.place(point.y) }));
  const ranges = places.filter(({ low, high }) => low > 0 && low < high);
  const ends = ({ px, low, high }) => [at(px, y.place(low)), at(px, y.place(high))];
  const bars = ranges.map((one) => `M${ends(one).join("L")}`).join("");
  const band = [...ranges.map((one) => ends(one)[1]), ...ranges.map((one) => ends(one)[0]).reverse()];
  const isDense = places.length > MOST_MARKS;
  group.append(...(isDense ? path("band", band.length ? `M${band.join("L")}Z` : "") : path("bars", bars)));
  group.append(...path("line", `M${places.map(({ px, py }) => at(px, py)).join("L")}`));
  if (isDense) group.append(...path("dots", places.map(({ px, py }) => `M${at(px, py)}h0`).join("")));
  else
    for (const { px, py, x: place, y: value, low, high } of places) {
      const words = (value) => write(value, units);
      const range = low > 0 && low < high ? `\n95 % ${words(low)} to ${words(high)}` : "";
      group.append(markOf(colour, px, py, `${place} ${label}: ${words(value)}${range}`));
    }
  return group;
};

const draw = (curves, isOverRanks, isInBytes, isRate) => {
  const [legend, bottom] = legendOf(curves);
  const [top, right] = [bottom + 10, WIDTH - 20];
  const all = curves.flatMap(({ points }) => points);
  const xs = all.map(({ x }) => x);
  const ys = all.flatMap(({ y, low, high }) => [y, low, high]).filter((y) => y > 0);
  const hasZero = xs.includes(0);
  const [xRange, yRange] = [rangeOf(xs.filter((x) => x > 0), 2), rangeOf(ys, Math.sqrt(10))];
  const middle = Math.sqrt(yRange[0] * yRange[1]);
  const units = isRate ? RATES : UNITS;
  const [unit, unitSize] = unitOf(middle, units);
  const box = { x: LEFT, y: top, width: right - LEFT, height: HEIGHT };
  const panel = make("g", {
    ...{ class: "panel", "data-panel": "main" },
    ...attributes("x", { scale: "log2", from: xRange[0], to: xRange[1], first: LEFT + (hasZero ? ZERO : 0), last: right }),
    ...attributes("x", { start: LEFT, ...(hasZero && { zero: LEFT + 0.4 * ZERO }), unit: isInBytes && !isOverRanks ? "B" : "" }),
    ...attributes("x", { quantity: isInBytes && !isOverRanks ? "bytes" : "number" }),
    ...attributes("y", { scale: "log10", from: yRange[0], to: yRange[1], first: top + HEIGHT, last: top, unit, size: unitSize }),
  });
  const [x, y] = [new Axis(panel.dataset, "x"), new Axis(panel.dataset, "y")];
  const area = make("g", { class: "area", "clip-path": "url(#compare-main)" });
  const label = isOverRanks ? "ranks" : isInBytes ? "B" : "";
  area.append(...curves.map((curve, number) => seriesOf(curve, number, x, y, label, units)));
  const xLabel = isOverRanks ? "number of ranks P" : isInBytes ? "message length (B)" : "length";
  const [across, down] = [(LEFT + right) / 2, top + HEIGHT / 2];
  panel.append(make("g", { class: "grid" }), make("rect", { class: "frame", ...box }));
  panel.append(make("g", { class: "axis axis-x" }), make("g", { class: "axis axis-y" }), area);
  panel.append(make("text", { class: "label middle", x: across, y: top + HEIGHT + 40 }, xLabel));
  const upright = { class: "label middle", transform: `translate(22 ${down}) rotate(-90)` };
  panel.append(make("text", upright, `${isRate ? "bandwidth" : "time of an operation"} (${unit})`));
  const clip = make("clipPath", { id: "compare-main" });
  clip.append(make("rect", { x: LEFT - 5, y: top - 5, width: right - LEFT + 10, height: HEIGHT + 10 }));
  const height = top + HEIGHT + 56;
  const svg = make("svg", { class: "comet", "data-figure": "compare", viewBox: `0 0 ${WIDTH} ${height}`, role: "img" });
  svg.append(make("title", {}, `${isRate ? "Rates" : "Times"} of ${curves.length} curves`));
  svg.append(make("rect", { class: "paper", width: WIDTH, height }), legend, clip, panel);
  const drawn = new Panel(panel);
  drawn.drawAxes();
  drawn.cover.remove();
  return svg;
};

/** A row for each number of the first source, with the ratios of the others to it; of several series with their names. */
const rowsOf = (points, names, series, isOverRanks) => {
  const rows = new Map();
  const nameOf = (name) => (series.length > 1 ? [name] : []);
  for (const point of points) {
    const key = [point.series, point.x, point.other].join();
    if (!rows.has(key)) rows.set(key, { point, of: [] });
    rows.get(key).of[point.source] = point;
  }
  const cells = ({ point, of }) => {
    const [base] = of;
    const ratio = (one) => {
      if (!base || !one) return "–";
      const ends = [one.low / base.high, one.high / base.low].filter((end) => Number.isFinite(end) && end > 0);
      const words = ends.length === 2 ? ` (${ends.map((end) => end.toPrecision(3)).join(" to ")})` : "";
      return `${(one.ns / base.ns).toPrecision(3)}${words}`;
    };
    const [length, ranks] = isOverRanks ? [point.other, point.x] : [point.x, point.other];
    const values = names.flatMap((_, source) => {
      const one = of[source];
      const time = one ? write(one.ns) : "–";
      return source === 0 ? [time] : [time, ratio(one)];
    });
    return [...nameOf(series[point.series].name), length ?? "–", ranks ?? "–", ...values];
  };
  const heads = names.flatMap((name, source) => (source === 0 ? [name] : [name, "ratio"]));
  return [[...nameOf("Series"), "Length", "Ranks", ...heads], [...rows.values()].map(cells)];
};
const rowOf = (name, cells, nWords) => {
  const row = element("tr", "");
  row.append(...cells.map((cell, at) => element(name, cell, { className: at < nWords ? "" : "n" })));
  return row;
};

/** `links` with commas between them. */
const listed = (links) => links.flatMap((link, at) => (at ? [", ", link] : [link]));

/** The commands that judge the files of `sources`, the first against each other, and links to these files. */
const showVerdicts = (sources, names) => {
  const files = new Map(sources.map(([{ file, has_file }], at) => [file, { has_file, name: names[at] }]));
  const [base, ...others] = files.keys();
  const of = (wanted) => sources.flat().filter(({ file }) => wanted.includes(file));
  const against = (file) =>
    `comet-run compare ${base}.jsonl --to ${file}.jsonl${differ(of([base, file])) ? " --allow-env-diff" : ""}`;
  const packed = [...files.keys()].map((file) => `${file}.jsonl.gz`);
  byId("verdicts").hidden = others.length === 0;
  byId("verdicts").querySelector("pre").textContent = [`gunzip ${packed.join(" ")}`, ...others.map(against)].join("\n");
  const links = [...files].map(([file, { has_file, name }]) =>
    has_file
      ? element("a", name, { href: `files/${file}.jsonl.gz` })
      : element("span", `${name} (not in this site: ask its publisher)`),
  );
  byId("files").replaceChildren(...listed(links));
};

const show = (sources, series) => {
  const [names, isRate] = [namesOf(sources), state.y === "rate"];
  const [points, isOverRanks] = pointsOf(sources);
  const drawn = points.map((point) => shownOf(point, isRate)).filter((point) => point);
  const curves = curvesOf(drawn, names, series, isOverRanks);
  const [figure, view] = [element("figure", "", { className: "plot" }), element("div", "", { className: "view" })];
  const left = Math.max(0, curves.length - MOST_CURVES);
  const words = left > 0 ? ` ${left} more curves are left out (choose fewer series).` : "";
  const caption = `${isRate ? "Rates" : "Times"} of ${names.join("; ")}. Bars and bands are 95 % intervals.${words}`;
  if (drawn.length)
    view.append(draw(curves.slice(0, MOST_CURVES), isOverRanks, series.every(({ unit }) => unit === "B"), isRate));
  else view.append(element("p", `No ${isRate ? "rate" : "point"} of these runs and series is in this part.`));
  figure.append(view, element("figcaption", caption));
  const hasFocus = document.activeElement?.matches("#result .view");
  result.querySelector("figure").replaceWith(figure);
  byId("differ").hidden = !differ(sources.flat());
  showVerdicts(sources, names);
  const links = series.map(({ name, kernel }) => (kernel ? element("a", name, { href: kernel }) : element("span", name)));
  byId("kernels").replaceChildren(...listed(links));
  const [heads, rows] = rowsOf(points, names, series, isOverRanks);
  const nWords = series.length > 1 ? 1 : 0;
  result.querySelector("thead").replaceChildren(rowOf("th", heads, nWords));
  const shown = rows.slice(0, MOST_ROWS).map((cells) => rowOf("td", cells, nWords));
  result.querySelector("tbody").replaceChildren(...shown);
  byId("words").textContent =
    rows.length > MOST_ROWS ? `The table has the first ${MOST_ROWS} of ${rows.length} values.` : "";
  start();
  if (hasFocus) view.focus();
};

let latest = 0;
const update = async () => {
  const [number, all] = [++latest, known.get("runs")];
  const say = (words) => (byId("words").textContent = words);
  writeState();
  try {
    await Promise.all(state.run.map(load));
  } catch (error) {
    return say(`The data of run ${error.message} are missing.`);
  }
  if (number !== latest) return;
  const runs = state.run.map((id) => all.find((run) => run.id === id));
  const of = runs.map(({ id }) => known.get(id).series);
  const isShared = ({ id }) => of.every((series) => series.some((other) => other.id === id));
  const shared = (of[0] ?? []).filter(isShared);
  const series = state.series.flatMap((id) => shared.filter((one) => one.id === id));
  choices(byId("series"), "series", shared.map(({ id, name }) => ({ id, words: name })));
  byId("of-series").hidden = runs.length === 0;
  byId("of-figure").hidden = result.hidden = series.length === 0;
  state.series = series.map(({ id }) => id);
  if (series.length) return show(sourcesOf(runs), series);
  say(runs.length && !shared.length ? "These runs share no series." : "");
};

/** Takes the state from the address into the form. */
const enter = () => {
  readState();
  const item = ({ id, traits }) => ({ id, words: traits.join(", ") });
  const isChosen = ({ id }) => state.run.includes(id);
  const [chosen, others] = [isChosen, (run) => !isChosen(run)].map((is) => known.get("runs").filter(is));
  choices(byId("runs"), "run", [...chosen, ...others].map(item));
  for (const name of ["x", "y", "from", "to"]) form.elements[name].value = state[name];
  return update();
};
const filter = () => {
  const parts = form.elements.filter.value.toLowerCase().split(" ");
  for (const item of byId("runs").children) {
    const text = item.textContent.toLowerCase();
    item.hidden = !item.querySelector("input").checked && !parts.every((part) => text.includes(part));
  }
};
const begin = () => {
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.elements.filter.addEventListener("input", filter);
  form.addEventListener("change", ({ target }) => {
    const { name, value, checked } = target;
    if (name === "filter") return;
    if (target.type !== "checkbox") state[name] = value;
    else state[name] = [...state[name].filter((id) => id !== value), ...(checked ? [value] : [])];
    if (state.run.length > MOST_RUNS) {
      state.run.pop();
      target.checked = false;
      byId("words").textContent = `At most ${MOST_RUNS} runs are compared.`;
    } else update();
  });
  addEventListener("hashchange", enter);
  let timer;
  addEventListener("zoomed", ({ detail }) => {
    const ends = detail ? [Math.max(0, Math.ceil(detail[0])), Math.floor(detail[1])] : ["", ""];
    if (detail && ends[0] > ends[1]) return;
    ["from", "to"].forEach((name, at) => {
      form.elements[name].value = state[name] = String(ends[at]);
    });
    clearTimeout(timer);
    timer = setTimeout(update, WAIT_MS);
  });
  enter();
};
